package dev.ringwatch.agent.beans;

import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Attributes of Cassandra's metrics whose names hang on their values, since a rule's pattern speaks
 * of the value. A pass reads the value from the metric; where it is another, the reading thread
 * matches the rules, which may take long, and the next pass shows it under its new name. A value
 * that stands still is never matched again.
 */
final class ByValue {
    /** One attribute under one profile's names. Used by the pass, but for what is said. */
    final class Cell {
        private final BeanProfile profile;
        private final Attribute attribute;
        /** A bean says 5 of what is whole, else 5.0: patterns see that. */
        private final boolean whole;
        private Output.Series series;
        /** It has been handed to the reading thread, which has not handed it back. */
        private boolean asked;
        private boolean removed;
        /** What was read last, or null. The reading thread reads it. */
        private volatile Object value;
        /** What the name is for. These two are the reading thread's while the cell is asked. */
        private Object namedFor;
        private Named named;

        private Cell(BeanProfile profile, Attribute attribute, boolean whole) {
            this.profile = profile;
            this.attribute = attribute;
            this.whole = whole;
        }

        Output output() {
            return profile.output;
        }

        void show(double now) {
            if (whole) {
                show((Object) (long) now);
            } else {
                show((Object) now);
            }
        }

        /** What is no number, text or boolean is not shown, as the exporter does. */
        void show(Object now) {
            if (!(now instanceof Number || now instanceof String || now instanceof Boolean)) {
                absent();
                return;
            }
            value = now;
            if (asked) {
                return;
            }
            if (!now.equals(namedFor)) {
                asked = true;
                asking.add(this);
            } else if (series != null) {
                series.show(now);
            }
        }

        void absent() {
            value = null;
            if (series != null) {
                series.absent();
            }
        }

        void remove() {
            removed = true;
            value = null;
            if (series != null) {
                profile.output.remove(series);
            }
        }

        /** In the reading thread. */
        private void match() {
            Object now = value;
            Named by = null;
            try {
                by = now == null ? null : profile.name(attribute, now);
            } catch (RuntimeException | StackOverflowError odd) { // it is not shown, others are
                by = null;
            }
            namedFor = now;
            // a text is no number: it is shown where a rule gives it a value
            named = by != null && by.constant == null && now instanceof String ? null : by;
        }

        /** The pass has it back. */
        private void back() {
            asked = false;
            if (removed) {
                return;
            }
            if (series == null || !same(series.named, named)) {
                if (series != null) {
                    profile.output.remove(series);
                }
                series = named == null ? null : profile.output.add(named);
            }
            Object now = value;
            if (now == null) {
                absent();
                return;
            }
            if (series != null) {
                series.show(namedFor);
            }
            show(now);
        }
    }

    private final ConcurrentLinkedQueue<Cell> asking = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<Cell> answered = new ConcurrentLinkedQueue<>();

    /** @param whole whether the bean's attribute is a whole number */
    Cell cell(BeanProfile profile, Attribute attribute, boolean whole) {
        return new Cell(profile, attribute, whole);
    }

    /** The reading thread's part, until an instant of {@link System#nanoTime}. */
    void name(long until) {
        for (Cell cell = asking.poll(); cell != null; cell = asking.poll()) {
            cell.match();
            answered.add(cell);
            if (System.nanoTime() - until > 0) {
                break;
            }
        }
    }

    /** The pass's part, likewise. */
    void take(long until) {
        for (Cell cell = answered.poll(); cell != null; cell = answered.poll()) {
            cell.back();
            if (System.nanoTime() - until > 0) {
                break;
            }
        }
    }

    /** Whether nothing waits to be named or shown. */
    boolean isEmpty() {
        return asking.isEmpty() && answered.isEmpty();
    }

    private static boolean same(Named a, Named b) {
        return a == b || a != null && b != null && a.name.equals(b.name) && a.type == b.type
                && a.labels.equals(b.labels)
                && Objects.equals(a.constant, b.constant) && a.factor == b.factor;
    }
}

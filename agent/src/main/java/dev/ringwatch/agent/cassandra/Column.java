package dev.ringwatch.agent.cassandra;

import com.codahale.metrics.Counting;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;

/**
 * One metric of a family: where each entity's value comes from, by row, and the frame's column it
 * goes to, by slot. Rows are the family's own and never move; slots move when a key frame is begun.
 */
abstract class Column {
    final dev.ringwatch.agent.frame.Metric out;
    final boolean slow;
    /** See {@link Naming.Rule#bySSTables}. */
    boolean bySSTables;
    /** What was registered; kept to tell a replacement from a repetition. */
    Metric[] registered = new Metric[0];

    Column(dev.ringwatch.agent.frame.Metric out, boolean slow) {
        this.out = out;
        this.slow = slow;
    }

    void grow(int rows) {
        registered = Arrays.copyOf(registered, rows);
    }

    /** Whether this column can hold that metric; then it is read from the next pass on. */
    abstract boolean install(int row, Metric metric);

    void uninstall(int row) {
        registered[row] = null;
    }

    /** The row's entity has a new slot, in which nothing has been written yet. */
    void forget(int row) {}

    /** False if the value could not be had, which leaves the cell without one. */
    final boolean sample(int row, int slot) {
        if (registered[row] == null) {
            return true;
        }
        try {
            read(row, slot);
            return true;
        } catch (Throwable thrown) {
            // a gauge is someone else's code: whatever it throws is its cell's problem only
            out.absent(slot);
            forget(row); // what was read of it before is not in its cell any more
            return false;
        }
    }

    abstract void read(int row, int slot);

    /** Someone else's code rather than a count: it may allocate, and take its time. */
    boolean isGauge() {
        return false;
    }

    static long count(Object source) {
        return source instanceof LongAdder ? ((LongAdder) source).sum()
                : ((Counting) source).getCount();
    }

    /** Counters and meters. */
    static final class Counts extends Column {
        private final boolean standAlone;
        Object[] source = new Object[0];

        Counts(dev.ringwatch.agent.frame.Metric out, boolean slow, boolean latenciesStandAlone) {
            super(out, slow);
            standAlone = latenciesStandAlone;
        }

        @Override
        void grow(int rows) {
            super.grow(rows);
            source = Arrays.copyOf(source, rows);
        }

        @Override
        boolean install(int row, Metric metric) {
            if (!(metric instanceof Counting)) {
                return false;
            }
            registered[row] = metric;
            source[row] = Internals.counted(metric, standAlone);
            return true;
        }

        @Override
        void uninstall(int row) {
            super.uninstall(row);
            source[row] = null;
        }

        @Override
        void read(int row, int slot) {
            out.set(slot, count(source[row]));
        }
    }

    /** Gauges of numbers. */
    static final class Numbers extends Column {
        private final boolean real;
        private final double scale;
        /**
         * Of a double that is sent as an integer with an exponent there is none: scale is for
         * doubles only.
         */
        Numbers(dev.ringwatch.agent.frame.Metric out, boolean slow, boolean real, double scale) {
            super(out, slow);
            this.real = real;
            this.scale = scale;
        }

        @Override
        boolean install(int row, Metric metric) {
            if (!(metric instanceof Gauge)) {
                return false;
            }
            registered[row] = metric;
            return true;
        }

        @Override
        boolean isGauge() {
            return true;
        }

        @Override
        void read(int row, int slot) {
            Object value = ((Gauge<?>) registered[row]).getValue();
            if (!(value instanceof Number)) {
                out.absent(slot);
            } else if (real) {
                out.setDouble(slot, ((Number) value).doubleValue() * scale);
            } else {
                out.set(slot, ((Number) value).longValue());
            }
        }
    }

    /**
     * Gauges of bucket counts, such as partition sizes: {@code EstimatedHistogram} without its
     * bounds.
     */
    static final class BucketGauges extends Column {
        BucketGauges(dev.ringwatch.agent.frame.Metric out) {
            super(out, true);
        }

        @Override
        boolean install(int row, Metric metric) {
            if (!(metric instanceof Gauge)) {
                return false;
            }
            registered[row] = metric;
            return true;
        }

        @Override
        void read(int row, int slot) {
            Object value = ((Gauge<?>) registered[row]).getValue();
            int buckets = out.bounds.buckets();
            if (!(value instanceof long[]) || ((long[]) value).length > buckets) {
                out.absent(slot);
                return;
            }
            long[] counts = (long[]) value; // empty, for want of SSTables, means no counts
            if (counts.length == 0 && out.buckets(slot) == null) {
                out.setEmpty(slot);
                return;
            }
            long[] to = out.writeBuckets(slot);
            Arrays.fill(to, 0);
            if (counts.length > 0) {
                // its last bucket has no upper bound, as ours, however many there are before it
                System.arraycopy(counts, 0, to, 0, counts.length - 1);
                to[buckets - 1] = counts[counts.length - 1];
            }
        }
    }
}

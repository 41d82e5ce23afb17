package dev.ringwatch.agent.beans;

import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The series of one profile, by name, and the cells that pages are made of. Whoever calls this
 * holds the lock of the node's model.
 *
 * <p>What the exporter does where names collide is done here: series whose labels are the same too
 * are all told apart by {@code _objectname}, and series of several types are of none.
 */
public final class Output {
    /**
     * Beyond that many a profile is cut, with a line: 350 to 800 bytes each, see METRICS.md.
     */
    static final int MAX_SERIES = 400_000;
    private static final String ORIGIN = "_objectname";

    /** All series of one name. */
    static final class Name {
        final String name;
        /** Those that have the same labels are a chain. */
        final Map<Labels, Series> series = new LinkedHashMap<>();
        /** By label names: what of which tables is theirs. */
        private final Map<List<String>, List<Grid.Column>> columns = new HashMap<>();
        /** How many labels more than one series has, where they are told apart. */
        private int twice;
        private final int[] types = new int[Named.Type.values().length];

        Name(String name) {
            this.name = name;
        }

        Named.Type type() {
            Named.Type one = null;
            for (Named.Type type : Named.Type.values()) {
                if (types[type.ordinal()] > 0) {
                    if (one != null) {
                        return Named.Type.UNTYPED;
                    }
                    one = type;
                }
            }
            return one == null ? Named.Type.UNTYPED : one;
        }
    }

    /** One series. */
    static final class Series {
        final Named named;
        private final Name of;
        /** The next one with the same name and labels, or null. */
        private Series alike;
        private Grid.Column column;
        private Grid.Row row;
        private double shown;
        private boolean present;

        Series(Named named, Name of) {
            this.named = named;
            this.of = of;
        }

        /** What the attribute is; what is no number leaves the series without a value. */
        void show(Object value) {
            if (named.constant != null && value != null) {
                show(named.constant.doubleValue());
            } else if (value instanceof Number) {
                show(((Number) value).doubleValue());
            } else if (value instanceof Boolean) {
                put((Boolean) value ? 1 : 0);
            } else {
                absent();
            }
        }

        /** NaN is a value. */
        void show(double value) {
            put((named.constant != null ? named.constant : value) * named.factor);
        }

        private void put(double value) {
            shown = value;
            present = true;
            if (column != null) {
                column.metric.set(row.slot(), Double.doubleToRawLongBits(value));
            }
        }

        void absent() {
            present = false;
            if (column != null) {
                column.metric.absent(row.slot());
            }
        }
    }

    private final boolean tellsApart;
    private final Grid grid;
    private final Map<String, Name> names = new LinkedHashMap<>();
    private int series;
    private long refused;
    private int version;

    /** @param tellsApart else of series with the same labels the one that was read last is shown */
    public Output(String profile, boolean tellsApart) {
        this.tellsApart = tellsApart;
        this.grid = new Grid(profile);
    }

    /** Changes whenever there are other families, or other sources of them. */
    public String shape() {
        StringBuilder shape = new StringBuilder().append(version);
        grid.shape(shape);
        return shape.toString();
    }

    /** What a page is told of one name: its type and help, and the columns of its series. */
    public interface Family {
        void add(String name, String type, String help, Template template, Metric metric);
    }

    public void families(Family to) {
        for (Name name : names.values()) {
            Named.Type type = name.type();
            String shown = type == Named.Type.COUNTER ? name.name + "_total" : name.name;
            String help = name.series.values().iterator().next().named.help;
            for (List<Grid.Column> alike : name.columns.values()) {
                for (Grid.Column column : alike) {
                    to.add(shown, type.name(), help, column.template(), column.metric);
                }
            }
        }
    }

    int size() {
        return series;
    }

    long refused() {
        return refused;
    }

    /** So that slots of what has gone are used again; once in a while. */
    void tidy() {
        grid.tidy();
    }

    /** Null if there are too many. */
    Series add(Named named) {
        if (series >= MAX_SERIES) {
            refused++;
            return null;
        }
        series++;
        Name name = names.computeIfAbsent(named.name, Name::new);
        Series added = new Series(named, name);
        boolean apart = name.twice > 0;
        Named.Type type = name.type();
        name.types[named.type.ordinal()]++;
        Series first = name.series.putIfAbsent(named.labels, added);
        if (first != null) {
            name.twice += first.alike == null && tellsApart ? 1 : 0;
            Series last = first;
            while (last.alike != null) {
                last = last.alike;
            }
            last.alike = added;
        }
        if (apart != name.twice > 0) {
            replace(name);
        } else {
            place(added);
        }
        version += name.type() != type ? 1 : 0;
        return added;
    }

    void remove(Series gone) {
        Name name = gone.of;
        boolean apart = name.twice > 0;
        if (!unchain(name, gone)) {
            return;
        }
        series--;
        Named.Type type = name.type();
        name.types[gone.named.type.ordinal()]--;
        displace(gone);
        if (name.series.isEmpty()) {
            names.remove(name.name);
            version++;
        } else if (apart != name.twice > 0) {
            replace(name);
        }
        version += name.type() != type ? 1 : 0;
    }

    /** False if it is not there. */
    private boolean unchain(Name name, Series gone) {
        Labels labels = gone.named.labels;
        Series first = name.series.get(labels);
        Series before = null;
        for (Series each = first; each != gone; each = each.alike) {
            if (each == null) {
                return false;
            }
            before = each;
        }
        boolean wasTwice = before != null || gone.alike != null;
        if (before != null) {
            before.alike = gone.alike;
        } else if (gone.alike != null) {
            name.series.put(labels, gone.alike);
        } else {
            name.series.remove(labels);
        }
        name.twice -= wasTwice && name.series.get(labels).alike == null && tellsApart ? 1 : 0;
        gone.alike = null;
        return true;
    }

    /** All are told apart, or no more. */
    private void replace(Name name) {
        for (Series first : name.series.values()) {
            for (Series each = first; each != null; each = each.alike) {
                displace(each);
                place(each);
            }
        }
    }

    private void place(Series added) {
        Labels labels = added.named.labels;
        if (added.of.twice > 0) {
            labels = labels.with(ORIGIN, added.named.origin());
        }
        List<Grid.Column> columns = added.of.columns.computeIfAbsent(
                Arrays.asList(labels.names), key -> new ArrayList<>());
        int before = columns.size();
        added.column = grid.column(added.of.name, columns, labels);
        version += columns.size() - before;
        added.row = grid.take(added.column, labels);
        if (added.present) {
            added.put(added.shown);
        }
    }

    private void displace(Series gone) {
        Grid.Column column = gone.column;
        if (column == null) {
            return;
        }
        if (grid.leave(column, gone.row)) {
            gone.of.columns.values().forEach(alike -> alike.remove(column));
            version++;
        }
        gone.column = null;
    }
}

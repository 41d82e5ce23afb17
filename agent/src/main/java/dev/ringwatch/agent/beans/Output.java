package dev.ringwatch.agent.beans;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The series of one profile, as templates that pages are made of: series with the same labels share
 * a row, those with the same name a column. Whoever calls this holds the lock of the node's model.
 *
 * <p>What the exporter does where names collide is done here: series whose labels are the same too
 * are all told apart by {@code _objectname}, and series of several types are of none.
 */
public final class Output {
    /** Beyond that many a profile is cut, with a line: 200 bytes each. */
    static final int MAX_SERIES = 400_000;
    private static final String ORIGIN = "_objectname";

    /** All series of one name. */
    static final class Name {
        final String name;
        final Set<Series> series = new LinkedHashSet<>();
        private final Map<String, Integer> labelled = new HashMap<>();
        /** By label names: what of which tables is theirs. */
        private final Map<String, List<Column>> columns = new HashMap<>();
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

    private static final class Column {
        final Table table;
        final Metric metric;
        int users;

        Column(Table table, Metric metric) {
            this.table = table;
            this.metric = metric;
        }
    }

    private static final class Row extends Template.Entity {
        int users;
    }

    private static final class Table {
        final Template template;
        final Map<String, Row> rows = new HashMap<>();
        int series;

        Table(Template template) {
            this.template = template;
        }

        /** A table of many names and many labels that are nowhere together would be empty cells. */
        boolean isTooEmpty() {
            return (long) template.slots() * (template.metricCount() + 1) > 8L * series + 4096;
        }
    }

    /** One series. */
    final class Series {
        final Named named;
        private final Name of;
        private Column column;
        private Row row;
        private String rowKey;
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

    private final String profile;
    private final boolean tellsApart;
    private final Model model = new Model();
    private int made;
    private final Map<String, Name> names = new LinkedHashMap<>();
    private final Map<String, List<Table>> tables = new HashMap<>();
    private int series;
    private long refused;
    private int version;

    /** @param tellsApart else of series with the same labels the one that was read last is shown */
    public Output(String profile, boolean tellsApart) {
        this.profile = profile;
        this.tellsApart = tellsApart;
    }

    /** Changes whenever there are other families, or other sources of them. */
    public String shape() {
        StringBuilder shape = new StringBuilder().append(version);
        for (int t = 0; t < model.templateCount(); t++) {
            shape.append(' ').append((model.template(t).slots() + Metric.BLOCK - 1) / Metric.BLOCK);
        }
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
            for (List<Column> alike : name.columns.values()) {
                for (Column column : alike) {
                    to.add(shown, type.name(), name.series.iterator().next().named.help,
                            column.table.template, column.metric);
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
        name.series.add(added);
        name.types[named.type.ordinal()]++;
        if (name.labelled.merge(key(named.labels, named.values), 1, Integer::sum) == 2
                && tellsApart) {
            name.twice++;
        }
        place(name, added, apart);
        version += name.type() != type ? 1 : 0;
        return added;
    }

    void remove(Series gone) {
        Name name = gone.of;
        if (!name.series.remove(gone)) {
            return;
        }
        series--;
        boolean apart = name.twice > 0;
        Named.Type type = name.type();
        name.types[gone.named.type.ordinal()]--;
        Integer left = name.labelled.compute(key(gone.named.labels, gone.named.values), (key, n) ->
                n == 1 ? null : n - 1);
        if (left != null && left == 1 && tellsApart) {
            name.twice--;
        }
        displace(gone);
        if (name.series.isEmpty()) {
            names.remove(name.name);
            version++;
        } else if (apart != name.twice > 0) {
            replace(name);
        }
        version += name.type() != type ? 1 : 0;
    }

    /** So that slots of what has gone are used again; once in a while. */
    void tidy() {
        for (List<Table> alike : tables.values()) {
            for (Table table : alike) {
                if (table.template.slots() > 2 * table.template.liveCount() + 64) {
                    table.template.closeGaps();
                }
            }
        }
    }

    private void place(Name name, Series added, boolean wasApart) {
        if (wasApart != name.twice > 0) {
            replace(name);
        } else {
            place(added);
        }
    }

    /** All are told apart, or no more. */
    private void replace(Name name) {
        for (Series each : name.series) {
            displace(each);
            place(each);
        }
    }

    private void place(Series added) {
        String[] labels = added.named.labels;
        String[] values = added.named.values;
        if (added.of.twice > 0) {
            labels = with(labels, ORIGIN);
            values = with(values, added.named.origin);
        }
        String labelNames = String.join(",", labels);
        added.rowKey = String.join("\0", values);
        Column column = column(added.of, labelNames, labels, added.rowKey);
        column.users++;
        column.table.series++;
        added.column = column;
        added.row = column.table.rows.get(added.rowKey);
        if (added.row == null) {
            added.row = new Row();
            column.table.template.addEntity(added.row, values);
            column.table.rows.put(added.rowKey, added.row);
        }
        added.row.users++;
        if (added.present) {
            added.put(added.shown);
        }
    }

    private Column column(Name name, String labelNames, String[] labels, String rowKey) {
        List<Column> alike = name.columns.computeIfAbsent(labelNames, key -> new ArrayList<>());
        for (Column column : alike) {
            if (column.table.rows.containsKey(rowKey) || !column.table.isTooEmpty()) {
                return column;
            }
        }
        Column column = new Column(table(labelNames, labels),
                Metric.scalar(name.name, Kind.GAUGE_DOUBLE, "", 0));
        column.table.template.add(column.metric);
        alike.add(column);
        version++;
        return column;
    }

    private void displace(Series gone) {
        Column column = gone.column;
        if (column == null) {
            return;
        }
        column.metric.absent(gone.row.slot());
        column.table.series--;
        if (--gone.row.users == 0) {
            column.table.rows.remove(gone.rowKey);
            column.table.template.removeEntity(gone.row.slot());
        }
        if (--column.users == 0) {
            gone.of.columns.values().forEach(alike -> alike.remove(column));
            column.table.template.drop(column.metric);
            version++;
        }
        gone.column = null;
    }

    private Table table(String key, String[] labels) {
        List<Table> alike = tables.computeIfAbsent(key, k -> new ArrayList<>());
        Table last = alike.isEmpty() ? null : alike.get(alike.size() - 1);
        if (last == null || last.isTooEmpty()) {
            last = new Table(model.add(new Template(profile + '#' + made++, labels)));
            alike.add(last);
        }
        return last;
    }

    private static String[] with(String[] all, String more) {
        String[] longer = java.util.Arrays.copyOf(all, all.length + 1);
        longer[all.length] = more;
        return longer;
    }

    private static String key(String[] labels, String[] values) {
        return String.join("\0", labels) + "\0\0" + String.join("\0", values);
    }
}

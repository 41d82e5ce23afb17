package dev.ringwatch.agent.beans;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The cells of a profile's series, in tables of a template each: series with the same labels share
 * a row, those with the same name a column.
 */
final class Grid {
    /** The cells of one name in one table. */
    static final class Column {
        final Table table;
        final Metric metric;
        private int users;

        private Column(Table table, Metric metric) {
            this.table = table;
            this.metric = metric;
        }

        Template template() {
            return table.template;
        }
    }

    /** The cells of the same labels in one table. */
    static final class Row extends Template.Entity {
        private final Labels labels;
        private int users;

        private Row(Labels labels) {
            this.labels = labels;
        }
    }

    private static final class Table {
        final Template template;
        final Map<Labels, Row> rows = new HashMap<>();
        int series;

        Table(Template template) {
            this.template = template;
        }

        /** A table of many names and many labels that are nowhere together would be empty cells. */
        boolean isTooEmpty() {
            return (long) template.slots() * (template.metricCount() + 1) > 8L * series + 4096;
        }
    }

    private final String profile;
    private final Model model = new Model();
    /** By label names. */
    private final Map<List<String>, List<Table>> tables = new HashMap<>();
    private int made;

    Grid(String profile) {
        this.profile = profile;
    }

    /**
     * The column of a name that has these labels' row, or is to have it.
     *
     * @param columns the name's, to which a new one is added
     */
    Column column(String name, List<Column> columns, Labels labels) {
        for (Column column : columns) {
            if (column.table.rows.containsKey(labels) || !column.table.isTooEmpty()) {
                return column;
            }
        }
        Column column = new Column(table(labels.names),
                Metric.scalar(name, Kind.GAUGE_DOUBLE, "", 0));
        column.table.template.add(column.metric);
        columns.add(column);
        return column;
    }

    /** One more series in that column. */
    Row take(Column column, Labels labels) {
        column.users++;
        column.table.series++;
        Row row = column.table.rows.get(labels);
        if (row == null) {
            row = new Row(labels);
            column.table.template.addEntity(row, labels.values);
            column.table.rows.put(labels, row);
        }
        row.users++;
        return row;
    }

    /** One less. Returns whether the column has gone with it. */
    boolean leave(Column column, Row row) {
        column.metric.absent(row.slot());
        column.table.series--;
        if (--row.users == 0) {
            column.table.rows.remove(row.labels);
            column.table.template.removeEntity(row.slot());
        }
        if (--column.users == 0) {
            column.table.template.drop(column.metric);
            return true;
        }
        return false;
    }

    /** Changes when there are other blocks of cells. */
    void shape(StringBuilder into) {
        for (int t = 0; t < model.templateCount(); t++) {
            into.append(' ').append((model.template(t).slots() + Metric.BLOCK - 1) / Metric.BLOCK);
        }
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

    private Table table(String[] labels) {
        List<Table> alike = tables.computeIfAbsent(Arrays.asList(labels), k -> new ArrayList<>());
        Table last = alike.isEmpty() ? null : alike.get(alike.size() - 1);
        if (last == null || last.isTooEmpty()) {
            last = new Table(model.add(new Template(profile + '#' + made++, labels)));
            alike.add(last);
        }
        return last;
    }
}

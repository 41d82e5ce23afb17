package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;

/**
 * The entities of one type, with as many of their metrics as the operator's filters let through.
 */
final class Rows {
    /** FORMAT.md allows 1,024 bytes; what a client says of itself need not fill them. */
    private static final int MAX_LABEL = 200;

    static final class Row extends Template.Entity {
        /** A bit for each metric. */
        private final long wanted;

        Row(long wanted) {
            this.wanted = wanted;
        }
    }

    private final Template template;
    private final String[] labels;
    private final Filters filters;
    private final List<Metric> metrics = new ArrayList<>();

    Rows(Model model, Filters filters, String type, String... labels) {
        this.template = model.add(new Template(type, labels));
        this.labels = labels;
        this.filters = filters;
    }

    /** Adds a metric; the number it is set by. */
    int add(String name, Kind kind, String unit, int exponent) {
        metrics.add(template.add(Metric.scalar(name, kind, unit, exponent)));
        return metrics.size() - 1;
    }

    /** Null where filters let none of its metrics through: it can be set all the same. */
    Row begin(String... values) {
        long wanted = 0;
        for (int i = 0; i < metrics.size(); i++) {
            if (filters.acceptsCell(template.type, labels, values, metrics.get(i).name)) {
                wanted |= 1L << i;
            }
        }
        if (wanted == 0) {
            return null;
        }
        Row row = new Row(wanted);
        template.addEntity(row, values);
        return row;
    }

    void end(Row row) {
        if (row != null) {
            template.removeEntity(row.slot());
        }
    }

    int live() {
        return template.liveCount();
    }

    void set(Row row, int metric, long value) {
        if (wants(row, metric)) {
            metrics.get(metric).set(row.slot(), value);
        }
    }

    /** NaN means that there is no value. */
    void setDouble(Row row, int metric, double value) {
        if (wants(row, metric)) {
            metrics.get(metric).setDouble(row.slot(), value);
        }
    }

    void setText(Row row, int metric, String value) {
        if (wants(row, metric)) {
            metrics.get(metric).setText(row.slot(), value);
        }
    }

    void absent(Row row, int metric) {
        if (wants(row, metric)) {
            metrics.get(metric).absent(row.slot());
        }
    }

    private static boolean wants(Row row, int metric) {
        return row != null && (row.wanted >> metric & 1) != 0;
    }

    /**
     * What may be a label: not empty, no control characters, no halves of characters, and not long.
     */
    static String label(String said, String ifEmpty) {
        return label(said, ifEmpty, MAX_LABEL);
    }

    static String label(String said, String ifEmpty, int most) {
        if (said == null || said.trim().isEmpty()) {
            return ifEmpty;
        }
        if (said.length() <= most && isClean(said)) {
            return said;
        }
        StringBuilder clean = new StringBuilder();
        for (int i = 0; i < said.length() && clean.length() < most; i++) {
            char c = said.charAt(i);
            if (Character.isHighSurrogate(c) && i + 1 < said.length()
                    && Character.isLowSurrogate(said.charAt(i + 1))) {
                if (clean.length() + 2 > most) {
                    break;
                }
                clean.append(c).append(said.charAt(++i));
            } else {
                clean.append(Character.isSurrogate(c) ? '?' : Character.isISOControl(c) ? ' ' : c);
            }
        }
        return clean.toString();
    }

    private static boolean isClean(String said) {
        for (int i = 0; i < said.length(); i++) {
            if (Character.isISOControl(said.charAt(i)) || Character.isSurrogate(said.charAt(i))) {
                return false;
            }
        }
        return true;
    }
}

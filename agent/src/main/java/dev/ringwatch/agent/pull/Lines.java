package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Bounds;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import java.nio.charset.StandardCharsets;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * Writes families as text 0.0.4 or OpenMetrics 1.0. A line is put together from bytes that were
 * made before (name, labels, bound) and a number.
 *
 * <p>Every eighth of Cassandra's bounds is shown, and the last one: cumulative counts are exact at
 * those, and 17 lines are enough for what is a time series each. A histogram that has counted
 * anything shows all of them: sums over {@code le} need the same bounds from everyone. One that
 * never has is not there, not even as zeros.
 */
final class Lines {
    static final int BOUND_STEP = 8;
    private static final double[] QUANTILES = {0.5, 0.75, 0.95, 0.98, 0.99, 0.999};
    private static final String[] QUANTILE_NAMES = {"0.5", "0.75", "0.95", "0.98", "0.99", "0.999"};
    private static final byte[] END = "} ".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] INFINITE = "le=\"+Inf\"} ".getBytes(StandardCharsets.US_ASCII);

    /** MCAC's bounds of latencies. */
    private static final byte[][] MCAC_BOUNDS = new byte[McacNames.BOUNDS.length][];

    static {
        for (int e = 0; e < MCAC_BOUNDS.length; e++) {
            MCAC_BOUNDS[e] = ("le=\"" + McacNames.BOUNDS[e]
                    + "\"} ").getBytes(StandardCharsets.US_ASCII);
        }
    }

    private final Text out;
    private final boolean open;
    /** {@code le="0.001"} } of the bounds that are shown, at their bucket. */
    private final Map<Bounds, byte[][]> bounds = new IdentityHashMap<>();
    private final Map<Bounds, int[]> mcacEnds = new IdentityHashMap<>();
    private byte[] name;
    private boolean headed;
    private boolean recent;

    Lines(Text out, boolean open) {
        this.out = out;
        this.open = open;
    }

    /**
     * True if what was written since the last call will be another text soon, though no value
     * moves.
     */
    boolean fades() {
        boolean was = recent;
        recent = false;
        return was;
    }

    /** A family that is written whole: its header comes before its first line, if there is one. */
    void begin(Family family) {
        headed = false;
        name = family.name.getBytes(StandardCharsets.US_ASCII);
    }

    /** A family of which a part is written: the first part begins with the header, lines or not. */
    void part(Family family, boolean first) {
        begin(family);
        if (first) {
            head(family);
        }
        headed = true;
    }

    /** The lines of the slots of one source, from one up to another. */
    void slots(Family family, Family.Source source, int from, int to, long now) {
        Metric metric = source.metric;
        for (int slot = from; slot < Math.min(to, source.template.slots()); slot++) {
            if (!source.template.isLive(slot) || !metric.isPresent(slot)) {
                continue;
            }
            if (source.leavesOut(slot)) {
                continue;
            }
            boolean hasBounds = source.part == Family.Part.BUCKETS || !family.type.isScalar()
                    && family.type != Family.Type.SUMMARY;
            if (hasBounds && !counted(metric, slot)) {
                continue;
            }
            if (!headed) {
                head(family);
            }
            byte[] labels = source.series.at(slot);
            if (source.part != null) {
                part(source, slot, labels);
            } else if (family.type.isScalar()) {
                scalar(family, source, slot, labels);
            } else if (family.type == Family.Type.SUMMARY) {
                summary(family, source, slot, labels, now);
            } else {
                histogram(family, metric, slot, labels);
            }
        }
    }

    void eof() {
        out.add("# EOF\n");
    }

    private void head(Family family) {
        headed = true;
        String named = open ? family.openName : family.name;
        out.add("# HELP ");
        out.add(named);
        out.add(' ');
        out.add(family.help);
        out.add("\n# TYPE ");
        out.add(named);
        out.add(' ');
        out.add(open ? family.openType : family.type.text);
        out.add('\n');
        if (open && !family.unit.isEmpty() && named.endsWith("_" + family.unit)) {
            out.add("# UNIT ");
            out.add(named);
            out.add(' ');
            out.add(family.unit);
            out.add('\n');
        }
    }

    private void scalar(Family family, Family.Source source, int slot, byte[] labels) {
        Metric metric = source.metric;
        out.add(name);
        if (metric.kind == Kind.STRING) {
            out.add('{');
            comma(labels);
            out.add(Text.label(textLabel(source), metric.text(slot)));
            out.add("} 1\n");
            return;
        }
        plain(labels);
        if (metric.kind == Kind.GAUGE_DOUBLE) {
            out.real(Double.longBitsToDouble(metric.value(slot)) * source.factor);
        } else {
            out.decimal(metric.value(slot), metric.exponent + source.shift,
                    metric.kind == Kind.COUNTER);
        }
        out.add('\n');
    }

    /**
     * The label of a text: {@code value}, or what is free with {@code exported_} before it, as
     * Prometheus makes room and the API does.
     */
    private static String textLabel(Family.Source source) {
        String name = "value";
        for (int l = 0; l < source.labels.size(); l++) {
            if (source.labels.get(l).name.equals(name)) {
                name = "exported_" + name;
                l = -1;
            }
        }
        return name;
    }

    /**
     * False of a histogram that has never counted: none of its lines is written, as in the API's
     * text.
     */
    private static boolean counted(Metric metric, int slot) {
        long[] counts = metric.buckets(slot);
        for (int b = 0; counts != null && b < counts.length; b++) {
            if (counts[b] != 0) {
                return true;
            }
        }
        return false;
    }

    private void histogram(Family family, Metric metric, int slot, byte[] labels) {
        long[] counts = metric.buckets(slot);
        long total = 0;
        byte[][] shown = shown(metric.bounds);
        for (int b = 0; b < shown.length; b++) {
            total += counts[b];
            if (shown[b] != null) {
                bucket(labels, shown[b], total);
            }
        }
        total += counts[shown.length];
        bucket(labels, INFINITE, total);
        if (metric.hasSum) {
            out.add(name);
            out.add("_sum");
            plain(labels);
            out.decimal(metric.value(slot), metric.exponent, false);
            out.add('\n');
        }
        out.add(name);
        out.add(open && family.type == Family.Type.GAUGE_HISTOGRAM ? "_gcount" : "_count");
        plain(labels);
        out.decimal(total, 0, false);
        out.add('\n');
    }

    private void bucket(byte[] labels, byte[] bound, long total) {
        out.add(name);
        out.add("_bucket{");
        comma(labels);
        out.add(bound);
        out.decimal(total, 0, false);
        out.add('\n');
    }

    /** Of a histogram whose parts are families. */
    private void part(Family.Source source, int slot, byte[] labels) {
        Metric metric = source.metric;
        long[] counts = metric.buckets(slot);
        long total = 0;
        if (source.part == Family.Part.SUM) {
            out.add(name);
            plain(labels);
            out.decimal(metric.value(slot), metric.exponent + source.shift, false);
            out.add('\n');
            return;
        }
        if (source.part == Family.Part.COUNT) {
            for (int b = 0; counts != null && b < counts.length; b++) {
                total += counts[b];
            }
            out.add(name);
            plain(labels);
            out.decimal(total, 0, false);
            out.add('\n');
            return;
        }
        int[] ends = mcacEnds(metric.bounds, source.shift);
        int next = 0;
        for (int e = 0; e < ends.length; e++) {
            for (; next < ends[e]; next++) {
                total += counts[next];
            }
            mcacBucket(labels, MCAC_BOUNDS[e], total);
        }
        for (; next < counts.length; next++) {
            total += counts[next];
        }
        mcacBucket(labels, INFINITE, total);
    }

    private void mcacBucket(byte[] labels, byte[] bound, long total) {
        out.add(name);
        out.add('{');
        comma(labels);
        out.add(bound);
        out.decimal(total, 0, false);
        out.add('\n');
    }

    /** How many buckets lie below each of MCAC's bounds. */
    private int[] mcacEnds(Bounds of, int shift) {
        int[] known = mcacEnds.get(of);
        if (known == null) {
            known = new int[McacNames.BOUNDS.length];
            double unit = Math.pow(10, of.exponent + shift);
            for (int e = 0; e < known.length; e++) {
                while (known[e] < of.size() && of.bound(known[e]) * unit < McacNames.BOUNDS[e]
                        + 0.5) {
                    known[e]++;
                }
            }
            mcacEnds.put(of, known);
        }
        return known;
    }

    /**
     * As the exporter has it: what has counted nothing lately has quantiles of 0, and what describes
     * the present and has nothing (partition sizes without SSTables) has none that are numbers.
     */
    private void summary(Family family, Family.Source source, int slot, byte[] labels, long now) {
        Metric metric = source.metric;
        boolean some = source.recent.look(slot, source.template.entity(slot), now);
        boolean counts = metric.kind == Kind.HISTOGRAM;
        recent |= some && counts;
        for (int q = 0; (some || counts) && q < QUANTILES.length; q++) {
            out.add(name);
            out.add('{');
            comma(labels);
            out.add("quantile=\"");
            out.add(QUANTILE_NAMES[q]);
            out.add("\"} ");
            out.decimal(some ? source.recent.bound(QUANTILES[q]) : 0, metric.bounds.exponent
                    + source.shift, false);
            out.add('\n');
        }
        if (metric.hasSum) {
            out.add(name);
            out.add("_sum");
            plain(labels);
            out.decimal(metric.value(slot), metric.exponent + source.shift, false);
            out.add('\n');
        }
        long total = 0;
        long[] buckets = metric.buckets(slot);
        for (int b = 0; buckets != null && b < buckets.length; b++) {
            total += buckets[b];
        }
        out.add(name);
        out.add("_count");
        plain(labels);
        out.decimal(total, 0, false);
        out.add('\n');
    }

    private void plain(byte[] labels) {
        if (labels.length == 0) {
            out.add(' ');
            return;
        }
        out.add('{');
        out.add(labels);
        out.add(END);
    }

    private void comma(byte[] labels) {
        if (labels.length > 0) {
            out.add(labels);
            out.add(',');
        }
    }

    private byte[][] shown(Bounds of) {
        byte[][] shown = bounds.get(of);
        if (shown == null) {
            shown = new byte[of.size()][];
            for (int b = 0; b < shown.length; b++) {
                if (b % BOUND_STEP == BOUND_STEP - 1 || b == shown.length - 1) {
                    shown[b] = ("le=\"" + Text.bound(of.bound(b), of.exponent)
                            + "\"} ").getBytes(StandardCharsets.US_ASCII);
                }
            }
            bounds.put(of, shown);
        }
        return shown;
    }
}

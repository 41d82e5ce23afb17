package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Bounds;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import java.nio.charset.StandardCharsets;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * Writes histograms as each profile shows them: whole, in MCAC's parts, or as a summary. A line is
 * put together from bytes that were made before (name, labels, bound) and a number.
 *
 * <p>Every eighth of Cassandra's bounds is shown, and the last one: cumulative counts are exact at
 * those, and 17 lines are enough for what is a time series each. A histogram that has counted
 * anything shows all of them: sums over {@code le} need the same bounds from everyone. One that
 * never has shows none, not even as zeros.
 */
final class Histograms {
    private static final int BOUND_STEP = 8;
    /** A histogram of so few bounds shows them all, here as in the API. */
    private static final int FEW_BOUNDS = 32;
    static final double[] QUANTILES = {0.5, 0.75, 0.95, 0.98, 0.99, 0.999};
    static final String[] QUANTILE_NAMES = {"0.5", "0.75", "0.95", "0.98", "0.99", "0.999"};
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
    private boolean recent;

    Histograms(Text out, boolean open) {
        this.out = out;
        this.open = open;
    }

    /** As {@link Lines#fades}: of all lines, quantiles of the last minutes alone do. */
    boolean fades() {
        boolean was = recent;
        recent = false;
        return was;
    }

    /**
     * False of a histogram that has never counted: none of its lines is written, as in the API's
     * text.
     */
    static boolean counted(Metric metric, int slot) {
        long[] counts = metric.buckets(slot);
        for (int b = 0; counts != null && b < counts.length; b++) {
            if (counts[b] != 0) {
                return true;
            }
        }
        return false;
    }

    /** All of one that has counted. */
    void whole(byte[] name, Family.Type type, Metric metric, int slot, byte[] labels) {
        long[] counts = metric.buckets(slot);
        long total = 0;
        byte[][] shown = shown(metric.bounds);
        for (int b = 0; b < shown.length; b++) {
            total += counts[b];
            if (shown[b] != null) {
                bucket(name, "_bucket", labels, shown[b], total);
            }
        }
        total += counts[shown.length];
        bucket(name, "_bucket", labels, INFINITE, total);
        if (metric.hasSum) {
            number(name, "_sum", labels, metric.value(slot), metric.exponent);
        }
        number(name, open && type == Family.Type.GAUGE_HISTOGRAM ? "_gcount" : "_count", labels,
                total, 0);
    }

    /** Of a histogram whose parts are families. */
    void part(byte[] name, Family.Source source, int slot, byte[] labels) {
        Metric metric = source.metric;
        if (source.part == Family.Part.SUM) {
            number(name, "", labels, metric.value(slot), metric.exponent + source.shift);
            return;
        }
        if (source.part == Family.Part.COUNT) {
            number(name, "", labels, total(metric, slot), 0);
            return;
        }
        long[] counts = metric.buckets(slot);
        long total = 0;
        int[] ends = mcacEnds(metric.bounds, source.shift);
        int next = 0;
        for (int e = 0; e < ends.length; e++) {
            for (; next < ends[e]; next++) {
                total += counts[next];
            }
            bucket(name, "", labels, MCAC_BOUNDS[e], total);
        }
        for (; next < counts.length; next++) {
            total += counts[next];
        }
        bucket(name, "", labels, INFINITE, total);
    }

    /**
     * As Instaclustr's exporter has it: what has counted nothing lately has quantiles of 0. What
     * describes the present and has nothing (partition sizes without SSTables) has none that are
     * numbers.
     */
    void summary(byte[] name, Family.Source source, int slot, byte[] labels, long now) {
        Metric metric = source.metric;
        boolean some = source.recent.look(slot, source.template.entity(slot), now);
        boolean counts = metric.kind == Kind.HISTOGRAM;
        recent |= some && counts;
        for (int q = 0; (some || counts) && q < QUANTILES.length; q++) {
            out.add(name);
            out.labelsAnd(labels);
            out.add("quantile=\"");
            out.add(QUANTILE_NAMES[q]);
            out.add("\"} ");
            out.decimal(some ? source.recent.bound(QUANTILES[q]) : 0, metric.bounds.exponent
                    + source.shift, false);
            out.add('\n');
        }
        if (metric.hasSum) {
            number(name, "_sum", labels, metric.value(slot), metric.exponent + source.shift);
        }
        number(name, "_count", labels, total(metric, slot), 0);
    }

    private void bucket(byte[] name, String suffix, byte[] labels, byte[] bound, long total) {
        out.add(name);
        out.add(suffix);
        out.labelsAnd(labels);
        out.add(bound);
        out.decimal(total, 0, false);
        out.add('\n');
    }

    private void number(byte[] name, String suffix, byte[] labels, long value, int exponent) {
        out.add(name);
        out.add(suffix);
        out.labels(labels);
        out.decimal(value, exponent, false);
        out.add('\n');
    }

    static long total(Metric metric, int slot) {
        long total = 0;
        long[] counts = metric.buckets(slot);
        for (int b = 0; counts != null && b < counts.length; b++) {
            total += counts[b];
        }
        return total;
    }

    private byte[][] shown(Bounds of) {
        byte[][] shown = bounds.get(of);
        if (shown == null) {
            shown = new byte[of.size()][];
            int step = shown.length > FEW_BOUNDS ? BOUND_STEP : 1;
            for (int b = 0; b < shown.length; b++) {
                if (b % step == step - 1 || b == shown.length - 1) {
                    shown[b] = ("le=\"" + Text.bound(of.bound(b), of.exponent)
                            + "\"} ").getBytes(StandardCharsets.US_ASCII);
                }
            }
            bounds.put(of, shown);
        }
        return shown;
    }

    /** How many buckets lie below each of MCAC's bounds. */
    private int[] mcacEnds(Bounds of, int shift) {
        int[] known = mcacEnds.get(of);
        if (known == null) {
            known = ends(of, shift);
            mcacEnds.put(of, known);
        }
        return known;
    }

    static int[] ends(Bounds of, int shift) {
        int[] ends = new int[McacNames.BOUNDS.length];
        double unit = Math.pow(10, of.exponent + shift);
        for (int e = 0; e < ends.length; e++) {
            while (ends[e] < of.size() && of.bound(ends[e]) * unit < McacNames.BOUNDS[e] + 0.5) {
                ends[e]++;
            }
        }
        return ends;
    }
}

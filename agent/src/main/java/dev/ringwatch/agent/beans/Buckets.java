package dev.ringwatch.agent.beans;

/**
 * Figures of a gauge that is an {@code EstimatedHistogram}'s counts, such as partition sizes, as
 * Cassandra's own tools compute them: bounds begin at 1 and grow by a fifth, the last count is of
 * what is beyond.
 */
final class Buckets {
    static final String[] FIGURES = {"50thPercentile", "75thPercentile", "95thPercentile",
            "98thPercentile", "99thPercentile", "Min", "Max"};
    private static final double[] QUANTILES = {0.5, 0.75, 0.95, 0.98, 0.99};

    private Buckets() {}

    /** NaN where the histogram has overflowed or has no buckets. */
    static double figure(long[] counts, int figure) {
        if (counts.length == 0 || counts[counts.length - 1] > 0) {
            return Double.NaN;
        }
        long total = 0;
        for (long count : counts) {
            total += count;
        }
        long wanted = figure < QUANTILES.length ? (long) Math.floor(total * QUANTILES[figure])
                : figure == QUANTILES.length ? 1 : total;
        if (wanted == 0 || total == 0) {
            return 0;
        }
        long bound = 1;
        long before = 0;
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (seen >= wanted) {
                return figure == QUANTILES.length ? i == 0 ? 0 : before + 1 : bound;
            }
            before = bound;
            bound = Math.max(bound + 1, Math.round(bound * 1.2));
        }
        return Double.NaN;
    }
}

package dev.ringwatch.agent.cassandra;

import com.codahale.metrics.Counting;
import com.codahale.metrics.Metric;
import com.codahale.metrics.Sampling;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Timers and histograms: bucket counts since the start, and the sum where Cassandra keeps one
 * (latencies do, in a counter beside the timer).
 *
 * <p>Buckets are read only when the count has moved. Dropwizard counts before it fills the bucket,
 * so a pass may see the count of a value whose bucket comes later: such a row is read again until
 * its buckets add up to its count.
 */
final class HistogramColumn extends Column {
    /**
     * After that many passes a count that never matches (a cleared histogram's) is taken as it is.
     */
    private static final int PATIENCE = 3;

    private final boolean standAlone;
    /** Null: read through snapshots. */
    private final Internals.Reservoir layout;
    private Object[] count = new Object[0];
    private AtomicLongArray[] buckets = new AtomicLongArray[0];
    private Metric[] sumMetric = new Metric[0];
    private Object[] sum = new Object[0];
    private long[] lastCount = new long[0];
    private byte[] unsettled = new byte[0];

    HistogramColumn(dev.ringwatch.agent.frame.Metric out, Internals.Reservoir layout,
            boolean latenciesStandAlone) {
        super(out, false);
        this.layout = layout;
        this.standAlone = latenciesStandAlone;
    }

    @Override
    void grow(int rows) {
        super.grow(rows);
        count = Arrays.copyOf(count, rows);
        buckets = Arrays.copyOf(buckets, rows);
        sumMetric = Arrays.copyOf(sumMetric, rows);
        sum = Arrays.copyOf(sum, rows);
        lastCount = Arrays.copyOf(lastCount, rows);
        unsettled = Arrays.copyOf(unsettled, rows);
    }

    @Override
    boolean install(int row, Metric metric) {
        if (!(metric instanceof Counting) || !(metric instanceof Sampling)) {
            return false;
        }
        Internals.Reservoir found = Internals.reservoir(metric);
        boolean direct = standAlone || !metric.getClass().getName().contains("LatencyMetrics");
        if (layout != null && found != null && !layout.sameLayout(found)) {
            return false;
        }
        buckets[row] = layout != null && found != null && direct ? found.counts : null;
        registered[row] = metric;
        count[row] = Internals.counted(metric, standAlone);
        forget(row);
        return true;
    }

    @Override
    void uninstall(int row) {
        super.uninstall(row);
        count[row] = null;
        buckets[row] = null;
        installSum(row, null);
    }

    /** The counter that holds the sum of what the timer saw; null when it is gone. */
    void installSum(int row, Metric metric) {
        sumMetric[row] = metric;
        sum[row] = metric == null ? null : Internals.counted(metric, standAlone);
    }

    Metric sumMetric(int row) {
        return sumMetric[row];
    }

    @Override
    void forget(int row) {
        lastCount[row] = -1;
        unsettled[row] = 0;
    }

    @Override
    void read(int row, int slot) {
        long now = count(count[row]);
        if (now != lastCount[row] || unsettled[row] > 0) {
            if (now == 0 && out.buckets(slot) == null) {
                out.setEmpty(slot);
            } else {
                settle(row, now, readBuckets(row, slot));
            }
            lastCount[row] = now;
        }
        if (out.hasSum && sum[row] != null) {
            long total = count(sum[row]);
            if (total != out.value(slot)) {
                out.setSum(slot, total);
            }
        }
    }

    private long readBuckets(int row, int slot) {
        long[] to = out.writeBuckets(slot);
        if (buckets[row] != null) {
            return Internals.Reservoir.read(buckets[row], layout.stripes, layout.prime, to);
        }
        long[] values = ((Sampling) registered[row]).getSnapshot().getValues();
        long total = 0;
        Arrays.fill(to, 0);
        for (int i = 0; i < Math.min(values.length, to.length); i++) {
            to[i] = values[i];
            total += values[i];
        }
        return total;
    }

    private void settle(int row, long expected, long found) {
        if (expected == found) {
            unsettled[row] = 0;
        } else if (expected != lastCount[row]) {
            unsettled[row] = PATIENCE;
        } else {
            unsettled[row]--;
        }
    }
}

package dev.ringwatch.agent.beans;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import com.codahale.metrics.Sampling;
import com.codahale.metrics.Snapshot;

/**
 * What a pass has read of the metric that it looked at last. Cassandra shows most metrics by two
 * beans, under a name of today and an old one, and they are neighbours here: a gauge of the node,
 * which walks all tables, is asked once for both.
 */
final class LastRead {
    private Metric metric;
    private Object value;
    private boolean hasValue;
    private long tookNs;
    private Snapshot snapshot;
    private int snapshots;

    /** Nothing of an earlier pass is shown again, or kept. */
    void forget() {
        at(null);
        snapshots = 0;
    }

    private void at(Metric next) {
        if (metric != next) {
            metric = next;
            value = null;
            hasValue = false;
            snapshot = null;
        }
    }

    /** Of a gauge. */
    Object value(Metric of) {
        at(of);
        if (!hasValue) {
            long began = System.nanoTime();
            value = ((Gauge<?>) of).getValue();
            tookNs = System.nanoTime() - began;
            hasValue = true;
        }
        return value;
    }

    /** What it took to read the value or the snapshot that was read last. */
    long tookNs() {
        return tookNs;
    }

    /** Whether its snapshot is there already. */
    boolean holds(Metric of) {
        return metric == of && snapshot != null;
    }

    /** Of what can be sampled. */
    Snapshot snapshot(Metric of) {
        at(of);
        if (snapshot == null) {
            long began = System.nanoTime();
            snapshot = ((Sampling) of).getSnapshot();
            tookNs = System.nanoTime() - began;
            snapshots++;
        }
        return snapshot;
    }

    /** Snapshots that were taken since {@link #forget}. */
    int snapshots() {
        return snapshots;
    }
}

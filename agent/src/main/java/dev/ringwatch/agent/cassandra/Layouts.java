package dev.ringwatch.agent.cassandra;

import com.codahale.metrics.Metric;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The upper bounds behind an array of bucket counts. Cassandra has a handful of layouts, and no two
 * of one length, so each is looked up by reflection once.
 */
public final class Layouts {
    private static final AtomicReferenceArray<long[]> BY_LENGTH = new AtomicReferenceArray<>(512);

    private Layouts() {}

    /**
     * One bound fewer than counts: the last count is of what is beyond. Null if {@code metric} is
     * of another make.
     */
    public static long[] bounds(Metric metric, int counts) {
        if (counts >= BY_LENGTH.length()) {
            return null;
        }
        long[] known = BY_LENGTH.get(counts);
        if (known == null) {
            Internals.Reservoir reservoir = Internals.reservoir(metric);
            if (reservoir == null || reservoir.bounds.length != counts - 1) {
                return null;
            }
            known = reservoir.bounds;
            BY_LENGTH.set(counts, known);
        }
        return known;
    }
}

package dev.ringwatch.agent.cassandra;

import com.codahale.metrics.Histogram;
import com.codahale.metrics.Metric;
import com.codahale.metrics.Timer;
import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * The fields behind Dropwizard's and Cassandra's metrics. Reading them costs no allocation, where the public way
 * takes two arrays of 165 numbers and as many divisions for each look at a histogram, or an iterator for each count of
 * a latency. Everything here may fail on another version: callers then go the public way.
 */
final class Internals {
    private Internals() {}

    /** The adder behind a count, or null if the class overrides how it counts or hides it. */
    static LongAdder adder(Metric metric, boolean latenciesStandAlone) {
        String type = metric.getClass().getName();
        boolean plain = type.startsWith("com.codahale.metrics.")
                || type.equals("org.apache.cassandra.metrics.SnapshottingTimer")
                || type.equals("org.apache.cassandra.metrics.ClearableHistogram")
                || latenciesStandAlone && type.startsWith("org.apache.cassandra.metrics.LatencyMetrics$LatencyMetrics");
        if (!plain) {
            return null;
        }
        try {
            Object counted = metric instanceof Timer ? field(Timer.class, "histogram", metric) : metric;
            Class<?> owner = counted instanceof Histogram ? Histogram.class : counted.getClass();
            while (owner != null && !owner.getName().startsWith("com.codahale.metrics.")) {
                owner = owner.getSuperclass();
            }
            Object count = field(owner, "count", counted);
            return count instanceof LongAdder ? (LongAdder) count : null;
        } catch (Throwable otherVersion) {
            return null;
        }
    }

    /** How a histogram keeps its counts: {@code DecayingEstimatedHistogramReservoir}'s striped array, never decaying. */
    static final class Reservoir {
        AtomicLongArray counts;
        int stripes;
        int prime;
        long[] bounds;
        /** Of what is stored, in seconds, for timers: −6 for microseconds. */
        int exponent;

        /** Whether {@code other} is laid out the same, so that one description serves a whole column. */
        boolean sameLayout(Reservoir other) {
            return stripes == other.stripes && prime == other.prime && exponent == other.exponent
                    && java.util.Arrays.equals(bounds, other.bounds);
        }

        /** Adds nothing up that is not needed: {@code into} gets the count of each bucket; returns their sum. */
        static long read(AtomicLongArray counts, int stripes, int prime, long[] into) {
            long total = 0;
            int length = counts.length();
            for (int bucket = 0; bucket < into.length; bucket++) {
                long count = 0;
                for (int stripe = 0; stripe < stripes; stripe++) {
                    // the same spreading as stripedIndex(), CASSANDRA-15213
                    count += counts.get((bucket * stripes + stripe) * prime % length);
                }
                into[bucket] = count;
                total += count;
            }
            return total;
        }
    }

    /** Null if the histogram's reservoir is of another make. */
    static Reservoir reservoir(Metric metric) {
        try {
            Object histogram = metric instanceof Timer ? field(Timer.class, "histogram", metric) : metric;
            Object reservoir = field(Histogram.class, "reservoir", histogram);
            Reservoir found = new Reservoir();
            found.exponent = -9; // timers are updated in nanoseconds
            if (reservoir.getClass().getName().equals("org.apache.cassandra.metrics.ScalingReservoir")) {
                found.exponent = scaled(reservoir);
                reservoir = field(reservoir.getClass(), "delegate", reservoir);
            }
            if (!reservoir.getClass().getName().equals("org.apache.cassandra.metrics.DecayingEstimatedHistogramReservoir")) {
                return null;
            }
            found.counts = (AtomicLongArray) field(reservoir.getClass(), "buckets", reservoir);
            found.stripes = (Integer) field(reservoir.getClass(), "nStripes", reservoir);
            found.prime = (Integer) field(reservoir.getClass(), "distributionPrime", reservoir);
            found.bounds = (long[]) field(reservoir.getClass(), "bucketOffsets", reservoir);
            return found.counts.length() == (found.bounds.length + 1) * found.stripes ? found : null;
        } catch (Throwable otherVersion) {
            return null;
        }
    }

    /** What one second becomes: 10^6 if the reservoir holds microseconds. */
    private static int scaled(Object reservoir) throws ReflectiveOperationException {
        Object function = field(reservoir.getClass(), "scaleFunc", reservoir);
        java.lang.reflect.Method apply = function.getClass().getInterfaces()[0].getMethod("apply", long.class);
        apply.setAccessible(true);
        long second = (Long) apply.invoke(function, 1_000_000_000L);
        int exponent = 0;
        for (long one = second; one > 1; one /= 10) {
            exponent--;
        }
        return exponent;
    }

    private static Object field(Class<?> owner, String name, Object of) throws ReflectiveOperationException {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }
}

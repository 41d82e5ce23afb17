package dev.ringwatch.agent.cassandra;

import com.codahale.metrics.Counting;
import com.codahale.metrics.Metric;
import com.codahale.metrics.Timer;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * The fields behind Dropwizard's and Cassandra's metrics. Reading them costs no allocation, where
 * the public way takes two arrays of 165 numbers and as many divisions for each look at a
 * histogram, or an iterator for each count of a latency. Everything here may fail on another
 * version: callers then go the public way.
 *
 * <p>What differs: 4.0 and 4.1 bring a Dropwizard whose counts are adders of its own, read by
 * {@code getCount()}; 5.0's are the JDK's. 6.0 overrides Dropwizard's classes and leaves the fields
 * of their superclasses unused, so a field is looked for from the object's own class upwards, and
 * an adder is believed only if {@code getCount()} is Dropwizard's.
 */
final class Internals {
    private static final String DROPWIZARD = "com.codahale.metrics.";
    private static final String CASSANDRA = "org.apache.cassandra.metrics.";

    private Internals() {}

    /**
     * What to ask for a metric's count: a {@code LongAdder} where there is one, else something
     * {@code Counting}, which may be the metric itself.
     *
     * @param latenciesStandAlone they are nobody's sum, so what {@code LatencyMetrics} adds to its
     *     own count is nothing
     */
    static Object counted(Metric metric, boolean latenciesStandAlone) {
        try {
            Object counted = metric;
            Class<?> counter = counter(counted);
            boolean latency = counter.getName().startsWith(CASSANDRA + "LatencyMetrics$");
            if (latency && !latenciesStandAlone) {
                return metric;
            }
            boolean known = counter.getName().startsWith(DROPWIZARD)
                    || counter.getName().startsWith(CASSANDRA);
            if (metric instanceof Timer && known) {
                counted = field("histogram", metric);
                counter = counter(counted);
            } else if (latency) {
                counter = counter.getSuperclass();
            }
            if (counter.getName().startsWith(DROPWIZARD)) {
                Object count = field(counter, "count", counted);
                return count instanceof LongAdder ? count
                        : counted instanceof Counting ? counted : metric;
            }
            return counted instanceof Counting ? counted : metric;
        } catch (Throwable otherVersion) {
            return metric;
        }
    }

    /** The class whose {@code getCount()} an object has. */
    private static Class<?> counter(Object counting) throws ReflectiveOperationException {
        return counting.getClass().getMethod("getCount").getDeclaringClass();
    }

    /**
     * How a histogram keeps its counts: {@code DecayingEstimatedHistogramReservoir}'s striped
     * array, never decaying.
     */
    static final class Reservoir {
        AtomicLongArray counts;
        int stripes;
        int prime;
        long[] bounds;
        /** Of what is stored, in seconds, for timers: −6 for microseconds. */
        int exponent;

        /**
         * Whether {@code other} is laid out the same, so that one description serves a whole
         * column.
         */
        boolean sameLayout(Reservoir other) {
            return stripes == other.stripes && prime == other.prime && exponent == other.exponent
                    && java.util.Arrays.equals(bounds, other.bounds);
        }

        /**
         * Adds nothing up that is not needed: {@code into} gets the count of each bucket; returns
         * their sum.
         */
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
            Object reservoir = field("reservoir",
                    metric instanceof Timer ? field("histogram", metric) : metric);
            Reservoir found = new Reservoir();
            found.exponent = -9; // timers are updated in nanoseconds, and 4.0 keeps them so
            if (reservoir.getClass().getName()
                    .equals("org.apache.cassandra.metrics.ScalingReservoir")) {
                found.exponent = scaled(field("scaleFunc", reservoir));
                reservoir = field("delegate", reservoir);
            }
            if (!reservoir.getClass().getName()
                    .equals("org.apache.cassandra.metrics.DecayingEstimatedHistogramReservoir")) {
                return null;
            }
            found.counts = (AtomicLongArray) field("buckets", reservoir);
            found.stripes = (Integer) field("nStripes", reservoir);
            found.prime = (Integer) field("distributionPrime", reservoir);
            found.bounds = (long[]) field("bucketOffsets", reservoir);
            return found.counts.length() == (found.bounds.length + 1) * found.stripes
                    ? found : null;
        } catch (Throwable otherVersion) {
            return null;
        }
    }

    /**
     * What one second becomes: 10^6, so −6, if the reservoir holds microseconds. 6.0 has another
     * kind of function than 4.1 and 5.0.
     */
    private static int scaled(Object function) throws ReflectiveOperationException {
        for (Class<?> type : function.getClass().getInterfaces()) {
            for (Method method : type.getMethods()) {
                if (Modifier.isAbstract(method.getModifiers()) && method.getParameterCount() == 1
                        && method.getReturnType() == long.class) {
                    method.setAccessible(true);
                    int exponent = 0;
                    for (long left = (Long) method.invoke(function, 1_000_000_000L);
                            left > 1; left /= 10) {
                        exponent--;
                    }
                    return exponent;
                }
            }
        }
        throw new NoSuchMethodException("no function of a long");
    }

    /** The value of the first field of that name, from the object's class upwards. */
    private static Object field(String name, Object of) throws ReflectiveOperationException {
        for (Class<?> owner = of.getClass(); owner != null; owner = owner.getSuperclass()) {
            try {
                return field(owner, name, of);
            } catch (NoSuchFieldException further) {
                continue;
            }
        }
        throw new NoSuchFieldException(name);
    }

    private static Object field(Class<?> owner, String name, Object of)
            throws ReflectiveOperationException {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }
}

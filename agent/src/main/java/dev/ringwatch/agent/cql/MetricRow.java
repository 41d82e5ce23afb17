package dev.ringwatch.agent.cql;

import com.codahale.metrics.Counting;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metered;
import com.codahale.metrics.Metric;
import com.codahale.metrics.Sampling;
import com.codahale.metrics.Snapshot;
import dev.ringwatch.agent.cassandra.Layouts;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * One metric while its row is made. Numbers are what JMX says of it at this moment, in JMX's units:
 * timers in microseconds, rates per second. A snapshot is taken when a column needs it, and once.
 */
final class MetricRow {
    final String name;
    private final Metric metric;
    /** From what a timer's reservoir holds to microseconds. */
    private final double timerScale;
    private Snapshot snapshot;

    MetricRow(String name, Metric metric, double timerScale) {
        this.name = name;
        this.metric = metric;
        this.timerScale = timerScale;
    }

    ByteBuffer scope() {
        return Values.text(Groups.scope(name));
    }

    ByteBuffer type() {
        return Values.text(Kind.of(metric).word);
    }

    /**
     * As Cassandra 6 puts a metric of any type into words: a count, a gauge's text, a histogram's
     * median.
     */
    ByteBuffer value() {
        switch (Kind.of(metric)) {
            case GAUGE:
                return gauge();
            case HISTOGRAM:
                return Values.text(Double.toString(isEmpty() ? 0 : snapshot().getMedian()));
            default:
                return Values.text(Long.toString(((Counting) metric).getCount()));
        }
    }

    ByteBuffer gauge() {
        return Values.text(words(((Gauge<?>) metric).getValue()));
    }

    ByteBuffer count() {
        return Values.bigint(((Counting) metric).getCount());
    }

    ByteBuffer rate(int minutes) {
        Metered metered = (Metered) metric;
        return Values.real(minutes == 1 ? metered.getOneMinuteRate()
                : minutes == 5 ? metered.getFiveMinuteRate()
                : minutes == 15 ? metered.getFifteenMinuteRate() : metered.getMeanRate());
    }

    /**
     * Of a timer or histogram; zero where nothing was counted, which saves most of an idle node's
     * snapshots.
     */
    ByteBuffer quantile(double quantile) {
        return Values.real(isEmpty() ? 0 : scaled(snapshot().getValue(quantile)));
    }

    ByteBuffer mean() {
        return Values.real(scaled(snapshot().getMean()));
    }

    /** A number of a timer is a double, of a histogram a bigint. */
    ByteBuffer min() {
        long min = isEmpty() ? 0 : snapshot().getMin();
        return isTimer() ? Values.real(scaled(min)) : Values.bigint(min);
    }

    ByteBuffer max() {
        long max = isEmpty() ? 0 : snapshot().getMax();
        return isTimer() ? Values.real(scaled(max)) : Values.bigint(max);
    }

    /**
     * Counts since the start, not decaying ones: what percentiles of any interval, and over nodes,
     * can be made of.
     */
    ByteBuffer buckets() {
        if (isEmpty()) {
            return Values.buckets(new long[0], new long[0], 1);
        }
        long[] counts = snapshot().getValues();
        long[] bounds = Layouts.bounds(metric, counts.length);
        return bounds == null ? null : Values.buckets(counts, bounds, isTimer() ? timerScale : 1);
    }

    private boolean isTimer() {
        return metric instanceof com.codahale.metrics.Timer;
    }

    private double scaled(double value) {
        return isTimer() && timerScale != 1 ? value * timerScale : value;
    }

    private boolean isEmpty() {
        return snapshot == null && ((Counting) metric).getCount() == 0;
    }

    private Snapshot snapshot() {
        if (snapshot == null) {
            snapshot = ((Sampling) metric).getSnapshot();
        }
        return snapshot;
    }

    private static String words(Object value) {
        if (value == null) {
            return "null";
        }
        if (!value.getClass().isArray()) {
            return value.toString();
        }
        return value instanceof long[] ? Arrays.toString((long[]) value)
                : value instanceof int[] ? Arrays.toString((int[]) value)
                : value instanceof double[] ? Arrays.toString((double[]) value)
                : value instanceof float[] ? Arrays.toString((float[]) value)
                : value instanceof short[] ? Arrays.toString((short[]) value)
                : value instanceof byte[] ? Arrays.toString((byte[]) value)
                : value instanceof Object[] ? Arrays.toString((Object[]) value) : value.toString();
    }
}

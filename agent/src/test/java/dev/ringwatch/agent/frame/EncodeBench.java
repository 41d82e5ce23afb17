package dev.ringwatch.agent.frame;

import java.lang.management.ManagementFactory;
import java.util.UUID;

/**
 * {@code EncodeBench [TABLES]}: what writing a frame costs for a synthetic node whose tables have
 * the columns of a Cassandra 5.0 table (79 numbers, 26 histograms of 128 buckets, of which 6 ever
 * count), idle and with every table busy. A value is a cell looked at. Prints one {@code RESULT}
 * line.
 */
public final class EncodeBench {
    private static final int NUMBERS = 79;
    private static final int HISTOGRAMS = 26;
    private static final int COUNTING = 6;

    private EncodeBench() {}

    public static void main(String[] args) {
        int tables = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        Model model = node(tables);
        FrameEncoder encoder = new FrameEncoder(new UUID(1, 2), "bench", 5000, Compressor.best());
        long values = (long) tables * (NUMBERS + HISTOGRAMS);
        StringBuilder result = new StringBuilder("RESULT tables=" + tables + " values=" + values);

        move(model, 1);
        result.append(measure("key", 30, i -> encoder.key(model, 1, 0, window(i), 0), values));
        encoder.key(model, 1, 0, window(0), 0);
        result.append(measure("idle", 2000,
                i -> encoder.delta(model, 1, i, window(0) + 1 + i, 0), values));
        encoder.key(model, 1, 0, window(0), 0);
        move(model, 2);
        result.append(
                measure("busy", 60, i -> encoder.delta(model, 1, i, window(0) + 1 + i, 0), values));
        System.out.println(result);
    }

    private interface Work {
        Bytes frame(int i);
    }

    private static long window(int i) {
        return 1_767_225_600_000L + i * FrameEncoder.WINDOW_MS;
    }

    private static String measure(String name, int rounds, Work work, long values) {
        com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        int length = 0;
        long best = Long.MAX_VALUE;
        long allocated = Long.MAX_VALUE;
        for (int i = 0; i < rounds; i++) {
            long bytes = threads.getThreadAllocatedBytes(id);
            long start = System.nanoTime();
            length = work.frame(i).length();
            best = Math.min(best, System.nanoTime() - start);
            allocated = Math.min(allocated, threads.getThreadAllocatedBytes(id) - bytes);
        }
        return String.format(" %s_ns_per_value=%.3f %s_us=%d %s_frame_bytes=%d %s_alloc_bytes=%d",
                name, (double) best / values, name, best / 1000, name, length, name, allocated);
    }

    private static Model node(int tables) {
        Model model = new Model();
        long[] uppers = new long[127];
        for (int i = 0; i < uppers.length; i++) {
            uppers[i] = i == 0 ? 1 : Math.max(uppers[i - 1] + 1, Math.round(uppers[i - 1] * 1.2));
        }
        Bounds bounds = model.bounds(-6, uppers);
        Template table = new Template("table", "keyspace", "table");
        for (int i = 0; i < NUMBERS; i++) {
            table.add(Metric.scalar("cassandra_table_number_" + i,
                    i % 3 == 0 ? Kind.GAUGE : Kind.COUNTER, "", 0));
        }
        for (int i = 0; i < HISTOGRAMS; i++) {
            table.add(Metric.histogram("cassandra_table_histogram_" + i, Kind.HISTOGRAM, "seconds",
                    -6, bounds, i % 3 == 0));
        }
        model.add(table);
        for (int t = 0; t < tables; t++) {
            int slot = table.addEntity(null, "keyspace", "table_" + t);
            for (int m = 0; m < table.metricCount(); m++) {
                table.metric(m).present[slot] = true;
            }
        }
        return model;
    }

    private static void move(Model model, int round) {
        Template table = model.template(0);
        for (int slot = 0; slot < table.slots(); slot++) {
            for (int m = 0; m < NUMBERS / 2; m++) {
                table.metric(m).set(slot, round * 1_000_003L * (slot + m));
            }
            for (int h = 0; h < COUNTING; h++) {
                Metric histogram = table.metric(NUMBERS + h);
                long[] counts = histogram.writeBuckets(slot);
                for (int b = 40; b < 52; b++) {
                    counts[b] += (slot * 31L + b * 17L) % 50 * round;
                }
                if (histogram.hasSum) {
                    histogram.setSum(slot, round * 77_777L * (slot + 1));
                }
            }
        }
    }
}

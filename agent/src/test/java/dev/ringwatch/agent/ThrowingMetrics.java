package dev.ringwatch.agent;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import com.codahale.metrics.Timer;
import java.lang.instrument.Instrumentation;
import java.util.concurrent.atomic.AtomicInteger;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;

/**
 * A second agent for a Cassandra under test: when it is up, registers a table {@code throws.t}
 * whose gauge, counter (one of the activity gate's) and timer throw each time they are read, and a
 * table {@code recovers.t} whose gauge throws the first three times only, beside others that are
 * well.
 */
public final class ThrowingMetrics {
    private static final String TABLE = "org.apache.cassandra.metrics.Table.";

    private ThrowingMetrics() {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        Thread thread = new Thread(ThrowingMetrics::register, "throwing-metrics");
        thread.setDaemon(true);
        thread.start();
    }

    private static void register() {
        try {
            while (!up()) {
                Thread.sleep(200);
            }
            MetricRegistry registry = org.apache.cassandra.metrics.CassandraMetricsRegistry.Metrics;
            put(registry, "LiveSSTableCount", "throws.t", (Gauge<Integer>) () -> {
                throw new IllegalStateException("a gauge of the test");
            });
            put(registry, "AdditionalWriteLatencyNanos", "throws.t", (Gauge<Long>) () -> {
                throw new StackOverflowError("an error of the test");
            });
            put(registry, "BytesFlushed", "throws.t", new Counter() {
                @Override
                public long getCount() {
                    throw new IllegalStateException("a counter of the test");
                }
            });
            put(registry, "ReadLatency", "throws.t", new Timer() {
                @Override
                public long getCount() {
                    throw new IllegalStateException("a timer of the test");
                }
            });
            put(registry, "PendingFlushes", "throws.t", counter(7));
            AtomicInteger reads = new AtomicInteger();
            put(registry, "LiveSSTableCount", "recovers.t", (Gauge<Integer>) () -> {
                if (reads.incrementAndGet() <= 3) {
                    throw new IllegalStateException("not yet");
                }
                return 42;
            });
            put(registry, "BytesFlushed", "recovers.t", counter(9));
        } catch (Exception e) {
            System.out.println("throwing-metrics: " + e);
        }
    }

    private static Counter counter(long value) {
        Counter counter = new Counter();
        counter.inc(value);
        return counter;
    }

    private static void put(MetricRegistry registry, String name, String table, Metric metric) {
        registry.register(TABLE + name + "." + table, metric);
    }

    private static boolean up() throws Exception {
        ObjectName storage = new ObjectName("org.apache.cassandra.db:type=StorageService");
        for (MBeanServer server : MBeanServerFactory.findMBeanServer(null)) {
            if (server.isRegistered(storage)
                    && Boolean.TRUE.equals(server.getAttribute(storage, "Initialized"))) {
                return true;
            }
        }
        return false;
    }
}

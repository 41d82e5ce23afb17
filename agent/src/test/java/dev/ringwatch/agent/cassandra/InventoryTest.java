package dev.ringwatch.agent.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.Meter;
import com.codahale.metrics.MetricRegistry;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import org.apache.cassandra.metrics.ClearableHistogram;
import org.apache.cassandra.metrics.DecayingEstimatedHistogramReservoir;
import org.junit.jupiter.api.Test;

/** The reading of a registry, on one that the test fills: real metric classes, no server. */
class InventoryTest {
    private static final String TABLE = "org.apache.cassandra.metrics.Table.";

    private final MetricRegistry registry = new MetricRegistry();
    private final Model model = new Model();
    private final Inventory inventory = new Inventory(registry, model);

    @Test
    void oneTableAmongAThousandIsSeenAndTheRestCostsNothing() {
        for (int t = 0; t < 1000; t++) {
            table("t" + t);
        }
        for (int pass = 0; pass < 200; pass++) {
            inventory.sample(12);
        }
        assertEquals(1000, template("table").liveCount());
        com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        long least = Long.MAX_VALUE;
        long fastest = Long.MAX_VALUE;
        for (int pass = 0; pass < 200; pass++) {
            long before = threads.getThreadAllocatedBytes(id);
            long start = System.nanoTime();
            inventory.sample(12);
            fastest = Math.min(fastest, System.nanoTime() - start);
            least = Math.min(least, threads.getThreadAllocatedBytes(id) - before);
        }
        System.out.println("InventoryTest: an idle pass over 1,000 tables takes " + fastest / 1000
                + " µs and allocates " + least + " bytes");
        assertEquals(0, least);

        histogram("TombstoneScannedHistogram.ks.t500").update(7);
        registry.counter(TABLE + "BytesFlushed.ks.t500").inc(42);
        inventory.sample(12);
        assertEquals(42, value("cassandra_table_flushed_bytes_total", "ks", "t500"));
        assertEquals(1, count("cassandra_table_tombstones_scanned", "ks", "t500"));
        assertEquals(0, value("cassandra_table_flushed_bytes_total", "ks", "t501"));
        assertEquals(0, count("cassandra_table_tombstones_scanned", "ks", "t501"));
    }

    @Test
    void bucketsAreWhatSnapshotsSay() {
        table("t");
        Histogram histogram = histogram("TombstoneScannedHistogram.ks.t");
        for (int i = 0; i < 10_000; i++) {
            histogram.update((long) i * i);
        }
        registry.counter(TABLE + "BytesFlushed.ks.t").inc();
        inventory.sample(12);
        Metric metric = metric("cassandra_table_tombstones_scanned");
        assertEquals(Arrays.toString(histogram.getSnapshot().getValues()),
                Arrays.toString(metric.buckets(slot("ks", "t"))));
    }

    @Test
    void aGaugeThatThrowsLosesItsCellOnly() {
        long[] what = {1};
        registry.register("org.apache.cassandra.metrics.Storage.Fickle", (Gauge<Long>) () -> {
            if (what[0] < 0) {
                throw new IllegalStateException("not now");
            }
            return what[0];
        });
        registry.counter("org.apache.cassandra.metrics.Storage.Exceptions").inc(3);
        inventory.sample(12);
        Metric fickle = metric("cassandra_storage_fickle");
        assertTrue(fickle.isPresent(0));
        what[0] = -1;
        inventory.sample(12);
        assertFalse(fickle.isPresent(0));
        assertEquals(1, inventory.gaugeErrors());
        assertEquals(3, metric("cassandra_storage_exceptions_total").value(0));
        what[0] = 5;
        inventory.sample(12);
        assertEquals(5, fickle.value(0));
    }

    @Test
    void aGaugeThatHasNothingYetComesLater() {
        Object[] value = {null};
        registry.register("org.apache.cassandra.metrics.Storage.Late",
                (Gauge<Object>) () -> value[0]);
        registry.register("org.apache.cassandra.metrics.Storage.Words",
                (Gauge<Object>) () -> "no number");
        inventory.sample(12);
        assertNull(metric("cassandra_storage_late"));
        value[0] = 0.5;
        inventory.sample(12);
        assertEquals(Double.doubleToLongBits(0.5), metric("cassandra_storage_late").value(0));
        assertNull(metric("cassandra_storage_words"));
    }

    @Test
    void entitiesComeAndGoWithTheirMetrics() {
        table("a");
        table("b");
        registry.counter(TABLE + "BytesFlushed.ks.a").inc(10);
        inventory.sample(12);
        assertEquals(2, template("table").liveCount());
        drop("a");
        inventory.sample(12);
        assertEquals(1, template("table").liveCount());
        table("a");
        drop("b");
        table("b"); // between two passes: another entity under the same name
        int before = slot("ks", "b");
        inventory.sample(12);
        assertEquals(0, value("cassandra_table_flushed_bytes_total", "ks", "a"));
        assertFalse(before == slot("ks", "b"), "a removal and an addition");
        assertEquals(2, template("table").liveCount());
        for (Template template = template("table"); template.liveCount() > 0;) {
            drop("a");
            drop("b");
            inventory.sample(12);
        }
        assertEquals(0, inventory.refused());
    }

    @Test
    void namesFollowTheRules() {
        String[][] cases = {
            {"ThreadPools.PendingTasks.request.MutationStage", "thread_pool",
                "request,MutationStage"},
            {"Table.ReadLatency.ks.t", "table", "ks,t"},
            {"IndexTable.ReadLatency.ks.t.t_idx", "index_table", "ks,t,t_idx"},
            {"ClientRequest.Latency.Read-LOCAL_QUORUM", "client_request_by_consistency",
                "Read,LOCAL_QUORUM"},
            {"ClientRequest.Latency.Read", "client_request", "Read"},
            {"Connection.LargeMessagePendingTasks.10.0.5.6.7000", "connection", "10.0.5.6:7000"},
            {"Connection.LargeMessagePendingTasks.10.0.5.6_7000", "connection", "10.0.5.6:7000"},
            {"Messaging.READ_REQ-WaitLatency", "messaging_verb", "READ_REQ"},
            {"Messaging.dc1-Latency", "messaging_datacenter", "dc1"},
            {"HintsService.Hints_created-/10.0.5.6.7000", "hints_peer", "10.0.5.6:7000"},
            {"StorageAttachedIndex.DiskUsedBytes.ks.t.IndexGroupMetrics", "sai_index",
                "ks,t,,IndexGroupMetrics"},
            {"Streaming.IncomingBytes.10.0.0.1.7000", "streaming_peer", "10.0.0.1:7000"},
            {"Novelty.Things.some.scope", "other_novelty", "some.scope"},
            {"Storage.Load", "storage", ""},
        };
        for (String[] one : cases) {
            Family family = Family.of(Family.PREFIX + one[0]);
            assertEquals(one[1], family.entity, one[0]);
            assertEquals(one[2], String.join(",", family.values), one[0]);
        }
        for (String none : new String[] {"Table.ReadLatency.all", "keyspace.ReadLatency.ks",
                "ColumnFamily.ReadLatency.ks.t"}) {
            assertNull(Family.of(Family.PREFIX + none), none);
        }
        assertNull(Family.of("jvm.gc.count"));
        assertEquals("sstables_per_read_histogram", Naming.snake("SSTablesPerReadHistogram"));
        assertEquals("ideal_cl_write_latency", Naming.snake("IdealCLWriteLatency"));
        assertEquals("hints_for_unowned_ranges", Naming.snake("Hints_for_unowned_ranges"));
        assertEquals("cql", Naming.snake("CQL"));
    }

    @Test
    void gaugesOfIdleTablesAreRecheckedAFewAPass() {
        long[] snapshots = {2};
        long[] partitions = {10};
        for (int t = 0; t < 90; t++) {
            registry.register(TABLE + "SnapshotsSize.ks.t" + t, (Gauge<Long>) () -> snapshots[0]);
            registry.register(TABLE + "EstimatedPartitionCount.ks.t" + t,
                    (Gauge<Long>) () -> partitions[0]);
            registry.register(TABLE + "LiveDiskSpaceUsed.ks.t" + t, new Counter());
        }
        passes(36); // all that is new has been read, and twice more since
        snapshots[0] = 3;
        partitions[0] = 11;
        passes(1);
        long seen = seen("cassandra_table_snapshots_size_bytes", 3);
        assertTrue(seen > 0 && seen < 10, seen + " of 90 in one pass");
        passes(30);
        assertEquals(90, seen("cassandra_table_snapshots_size_bytes", 3));
        assertEquals(0, seen("cassandra_table_estimated_partitions", 11),
                "follows from SSTables, and none came");

        registry.counter(TABLE + "LiveDiskSpaceUsed.ks.t7").inc(4096); // streamed in, say
        passes(13);
        assertEquals(1, seen("cassandra_table_estimated_partitions", 11));
        assertEquals(11, value("cassandra_table_estimated_partitions", "ks", "t7"));
    }

    @Test
    void whatAsksEveryTableIsAskedWhenSSTablesCameOrWent() {
        int[] asked = {0};
        Counter load = registry.counter("org.apache.cassandra.metrics.Storage.Load");
        registry.register("org.apache.cassandra.metrics.Compaction.PendingTasks",
                (Gauge<Integer>) () -> ++asked[0]);
        passes(24);
        int before = asked[0];
        passes(24);
        assertEquals(before, asked[0]);
        load.inc(1);
        passes(12);
        assertEquals(before + 1, asked[0]);
        passes(60);
        assertEquals(before + 2, asked[0], "and once in five minutes all the same");
    }

    private void passes(int count) {
        for (int pass = 0; pass < count; pass++) {
            inventory.sample(12);
        }
    }

    private long seen(String name, long value) {
        long seen = 0;
        for (int t = 0; t < 90; t++) {
            seen += value(name, "ks", "t" + t) == value ? 1 : 0;
        }
        return seen;
    }

    private void table(String name) {
        registry.register(TABLE + "BytesFlushed.ks." + name, new Counter());
        registry.register(TABLE + "ReadRepairRequests.ks." + name, new Meter());
        registry.register(TABLE + "LiveSSTableCount.ks." + name, (Gauge<Integer>) () -> 1);
        registry.register(TABLE + "SnapshotsSize.ks." + name, (Gauge<Long>) () -> 2L);
        registry.register(TABLE + "TombstoneScannedHistogram.ks." + name,
                new ClearableHistogram(new DecayingEstimatedHistogramReservoir(false)));
    }

    private void drop(String name) {
        for (String metric : new String[] {"BytesFlushed", "ReadRepairRequests", "LiveSSTableCount",
                "SnapshotsSize", "TombstoneScannedHistogram"}) {
            registry.remove(TABLE + metric + ".ks." + name);
        }
    }

    private Histogram histogram(String name) {
        return registry.getHistograms().get(TABLE + name);
    }

    private Template template(String type) {
        for (int t = 0; t < model.templateCount(); t++) {
            if (model.template(t).type.equals(type)) {
                return model.template(t);
            }
        }
        throw new AssertionError("no " + type);
    }

    private Metric metric(String name) {
        for (int t = 0; t < model.templateCount(); t++) {
            for (int m = 0; m < model.template(t).metricCount(); m++) {
                if (model.template(t).metric(m).name.equals(name)) {
                    return model.template(t).metric(m);
                }
            }
        }
        return null;
    }

    private int slot(String... labels) {
        Template table = template("table");
        for (int slot = 0; slot < table.slots(); slot++) {
            if (table.isLive(slot) && table.labelValue(slot, 0).equals(labels[0])
                    && table.labelValue(slot, 1).equals(labels[1])) {
                return slot;
            }
        }
        throw new AssertionError("no " + Arrays.toString(labels));
    }

    private long value(String name, String... labels) {
        return metric(name).value(slot(labels));
    }

    private long count(String name, String... labels) {
        long[] buckets = metric(name).buckets(slot(labels));
        return buckets == null ? 0 : Arrays.stream(buckets).sum();
    }
}

package dev.ringwatch.agent.pull;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.frame.FrameEncoder;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.ReferenceDecoder;
import dev.ringwatch.agent.frame.Template;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ProfilesTest {
    private static final String NODE = "cassandra_cluster=prod, cassandra_datacenter=dc1, "
            + "cassandra_node=10.0.0.7, cassandra_rack=r1";

    private static final Profile INSTACLUSTR = Profile.named("instaclustr_exporter");
    private static final long QUEUE = 16 << 20;

    private final Model model = new Model();
    private final long[] bounds = new long[20];

    private ProfilesTest() {
        model.place("dc1", "r1");
        model.describe("endpoint_datacenter",
                entity -> entity[0].contains("2001:db8::5") ? "dc2" : "");
        model.describe("table_type", entity -> "table");
        model.fact("address", "10.0.0.7:7000");
        for (int i = 0; i < bounds.length; i++) {
            bounds[i] = 1L << i;
        }
        Template table = model.add(new Template("table", "keyspace", "table"));
        Metric read = table.add(
                histogram("cassandra_table_read_latency_seconds", "ReadLatency", "seconds", true));
        Metric sstables = table.add(histogram("cassandra_table_sstables_per_read",
                "SSTablesPerReadHistogram", "", false));
        Metric sizes = table.add(Metric.histogram("cassandra_table_estimated_partition_size_bytes",
                Kind.GAUGE_HISTOGRAM, "bytes", 0, model.bounds(0, bounds), false));
        sizes.origin = "EstimatedPartitionSizeHistogram";
        Metric live = table.add(
                scalar("cassandra_table_live_sstables", Kind.GAUGE, 0, "LiveSSTableCount", false));
        Metric disk = table.add(scalar("cassandra_table_live_disk_space_used_bytes", Kind.GAUGE, 0,
                "LiveDiskSpaceUsed", true));
        Metric repaired = table.add(scalar("cassandra_table_repaired_ratio", Kind.GAUGE_DOUBLE, 0,
                "PercentRepaired", false));
        table.addEntity(null, "ks", "t");
        table.addEntity(null, "ks", "quiet");
        read.writeBuckets(0)[10] = 99; // up to 1,024 µs
        read.writeBuckets(0)[15] = 1;
        read.setSum(0, 123_456);
        read.setEmpty(1);
        sizes.writeBuckets(0)[3] = 2;
        sizes.setEmpty(1);
        sstables.writeBuckets(0)[1] = 5;
        live.set(0, 3);
        disk.set(0, 4096);
        repaired.setDouble(0, 0.5);
        Template pool = model.add(new Template("thread_pool", "path", "pool"));
        pool.add(scalar("cassandra_thread_pool_completed_tasks_total", Kind.COUNTER, 0,
                "CompletedTasks", false));
        pool.addEntity(null, "request", "ReadStage");
        pool.metric(0).set(0, 7);
        Template cache = model.add(new Template("cache", "cache"));
        cache.add(scalar("cassandra_cache_entries", Kind.GAUGE, 0, "Entries", false));
        cache.addEntity(null, "KeyCache");
        cache.metric(0).set(0, 8);
        Template requests = model.add(new Template("client_request", "request"));
        requests.add(scalar("cassandra_client_request_timeouts_total", Kind.COUNTER, 0,
                "Timeouts", true));
        requests.addEntity(null, "Read");
        requests.addEntity(null, "CASRead");
        requests.metric(0).set(0, 9);
        requests.metric(0).set(1, 2);
        Template consistency = model.add(
                new Template("client_request_by_consistency", "request", "consistency"));
        consistency.add(scalar("cassandra_client_request_by_consistency_timeouts_total",
                Kind.COUNTER, 0, "Timeouts", true));
        consistency.addEntity(null, "Read", "ONE");
        consistency.metric(0).set(0, 9);
        Template gc = model.add(new Template("gc", "gc"));
        gc.add(Metric.scalar("jvm_gc_collection_seconds_total", Kind.COUNTER, "seconds", -3));
        gc.addEntity(null, "G1");
        gc.metric(0).set(0, 1500);
        Template node = model.add(new Template("node"));
        node.add(Metric.scalar("cassandra_node_gossip_running", Kind.GAUGE, "", 0));
        node.addEntity(null);
        node.metric(0).set(0, 1);
        Template peer = model.add(new Template("peer", "peer"));
        peer.add(Metric.scalar("cassandra_peer_up", Kind.GAUGE, "", 0));
        peer.addEntity(null, "[2001:db8::5]:7000");
        peer.metric(0).set(0, 1);
        Template messaging = model.add(new Template("messaging"));
        messaging.add(scalar("cassandra_messaging_timeouts_total", Kind.COUNTER, 0,
                "TotalTimeouts", true)).originMeters = true;
        messaging.addEntity(null);
        messaging.metric(0).set(0, 12);
        Template odd = model.add(new Template("other_odd", "scope"));
        odd.add(scalar("cassandra_other_odd_depth", Kind.GAUGE, 0, "Depth", false));
        odd.addEntity(null, "A.bC");
        odd.metric(0).set(0, 6);
        read.originTimes = true;
        model.passed();
    }

    private Metric histogram(String name, String origin, String unit, boolean sum) {
        Metric metric = Metric.histogram(name, Kind.HISTOGRAM, unit, sum ? -6 : 0,
                model.bounds(sum ? -6 : 0, bounds), sum);
        metric.origin = origin;
        return metric;
    }

    private static Metric scalar(String name, Kind kind, int exponent, String origin,
            boolean counts) {
        Metric metric = Metric.scalar(name, kind, "", exponent);
        metric.origin = origin;
        metric.originCounts = counts;
        return metric;
    }

    private StrictText page(boolean open, Profile... profiles) throws Exception {
        return StrictText.parse(
                PagesTest.text(PagesTest.pages(model, List.of(profiles), "prod"), open), open);
    }

    private static void has(Map<String, Object> samples, String key, String value) {
        assertEquals(value, String.valueOf(samples.get(key) instanceof java.math.BigDecimal
                ? ((java.math.BigDecimal) samples.get(key))
                .toPlainString() : samples.get(key)), key);
    }

    @Test
    void cassandraExporter() throws Exception {
        for (boolean open : new boolean[] {false, true}) {
            Map<String, Object> s = page(open, INSTACLUSTR).samples;
            has(s, "cassandra_table_operation_latency_seconds{" + NODE
                    + ", keyspace=ks, operation=read, quantile=0.5, table=t, table_type=table}",
                    "0.001024");
            has(s, "cassandra_table_operation_latency_seconds_count{" + NODE
                    + ", keyspace=ks, operation=read, table=t, table_type=table}", "100");
            has(s, "cassandra_table_sstables_per_read{" + NODE
                    + ", keyspace=ks, quantile=0.99, table=t, table_type=table}", "2");
            has(s, "cassandra_table_live_disk_space_bytes{" + NODE
                    + ", keyspace=ks, table=t, table_type=table}", "4096");
            has(s, "cassandra_table_repaired_ratio{" + NODE
                    + ", keyspace=ks, table=t, table_type=table}", "0.5");
            has(s, "cassandra_thread_pool_completed_tasks_total{" + NODE
                    + ", group=request, pool=ReadStage}", "7");
            has(s, "cassandra_cache_entries{cache=key, " + NODE + "}", "8");
            has(s, "cassandra_client_request_timeouts_total{" + NODE
                    + ", consistency=ONE, operation=read}", "9");
            has(s, "cassandra_client_request_timeouts_total{" + NODE + ", operation=casread}", "2");
            assertFalse(s.containsKey("cassandra_client_request_timeouts_total{" + NODE
                    + ", operation=read}"), "twice the same requests");
            has(s, "cassandra_jvm_gc_estimated_collection_duration_seconds_total{" + NODE
                    + ", collector=G1}", "1.5");
            has(s, "cassandra_endpoint_active{" + NODE
                    + ", endpoint=10.0.0.7, endpoint_datacenter=dc1, endpoint_rack=r1}", "1");
            has(s, "cassandra_endpoint_active{" + NODE
                    + ", endpoint=2001:db8::5, endpoint_datacenter=dc2, endpoint_rack=}", "1");
        }
    }

    /**
     * As with the exporter, what has counted nothing has quantiles of 0; what is not there has
     * none.
     */
    @Test
    void quantilesOfNothing() throws Exception {
        for (boolean open : new boolean[] {false, true}) {
            Map<String, Object> s = page(open, INSTACLUSTR).samples;
            String of = "{" + NODE + ", keyspace=ks, ";
            for (String quantile : new String[] {"0.5", "0.75", "0.95", "0.98", "0.99", "0.999"}) {
                String quiet = "quantile=" + quantile + ", table=quiet, table_type=table}";
                has(s, "cassandra_table_operation_latency_seconds" + of + "operation=read, "
                        + quiet, "0");
                assertFalse(s.containsKey("cassandra_table_sstables_per_read" + of + quiet),
                        "not there for this table");
                assertFalse(s.containsKey("cassandra_table_estimated_partition_size_bytes" + of
                        + quiet), "NaN with the exporter");
                has(s, "cassandra_table_estimated_partition_size_bytes" + of + "quantile="
                        + quantile + ", table=t, table_type=table}", "8");
            }
            has(s, "cassandra_table_operation_latency_seconds_count" + of
                    + "operation=read, table=quiet, table_type=table}", "0");
            has(s, "cassandra_table_estimated_partition_size_bytes_count" + of
                    + "table=quiet, table_type=table}", "0");
            assertFalse(s.containsKey("cassandra_table_sstables_per_read_count" + of
                    + "table=quiet, table_type=table}"));
            assertTrue(page(open, Profile.RINGWATCH).samples.keySet().stream()
                    .noneMatch(key -> key.contains("table=quiet")), "our own names leave it out");
        }
    }

    /** What is forgotten ends at 0, and its lines stand still from then on. */
    @Test
    void fadedQuantilesAreZero() {
        Layout layout = new Layout(model, List.of(INSTACLUSTR), new java.util.IdentityHashMap<>());
        Family reads = layout.families.stream().filter(family ->
                family.name.equals("cassandra_table_operation_latency_seconds")).findFirst().get();
        Text text = new Text(64);
        Lines lines = new Lines(text, false);
        int minutes = 0;
        for (String median : new String[] {"0.001024", "0.001024", "0", "0"}) {
            text.clear();
            lines.begin(reads);
            lines.slots(reads, reads.sources.get(0), 0, 1, minutes * 60_000L);
            String page = new String(text.array(), 0, text.length(),
                    java.nio.charset.StandardCharsets.US_ASCII);
            assertTrue(page.contains("quantile=\"0.5\"} " + median + "\n"), page);
            assertTrue(page.contains("table_type=\"table\"") && page.contains("} 100\n"), page);
            assertEquals(!median.equals("0"), lines.fades(), minutes + " minutes");
            minutes += 4;
        }
    }

    @Test
    void mcac() throws Exception {
        String of = ", dc=dc1, instance=10.0.0.7, ";
        for (int exponent : new int[] {-6, -9}) { // microseconds, and nanoseconds as in 4.0
            long unit = exponent == -6 ? 1 : 1000;
            Metric timer = Metric.histogram("cassandra_table_timer" + unit + "_seconds",
                    Kind.HISTOGRAM, "seconds", exponent, model.bounds(exponent,
                    new long[] {29 * unit, 35 * unit, 42 * unit, 60 * unit}), false);
            timer.origin = "Timer" + unit;
            timer.originTimes = true;
            model.template(0).add(timer);
            timer.writeBuckets(0)[1] = 1;
            timer.writeBuckets(0)[3] = 2;
        }
        for (boolean open : new boolean[] {false, true}) {
            Map<String, Object> s = page(open, Profile.named("mcac")).samples;
            has(s, "mcac_table_read_latency_bucket{cluster=prod" + of
                    + "keyspace=ks, le=924, rack=r1, table=t}", "0");
            has(s, "mcac_table_read_latency_bucket{cluster=prod" + of
                    + "keyspace=ks, le=1597, rack=r1, table=t}", "99");
            has(s, "mcac_table_read_latency_bucket{cluster=prod" + of
                    + "keyspace=ks, le=17436917, rack=r1, table=t}", "100");
            has(s, "mcac_table_read_latency_bucket{cluster=prod" + of
                    + "keyspace=ks, le=+Inf, rack=r1, table=t}", "100");
            for (int unit : new int[] {1, 1000}) {
                has(s, "mcac_table_timer" + unit + "_bucket{cluster=prod" + of
                        + "keyspace=ks, le=35, rack=r1, table=t}", "1");
                has(s, "mcac_table_timer" + unit + "_bucket{cluster=prod" + of
                        + "keyspace=ks, le=60, rack=r1, table=t}", "3");
            }
            assertFalse(s.containsKey("mcac_table_read_latency_bucket{cluster=prod" + of
                    + "keyspace=ks, le=+Inf, rack=r1, table=quiet}"), "never counted");
            has(s, "mcac_table_read_latency_total{cluster=prod" + of
                    + "keyspace=ks, rack=r1, table=quiet}", "0");
            has(s, "mcac_table_read_latency_total{cluster=prod" + of
                    + "keyspace=ks, rack=r1, table=t}", "100");
            has(s, "mcac_table_read_latency_sum{cluster=prod" + of
                    + "keyspace=ks, rack=r1, table=t}", "123456");
            has(s, "mcac_table_read_total_latency_total{cluster=prod" + of
                    + "keyspace=ks, rack=r1, table=t}", "123456");
            has(s, "mcac_table_ss_tables_per_read_histogram_total{cluster=prod" + of
                    + "keyspace=ks, rack=r1, table=t}", "5");
            has(s, "mcac_table_live_ss_table_count{cluster=prod" + of
                    + "keyspace=ks, rack=r1, table=t}", "3");
            has(s, "mcac_table_live_disk_space_used_total{cluster=prod" + of
                    + "keyspace=ks, rack=r1, table=t}", "4096");
            has(s, "mcac_table_percent_repaired{cluster=prod" + of
                    + "keyspace=ks, rack=r1, table=t}", "50");
            has(s, "mcac_thread_pools_completed_tasks{cluster=prod" + of
                    + "mcac=org.apache.cassandra.metrics.thread_pools.completed_tasks.request."
                    + "read_stage, pool_name=read_stage, pool_type=request, rack=r1}", "7");
            has(s, "mcac_client_request_timeouts_total{cluster=prod" + of
                    + "rack=r1, request_type=cas_read}", "2");
            has(s, "mcac_client_request_timeouts_cl_total{cl=one, cluster=prod" + of
                    + "rack=r1, request_type=read}", "9");
            has(s, "mcac_cache_entries{cache_name=key_cache, cluster=prod" + of + "rack=r1}", "8");
            has(s, "mcac_jvm_gc_time{cluster=prod, collector_type=g1" + of + "rack=r1}", "1500");
            has(s, "collectd_mcac_counter_total{cluster=prod" + of
                    + "mcac=org.apache.cassandra.metrics.connection.total_timeouts, rack=r1}",
                    "12");
            has(s, "collectd_mcac_gauge{cluster=prod" + of
                    + "mcac=org.apache.cassandra.metrics.odd.depth.a.b_c, rack=r1}", "6");
        }
    }

    @Test
    void managementApi() throws Exception {
        model.node("6f1c2f2c-0000-4000-8000-000000000001");
        model.template(0).metric(0).originTimes = true;
        requests().originMeters = true;
        String of = "cluster=prod, datacenter=dc1, host=6f1c2f2c-0000-4000-8000-000000000001, "
                + "instance=10.0.0.7, ";
        for (boolean open : new boolean[] {false, true}) {
            Map<String, Object> s = page(open, Profile.named("management_api")).samples;
            String table = "{" + of + "keyspace=ks, ";
            String all = "org_apache_cassandra_metrics_";
            has(s, all + "table_read_latency_bucket" + table + "le=1597, rack=r1, table=t}", "99");
            has(s, all + "table_read_latency_bucket" + table + "le=+Inf, rack=r1, table=t}", "100");
            has(s, all + "table_read_latency_count" + table + "rack=r1, table=quiet}", "0");
            has(s, all + "table_read_latency_sum" + table + "rack=r1, table=t}", "123456");
            has(s, all + "table_read_total_latency" + table + "rack=r1, table=t}", "123456");
            has(s, all + "table_ss_tables_per_read_histogram" + table
                    + "quantile=0.5, rack=r1, table=t}", "2");
            has(s, all + "table_ss_tables_per_read_histogram_count" + table
                    + "rack=r1, table=t}", "5");
            has(s, all + "table_live_disk_space_used" + table + "rack=r1, table=t}", "4096");
            has(s, all + "table_percent_repaired" + table + "rack=r1, table=t}", "50");
            has(s, all + "thread_pools_completed_tasks{" + of
                    + "pool_name=ReadStage, pool_type=request, rack=r1}", "7");
            has(s, all + "client_request_timeouts_total{" + of
                    + "rack=r1, request_type=CASRead}", "2");
            has(s, all + "client_request_timeouts_read_one{" + of + "rack=r1}", "9");
            has(s, all + "connection_total_timeouts_total{" + of + "rack=r1}", "12");
            has(s, all + "odd_depth_a_b_c{" + of + "rack=r1}", "6");
        }
    }

    private Metric requests() {
        for (int t = 0; t < model.templateCount(); t++) {
            if (model.template(t).type.equals("client_request")) {
                return model.template(t).metric(0);
            }
        }
        throw new AssertionError();
    }

    /** What a scrape job would find is in the frames, with its labels, and follows the node. */
    @Test
    void sent() throws Exception {
        List<String> said = new java.util.ArrayList<>();
        FrameRoom room = new FrameRoom(model, 100, QUEUE, said::add);
        SentNames mcac = new SentNames(room, Profile.named("mcac"), Map.of("job", "j"), 0);
        SentNames exporter = new SentNames(room, INSTACLUSTR, Map.of("job", "k"), 9000);
        FrameEncoder encoder = new FrameEncoder(java.util.UUID.randomUUID(), "prod", 1000, null);
        model.cluster("prod");
        mcac.pass(true);
        exporter.pass(true);
        ReferenceDecoder.State key = decoded(encoder, true, 1000, null);
        // sorted names of the constants, then the profile's; cluster and rack are the frame's
        String[] of = {"10.0.0.7", "j", "ks", "t", "dc1"};
        assertEquals(3L, key.value("mcac_table_live_ss_table_count", of));
        assertEquals(50.0, key.value("mcac_table_percent_repaired", of));
        assertEquals(100L, key.value("mcac_table_read_latency_total", of));
        ReferenceDecoder.Histogram reads =
                (ReferenceDecoder.Histogram) key.value("mcac_table_read_latency", of);
        assertEquals(123456L, reads.sum);
        assertEquals(99, reads.buckets[7]); // up to 1,597
        assertEquals(1, java.util.Arrays.stream(reads.buckets).skip(8).sum());
        String[] instaclustr = {"10.0.0.7:9000", "k", "ks", "t", "table", "prod", "dc1",
            "10.0.0.7", "r1"};
        assertEquals(4096L, key.value("cassandra_table_live_disk_space_bytes", instaclustr));
        assertTrue(key.types.stream().anyMatch(type -> type.metrics.stream().anyMatch(metric ->
                metric.name.equals("cassandra_table_operation_latency_seconds"))
                && List.of(type.labels).contains("recorded_quantile")), "quantiles");
        assertEquals(1, said.size(), said.toString());
        assertTrue(said.get(0).contains("cassandra_table_live_sstables"), said.toString());
        assertFalse(page(false, Profile.RINGWATCH).samples.keySet().stream()
                .anyMatch(name -> name.startsWith("mcac_")), "on /metrics they are a profile's");

        Template table = model.template(0);
        table.removeEntity(0);
        table.addEntity(null, "ks", "t"); // dropped and made anew: its counters begin anew
        table.metric(3).set(2, 1);
        table.metric(0).writeBuckets(2)[3] = 2;
        mcac.pass(false);
        exporter.pass(false);
        ReferenceDecoder.State next = decoded(encoder, false, 2000, key);
        assertEquals(1L, next.value("mcac_table_live_ss_table_count", of));
        assertEquals(2L, next.value("mcac_table_read_latency_total", of));
        next = decoded(encoder, true, 300_000, null); // slots move
        table.metric(3).set(1, 5);
        mcac.pass(false);
        exporter.pass(false);
        next = decoded(encoder, false, 301_000, next);
        assertEquals(5L, next.value("mcac_table_live_ss_table_count", of));
        int entities = mcac.entities() + exporter.entities();
        assertTrue(entities > 10 && entities < 100, entities + "");
    }

    @Test
    void noMoreIsSentThanThereIsRoomFor() throws Exception {
        List<String> said = new java.util.ArrayList<>();
        SentNames sent = new SentNames(new FrameRoom(model, 2, QUEUE, said::add),
                Profile.named("mcac"), Map.of(), 0);
        for (int pass = 0; pass < 3; pass++) {
            sent.pass(pass == 0);
        }
        assertEquals(2, sent.entities());
        assertEquals(1, said.size());
        assertTrue(said.get(0).contains("max_entities 2"), said.toString());
        decoded(new FrameEncoder(java.util.UUID.randomUUID(), "prod", 1000, null), true, 1, null);
    }

    /** All families of a type have the same labels, and a template has room for 4,096 metrics. */
    @Test
    void thousandsOfFamiliesAreSeveralTemplates() throws Exception {
        Template indexes = model.add(new Template("sai_index", "keyspace", "table", "index"));
        for (int m = 0; m < 30; m++) {
            indexes.add(scalar("cassandra_sai_index_m" + m, Kind.GAUGE, 0, "M" + m, false));
        }
        for (int e = 0; e < 200; e++) {
            int slot = indexes.addEntity(null, "ks", "t", "i" + e + "x");
            for (int m = 0; m < 30; m++) {
                indexes.metric(m).set(slot, e * 100 + m);
            }
        }
        SentNames sent = new SentNames(new FrameRoom(model, 1000, QUEUE, said -> { }),
                Profile.named("management_api"), Map.of(), 0);
        sent.pass(true);
        ReferenceDecoder.State key = decoded(
                new FrameEncoder(java.util.UUID.randomUUID(), "prod", 1000, null), true, 1, null);
        int metrics = 0;
        for (ReferenceDecoder.Type type : key.types) {
            assertTrue(type.metrics.size() <= 4096, type.name + ' ' + type.metrics.size());
            for (Metric metric : type.metrics) {
                metrics += type.name.startsWith("sent_")
                        && metric.name.matches(".*_m\\d+_ks_t_i\\d+x") ? 1 : 0;
                if (metric.name.endsWith("_m3_ks_t_i7x")) { // also the one of an entity amid others
                    assertEquals(703L, key.value(metric.name, type.entities.get(0)));
                }
            }
        }
        assertEquals(6000, metrics);
    }

    @Test
    void longNamesAreNotSent() throws Exception {
        model.template(0).add(scalar("cassandra_table_long", Kind.GAUGE, 0, "L".repeat(300),
                false));
        model.template(0).metric(6).set(0, 1);
        Template index = model.add(new Template("sai_index", "keyspace", "table", "index"));
        index.add(scalar("cassandra_sai_index_m", Kind.GAUGE, 0, "M", false));
        index.add(scalar("cassandra_sai_index_long_name_of_a_metric", Kind.GAUGE, 0,
                "LongNameOfAMetric".repeat(3), false));
        index.addEntity(null, "k".repeat(48), "t".repeat(48), "i".repeat(100));
        model.template(0).addEntity(null, "v".repeat(400), "t");
        model.template(0).metric(3).set(2, 7);
        List<String> said = new java.util.ArrayList<>();
        FrameRoom room = new FrameRoom(model, 1000, QUEUE, said::add);
        for (String profile : new String[] {"management_api", "mcac"}) {
            new SentNames(room, Profile.named(profile), Map.of("l".repeat(300), "v"), 0)
                    .pass(true);
            new SentNames(room, Profile.named(profile), Map.of(), 0).pass(true);
        }
        ReferenceDecoder.State key = decoded(
                new FrameEncoder(java.util.UUID.randomUUID(), "prod", 1000, null), true, 1, null);
        key.types.forEach(type -> type.metrics.forEach(metric ->
                assertTrue(metric.name.length() <= 255, metric.name)));
        assertEquals(0L, key.value("ringwatch_agent_sent_left_out"), "they never have room");
        assertTrue(said.toString().contains("a frame cannot have them"), said.toString());
        assertTrue(said.stream().allMatch(line -> line.length() < 20 * 400));
    }

    /** What one profile calls a type another may, too. */
    @Test
    void typesOfTwoProfilesDiffer() throws Exception {
        FrameRoom room = new FrameRoom(model, 100, QUEUE, said -> { });
        for (String name : new String[] {"app", "app_host"}) {
            Profile profile = new Profile(name) {
                @Override
                void add(Layout layout, Model of) {
                    List<Label> labels = name.equals("app")
                            ? List.of(Label.constant("host", "h")) : List.of();
                    layout.add(name + "_x", Family.Type.GAUGE, "", "", new Family.Source(
                            of.template(0), of.template(0).metric(3), labels, 0, 1));
                }
            };
            new SentNames(room, profile, Map.of(), 0).pass(true);
        }
        ReferenceDecoder.State key = decoded(
                new FrameEncoder(java.util.UUID.randomUUID(), "prod", 1000, null), true, 1, null);
        assertTrue(key.type("sent_app_host") != null && key.type("sent_app_host_2") != null);
    }

    /** Whatever name the node gets is its own from its first frame on. */
    @Test
    void theNodesOwnNamesGoFirst() throws Exception {
        SentNames mcac = new SentNames(new FrameRoom(model, 100, QUEUE, said -> { }),
                Profile.named("mcac"), Map.of(), 0);
        mcac.pass(true);
        FrameEncoder encoder = new FrameEncoder(java.util.UUID.randomUUID(), "prod", 1000, null);
        decoded(encoder, true, 1, null);
        Template own = model.add(new Template("own"));
        own.add(Metric.scalar("mcac_table_live_ss_table_count", Kind.GAUGE, "", 0));
        own.add(Metric.scalar("mcac_table_read_latency", Kind.GAUGE, "", 0));
        own.addEntity(null);
        own.metric(0).set(0, 77);
        mcac.pass(false);
        assertTrue(model.needsKeyFrame());
        ReferenceDecoder.State key = decoded(encoder, true, 1001, null);
        assertEquals(77L, key.value("mcac_table_live_ss_table_count"));
    }

    /** One that only moved to another slot is not another entity. */
    @Test
    void whatMovesStays() throws Exception {
        Template table = model.template(0);
        for (int t = 0; t < 300; t++) {
            int slot = table.addEntity(null, "ks", "many" + t);
            table.metric(3).set(slot, t);
        }
        SentNames mcac = new SentNames(new FrameRoom(model, 1000, QUEUE, said -> { }),
                Profile.named("mcac"), Map.of(), 0);
        FrameEncoder encoder = new FrameEncoder(java.util.UUID.randomUUID(), "prod", 1000, null);
        mcac.pass(true);
        decoded(encoder, true, 1, null);
        table.removeEntity(0);
        mcac.pass(false);
        ReferenceDecoder.State key = decoded(encoder, true, 1000, null); // closes the gap
        table.metric(3).set(150, 9999);
        mcac.pass(false);
        byte[] delta = encoder.delta(model, 1, 1, 2000, 0).copy();
        assertTrue(delta.length < 200, delta.length + " bytes");
        String[] moved = table.entity(150);
        assertEquals(9999L, ReferenceDecoder.decode(delta, key).value(
                "mcac_table_live_ss_table_count", "10.0.0.7", moved[0], moved[1], "dc1"));
    }

    /** A node that has grown near what a frame holds sends itself, and profiles what is left. */
    @Test
    void theNodesOwnEntitiesGoFirst() throws Exception {
        SentNames sent = new SentNames(new FrameRoom(model, 10_000_000, QUEUE, said -> { }),
                Profile.named("mcac"), Map.of(), 0);
        sent.pass(true);
        assertTrue(sent.entities() > 0);
        Template wide = model.add(new Template("wide", "n"));
        wide.add(Metric.scalar("wide", Kind.GAUGE, "", 0));
        for (int e = 0; e < 1 << 19; e++) { // half of what a frame may have
            wide.addEntity(null, "" + e);
        }
        sent.pass(false);
        assertTrue(sent.entities() > 0);
        sent.pass(true);
        assertEquals(0, sent.entities());
    }

    /** What has too many bytes is left out and counted, and as much as has room is sent. */
    @Test
    void framesHaveNoMoreBytesThanIngestTakes() throws Exception {
        Template table = model.template(0);
        for (int t = 0; t < 2000; t++) {
            table.metric(3).set(table.addEntity(null, "ks", "many" + t), t);
        }
        FrameEncoder encoder = new FrameEncoder(java.util.UUID.randomUUID(), "prod", 1000, null);
        int own = encoder.key(model, 1, 1, 1, 0).length();
        List<String> said = new java.util.ArrayList<>();
        FrameRoom room = new FrameRoom(model, 10_000, 3L * own, said::add);
        SentNames sent = new SentNames(room, Profile.named("mcac"), Map.of(), 0);
        sent.pass(true);
        int all = sent.entities();
        assertTrue(all > 2000, all + "");
        assertTrue(encoder.key(model, 1, 1, 1000, 0).length() > own * 3 / 2);
        assertFalse(room.fits(encoder.key(model, 1, 1, 1000, 0).length(), encoder.rawLength()));
        assertTrue(model.needsKeyFrame());
        ReferenceDecoder.State key = decoded(encoder, true, 1000, null);
        assertEquals((long) all, key.value("ringwatch_agent_sent_left_out"));
        assertTrue(key.types.stream().noneMatch(type -> type.name.startsWith("sent_")));
        room.ownFrame(encoder.key(model, 1, 1, 1000, 0).length(), encoder.rawLength());
        sent.pass(false);
        assertEquals(0, sent.entities());
        sent.pass(true);
        assertTrue(room.fits(encoder.key(model, 1, 2, 2000, 0).length(), encoder.rawLength()));
        int some = sent.entities();
        assertTrue(some > 100 && some < all, some + " of " + all);
        assertEquals((long) all - some, decoded(encoder, true, 2000, null)
                .value("ringwatch_agent_sent_left_out"));
        assertEquals(1, said.size(), said.toString());
        assertTrue(said.get(0).contains("at most " + some + " of them are sent"), said.get(0));
    }

    /** What ingest takes by default is not all: the agent's queue may be smaller. */
    @Test
    void limitsAreThoseOfIngestAndOfTheQueue() {
        FrameRoom room = new FrameRoom(model, 10_000, QUEUE, said -> { });
        SentNames sent = new SentNames(room, Profile.named("mcac"), Map.of(), 0);
        sent.pass(true);
        assertTrue(room.fits(8 << 20, 16 << 20));
        assertFalse(room.fits(8 << 20, (16 << 20) + 1));
        room = new FrameRoom(model, 10_000, 1 << 20, said -> { });
        sent = new SentNames(room, Profile.named("management_api"), Map.of(), 0);
        sent.pass(true);
        assertTrue(room.fits(1 << 19, 16 << 20));
        assertFalse(room.fits((1 << 19) + 1, 1 << 20));
    }

    /** A frame of more series than ingest's max_series is refused, with the node's own. */
    @Test
    void theNodesOwnSeriesGoFirst() {
        SentNames sent = new SentNames(new FrameRoom(model, 10_000_000, QUEUE, said -> { }),
                Profile.named("mcac"), Map.of(), 0);
        Template wide = model.add(new Template("wide", "n"));
        for (int m = 0; m < 4_000; m++) {
            wide.add(Metric.scalar("wide" + m, Kind.GAUGE, "", 0));
        }
        for (int e = 0; e < 700; e++) {
            wide.addEntity(null, "" + e);
        }
        sent.pass(true);
        int all = sent.entities();
        assertTrue(all > 0);
        for (int e = 700; e < 900; e++) {
            wide.addEntity(null, "" + e);
        }
        sent.pass(false);
        assertEquals(all, sent.entities());
        for (int e = 900; e < 1_001; e++) {
            wide.addEntity(null, "" + e);
        }
        sent.pass(false);
        assertEquals(0, sent.entities());
    }

    /** A node whose own frame takes all that a frame may have. */
    @Test
    void whereThereIsNoRoomNothingIsSent() throws Exception {
        FrameEncoder encoder = new FrameEncoder(java.util.UUID.randomUUID(), "prod", 1000, null);
        int own = encoder.key(model, 1, 1, 1, 0).length();
        FrameRoom room = new FrameRoom(model, 10_000, 2L * (own - 10), said -> { });
        SentNames sent = new SentNames(room, Profile.named("mcac"), Map.of(), 0);
        sent.pass(true);
        assertFalse(room.fits(encoder.key(model, 1, 1, 1000, 0).length(), encoder.rawLength()));
        room.ownFrame(encoder.key(model, 1, 1, 1000, 0).length(), encoder.rawLength());
        sent.pass(true);
        assertEquals(0, sent.entities());
        ReferenceDecoder.State key = decoded(encoder, true, 2000, null);
        assertTrue((long) key.value("ringwatch_agent_sent_left_out") > 0);
        assertTrue(key.types.stream().noneMatch(type -> type.name.startsWith("sent_")));
        assertTrue(room.fits(encoder.key(model, 1, 1, 3000, 0).length(), encoder.rawLength()));
    }

    private ReferenceDecoder.State decoded(FrameEncoder encoder, boolean isKey, long at,
            ReferenceDecoder.State key) {
        return ReferenceDecoder.decode((isKey ? encoder.key(model, 1, 1, at, 0)
                : encoder.delta(model, 1, 1, at, 0)).copy(), key);
    }

    @Test
    void mcacsWords() {
        for (String[] word : new String[][] {{"LiveSSTableCount", "live_ss_table_count"},
            {"READ_REQ", "read_req"}, {"CASRead", "cas_read"},
            {"Native-Transport-Requests", "native.transport.requests"},
            {"Read.LOCAL_ONE", "read.local_one"}, {"Hints_created", "hints_created"},
            {"SSTablesPerReadHistogram", "ss_tables_per_read_histogram"}, {"KeyCache", "key_cache"},
            {"a__b", "a_b"}}) {
            assertEquals(word[1], McacNames.clean(word[0]));
        }
    }

    /** Whoever asks for one profile gets it whole, however many stand before it. */
    @Test
    void oneProfileApart() throws Exception {
        try (java.nio.channels.ServerSocketChannel listening = MetricsServer.bind("127.0.0.1", 0)) {
            model.cluster("prod");
            MetricsServer server = new MetricsServer(listening, model,
                    List.of(Profile.RINGWATCH, INSTACLUSTR));
            Thread thread = new Thread(server);
            thread.start();
            String url = "http://127.0.0.1:"
                    + ((java.net.InetSocketAddress) listening.getLocalAddress())
                    .getPort() + "/metrics";
            assertFalse(samples(url)
                    .containsKey("cassandra_cache_entries{cache=key, " + NODE + "}"));
            has(samples(url + "?a=b&profile=instaclustr_exporter"),
                    "cassandra_cache_entries{cache=key, " + NODE + "}", "8");
            has(samples(url + "?profile=ringwatch"),
                    "cassandra_cache_entries{cache=KeyCache}", "8");
            java.net.HttpURLConnection other = (java.net.HttpURLConnection) new java.net.URL(url
                    + "?profile=mcac").openConnection();
            assertEquals(404, other.getResponseCode());
            assertTrue(new String(other.getErrorStream().readAllBytes(),
                    java.nio.charset.StandardCharsets.UTF_8)
                    .contains("[ringwatch, instaclustr_exporter]"));
            server.close();
            thread.join(60_000);
        }
    }

    private static Map<String, Object> samples(String url) throws Exception {
        return StrictText.parse(new String(new java.net.URL(url).openStream().readAllBytes(),
                java.nio.charset.StandardCharsets.UTF_8), false).samples;
    }

    @Test
    void oneNameInTwoProfiles() throws Exception {
        for (boolean open : new boolean[] {false, true}) {
            StrictText ours = page(open, Profile.RINGWATCH, INSTACLUSTR);
            // the same values: one series with the labels of both
            has(ours.samples, "cassandra_table_live_sstables{" + NODE
                    + ", keyspace=ks, table=t, table_type=table}", "3");
            assertFalse(ours.samples.containsKey(
                    "cassandra_table_live_sstables{keyspace=ks, table=t}"));
            has(ours.samples, "cassandra_thread_pool_completed_tasks_total{" + NODE
                    + ", group=request, path=request, pool=ReadStage}", "7");
            // not the same: the first one's
            has(ours.samples, "cassandra_cache_entries{cache=KeyCache}", "8");
            assertEquals("histogram", ours.families.get("cassandra_table_sstables_per_read").type);
            StrictText theirs = page(open, INSTACLUSTR, Profile.RINGWATCH);
            has(theirs.samples, "cassandra_cache_entries{cache=key, " + NODE + "}", "8");
            assertEquals("summary", theirs.families.get("cassandra_table_sstables_per_read").type);
            assertTrue(theirs.samples.containsKey(
                    "cassandra_table_read_latency_seconds_count{keyspace=ks, table=t}"));
        }
    }

    @Test
    void everyOrderIsWellFormed() throws Exception {
        SyntheticNode node = new SyntheticNode(130);
        Profile[] p = {Profile.RINGWATCH, INSTACLUSTR, Profile.named("mcac")};
        int[][] orders = {{0}, {1}, {2}, {0, 1}, {1, 0}, {2, 0, 1}, {0, 1, 2}};
        for (int[] order : orders) {
            Profile[] profiles = new Profile[order.length];
            for (int i = 0; i < order.length; i++) {
                profiles[i] = p[order[i]];
            }
            for (boolean open : new boolean[] {false, true}) {
                page(open, profiles);
                StrictText.parse(PagesTest.text(PagesTest.pages(node.model, List.of(profiles), "c"),
                        open), open);
            }
        }
    }

    @Test
    void recentIsHalfForgottenEveryMinute() {
        Metric metric = model.template(0).metric(0);
        String[] entity = model.template(0).entity(0);
        Recent recent = new Recent(metric);
        assertTrue(recent.look(0, entity, 0));
        assertEquals(1024, recent.bound(0.5));
        metric.writeBuckets(0)[3] = 20; // now 20 of 8 µs against 100 that were before
        assertTrue(recent.look(0, entity, 60_000));
        assertEquals(1024, recent.bound(0.5), "20 against 50");
        assertTrue(recent.look(0, entity, 60_000));
        metric.writeBuckets(0)[3] += 40;
        assertTrue(recent.look(0, entity, 120_000));
        assertEquals(8, recent.bound(0.5), "50 against 25");
        assertEquals(1024, recent.bound(0.9));
        assertFalse(recent.look(0, entity, 120_000 + 8 * 60_000), "75 / 256");
        assertTrue(recent.look(3, new String[] {"ks", "t"}, 0) == false, "a slot without counts");
    }

    @Test
    void aCellKeepsItsPastWhenItsSlotMoves() {
        Metric metric = model.template(0).metric(0);
        String[] first = {"a"};
        String[] second = {"b"};
        Recent recent = new Recent(metric);
        metric.writeBuckets(1)[3] = 100;
        recent.look(0, first, 0);
        recent.look(1, second, 0);
        System.arraycopy(metric.writeBuckets(1), 0, metric.writeBuckets(0), 0, bounds.length);
        metric.writeBuckets(0)[5] = 30; // the second's now
        assertTrue(recent.look(0, second, 120_000));
        assertEquals(32, recent.bound(0.5), "30 against 25");
    }
}

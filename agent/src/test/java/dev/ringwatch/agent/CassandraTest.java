package dev.ringwatch.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.Session;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.ReferenceDecoder;
import dev.ringwatch.agent.pull.StrictText;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** The agent in a real Cassandra: what its frames say is what JMX says at the same time. */
@Tag("full")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class CassandraTest {
    private static final long PATIENCE_MS = 240_000;
    private static final String TABLE =
            "org.apache.cassandra.metrics:type=Table,keyspace=watched,scope=%s,name=%s";

    private static final int METRICS_PORT = CassandraProcess.freePort();

    private static final Path EVERY_KEY = Path.of("src/test/resources/rules/every_key.yaml");

    /** What the real exporter is given, and the profile that must say the same. */
    private static final List<String[]> RULES = List.of(
            new String[] {"../dictionary/profile/jmx_exporter.yaml", "jmx_exporter"},
            new String[] {EVERY_KEY.toString(), "jmx_exporter_2"},
            new String[] {"../dictionary/profile/grafana_mixin.yaml", "grafana_mixin"});

    private static RealExporter real;
    private static FrameReceiver receiver;
    private static CassandraProcess cassandra;
    private static JMXConnector connector;
    private static MBeanServerConnection jmx;
    private static Cluster cluster;
    private static Session cql;

    @BeforeAll
    static void start() throws Exception {
        receiver = new FrameReceiver();
        real = new RealExporter(Files.createTempDirectory("ringwatch-agent-rules"));
        cassandra = new CassandraProcess(
                Arrays.asList("ingest:", "  urls: [\"" + receiver.url() + "\"]", "  key: rw_test",
                        "interval: 1s", "cluster: test-cluster",
                        "listen: 127.0.0.1:" + METRICS_PORT,
                        "profiles: [ringwatch, jmx_exporter, instaclustr_exporter, "
                                + "{jmx_exporter: " + EVERY_KEY.toAbsolutePath() + "}, "
                                + "grafana_mixin, dashboard_5408, criteo_exporter, mcac, "
                                + "opentelemetry, management_api]"),
                List.of(real.option()));
        System.out.println("CassandraTest: Cassandra "
                + org.apache.cassandra.utils.FBUtilities.getReleaseVersionString()
                + " on Java " + System.getProperty("java.version"));
        try {
            // it starts in 20 seconds on a free machine, and took 6 minutes on a busy one
            receiver.after(0, 4 * PATIENCE_MS);
        } catch (AssertionError e) {
            fail(e.getMessage() + "\n" + cassandra.lastLines(), e.getCause());
        }
        JMXServiceURL url = new JMXServiceURL("service:jmx:rmi:///jndi/rmi://127.0.0.1:"
                + cassandra.jmxPort + "/jmxrmi");
        connector = eventually(() -> JMXConnectorFactory.connect(url));
        jmx = connector.getMBeanServerConnection();
        cluster = Cluster.builder().addContactPoint("127.0.0.1").withPort(cassandra.nativePort)
                .withoutJMXReporting().withoutMetrics().build();
        cql = eventually(() -> cluster.connect());
        cql.execute("CREATE KEYSPACE watched WITH replication"
                + " = {'class': 'SimpleStrategy', 'replication_factor': 1}");
        fill("t", 300);
    }

    @AfterAll
    static void stop() throws Exception {
        if (cluster != null) {
            cluster.close();
        }
        if (connector != null) {
            connector.close();
        }
        if (cassandra != null) {
            cassandra.close();
        }
        if (receiver != null) {
            receiver.close();
        }
    }

    @Test
    @Order(1)
    void whoAndWhere() throws Exception {
        ReferenceDecoder.State state = receiver.after(0, PATIENCE_MS);
        assertEquals("test-cluster", state.cluster);
        assertEquals("datacenter1", state.datacenter);
        assertEquals("rack1", state.rack);
        assertEquals(1000, state.interval);
        assertEquals(state.node.toString(),
                attribute("org.apache.cassandra.db:type=StorageService", "LocalHostId"));
        assertTrue(state.facts.get("cassandra_version").startsWith("5.0."), state.facts.toString());
        assertTrue(state.facts.get("address").startsWith("127.0.0.1:"), state.facts.toString());
        assertEquals("0-test", state.facts.get("agent_version"));
        assertEquals(Files.readString(Path.of("/proc/sys/kernel/hostname")).trim(),
                state.facts.get("hostname"));
        assertEquals("NORMAL", state.value("cassandra_node_operation_mode_info"));
        assertEquals(attribute("org.apache.cassandra.db:type=StorageService", "SchemaVersion"),
                settled("cassandra_node_schema_version_info"));
    }

    @Test
    @Order(2)
    void histogramsAreJmxBuckets() throws Exception {
        List<Pair> pairs = new ArrayList<>();
        for (String name : new String[] {"ReadLatency", "WriteLatency", "SSTablesPerReadHistogram",
                "TombstoneScannedHistogram"}) {
            String metric = "cassandra_table_"
                    + (name.equals("ReadLatency") ? "read_latency_seconds"
                    : name.equals("WriteLatency") ? "write_latency_seconds"
                    : name.startsWith("SST") ? "sstables_per_read" : "tombstones_scanned");
            String bean = String.format(TABLE, "t", name);
            pairs.add(new Pair(metric + " buckets", () -> {
                long[] values = (long[]) jmx.invoke(new ObjectName(bean), "values", new Object[0],
                        new String[0]);
                return Arrays.toString(values);
            }, s -> histogram(s, metric, "watched", "t") == null
                    ? null : Arrays.toString(histogram(s, metric, "watched", "t").buckets)));
            pairs.add(new Pair(metric + " count", () -> attribute(bean, "Count"),
                    s -> count(s, metric, "watched", "t")));
        }
        pairs.add(new Pair("sum of reads",
                () -> attribute(String.format(TABLE, "t", "ReadTotalLatency"), "Count"), s -> {
                    ReferenceDecoder.Histogram reads = histogram(s,
                            "cassandra_table_read_latency_seconds", "watched", "t");
                    return reads == null ? null : reads.sum;
                }));
        pairs.add(new Pair("client requests",
                () -> attribute("org.apache.cassandra.metrics:type=ClientRequest,"
                        + "scope=Read,name=Latency", "Count"),
                s -> count(s, "cassandra_client_request_latency_seconds", "Read")));
        pairs.add(new Pair("by consistency",
                () -> attribute("org.apache.cassandra.metrics:type=ClientRequest,"
                        + "scope=Write-LOCAL_ONE,name=Latency", "Count"),
                s -> count(s, "cassandra_client_request_by_consistency_latency_seconds",
                        "Write", "LOCAL_ONE")));
        compare(pairs.toArray(new Pair[0]));
        ReferenceDecoder.Histogram writes = histogram(receiver.after(0, PATIENCE_MS),
                "cassandra_table_write_latency_seconds", "watched", "t");
        assertEquals(300, writes.count());
    }

    @Test
    @Order(3)
    void countersAndGaugesAreJmxs() throws Exception {
        jmx.invoke(new ObjectName("org.apache.cassandra.db:type=StorageService"),
                "forceKeyspaceFlush", new Object[] {"watched", new String[0]},
                new String[] {"java.lang.String", "[Ljava.lang.String;"});
        compare(table("BytesFlushed", "Count", "cassandra_table_flushed_bytes_total"),
                table("MemtableSwitchCount", "Count", "cassandra_table_memtable_switches_total"),
                table("LiveDiskSpaceUsed", "Count", "cassandra_table_live_disk_space_used_bytes"),
                table("LiveSSTableCount", "Value", "cassandra_table_live_sstables"),
                table("MemtableColumnsCount", "Value", "cassandra_table_memtable_columns"),
                table("PendingFlushes", "Count", "cassandra_table_pending_flushes"),
                same("org.apache.cassandra.metrics:type=ThreadPools,path=request,"
                        + "scope=MutationStage,name=CompletedTasks", "Value",
                        "cassandra_thread_pool_completed_tasks_total", "request", "MutationStage"),
                same("org.apache.cassandra.metrics:type=ThreadPools,path=request,"
                        + "scope=ReadStage,name=MaxPoolSize", "Value",
                        "cassandra_thread_pool_max_pool_size", "request", "ReadStage"),
                same("org.apache.cassandra.metrics:type=Cache,scope=KeyCache,name=Capacity",
                        "Value", "cassandra_cache_capacity_bytes", "KeyCache"),
                same("org.apache.cassandra.metrics:type=Cache,scope=KeyCache,name=Requests",
                        "Count", "cassandra_cache_requests_total", "KeyCache"),
                same("org.apache.cassandra.metrics:type=Storage,name=Load",
                        "Count", "cassandra_storage_load_bytes"),
                same("org.apache.cassandra.metrics:type=CQL,name=PreparedStatementsExecuted",
                        "Count", "cassandra_cql_prepared_statements_executed_total"),
                same("org.apache.cassandra.metrics:type=Client,name=ConnectedNativeClients",
                        "Value", "cassandra_client_connected_native_clients"),
                same("org.apache.cassandra.metrics:type=DroppedMessage,scope=READ_REQ,name=Dropped",
                        "Count", "cassandra_dropped_message_dropped_total", "READ_REQ"),
                same("org.apache.cassandra.metrics:type=CommitLog,name=TotalCommitLogSize",
                        "Value", "cassandra_commit_log_size_bytes"),
                same("java.lang:type=ClassLoading",
                        "UnloadedClassCount", "jvm_classes_unloaded_total"));
    }

    @Test
    @Order(4)
    void aDroppedTableGoesAndItsSuccessorStartsAgain() throws Exception {
        fill("gone", 20);
        compare("gone is there", () -> 20L,
                s -> count(s, "cassandra_table_write_latency_seconds", "watched", "gone"));
        cql.execute("DROP TABLE watched.gone");
        compare("gone is gone", () -> null,
                s -> s.value("cassandra_table_write_latency_seconds", "watched", "gone"));
        fill("gone", 3);
        compare("gone is new", () -> 3L,
                s -> count(s, "cassandra_table_write_latency_seconds", "watched", "gone"));
        fill("t2", 7);
        cql.execute("DROP TABLE watched.t2"); // and back again, most likely between two passes
        fill("t2", 2);
        compare("t2 is new", () -> 2L,
                s -> count(s, "cassandra_table_write_latency_seconds", "watched", "t2"));
    }

    @Test
    @Order(5)
    void theMachineAndTheAgent() throws Exception {
        ReferenceDecoder.State state = receiver.after(receiver.after(0, PATIENCE_MS).at,
                PATIENCE_MS);
        assertEquals((long) Runtime.getRuntime().availableProcessors() > 0,
                (Long) state.value("os_cpus") > 0);
        assertTrue((Long) state.value("os_memory_total_bytes") > 1 << 28);
        assertTrue((Long) state.value("os_cpu_seconds_total", "user") > 0);
        assertTrue((Long) state.value("os_network_received_bytes_total", "lo") > 0);
        assertTrue((Long) state.value("jvm_heap_used_bytes") > 1 << 20);
        assertTrue((Long) state.value("jvm_gc_collections_total", "Copy") > 0);
        assertTrue((Long) state.value("jvm_open_file_descriptors") > 10);
        long made = (Long) state.value("ringwatch_agent_frames_total");
        assertTrue(made > 0 && made <= receiver.frames(), made + " of " + receiver.frames());
        assertEquals(0L, state.value("ringwatch_agent_frames_dropped_total", "queue_full"));
        assertEquals(0L, state.value("ringwatch_agent_send_errors_total"));
        assertEquals(0L, state.value("ringwatch_agent_metrics_refused_total"));
        System.out.printf("CassandraTest: %d frames, smallest %d bytes, "
                + "last pass %.1f ms CPU, %d bytes allocated so far%n",
                receiver.frames(), receiver.idleBytes(), state.cost / 1e6,
                (Long) state.value("ringwatch_agent_allocated_bytes_total"));
        List<String> said = Files.readString(cassandra.log).lines()
                .filter(l -> l.startsWith("ringwatch-agent:"))
                .collect(java.util.stream.Collectors.toList());
        assertTrue(said.size() == 3 && said.get(0).contains("startDelaySeconds")
                && said.get(1).contains("names group 6")
                && said.get(2).contains("version 0-test"), said.toString());
    }

    @Test
    @Order(5)
    void scrapesSayTheSame() throws Exception {
        for (String accept : new String[] {"text/plain",
                "application/openmetrics-text;version=1.0.0"}) {
            eventually(() -> { // beans are named by and by
                java.net.URLConnection scrape = new java.net.URL("http://127.0.0.1:" + METRICS_PORT
                        + "/metrics").openConnection();
                scrape.setRequestProperty("Accept", accept);
                String text = new String(scrape.getInputStream().readAllBytes(),
                        java.nio.charset.StandardCharsets.UTF_8);
                String wrong = whatIsWrongWith(text,
                        StrictText.parse(text, accept.contains("open")).samples);
                if (!wrong.isEmpty()) {
                    throw new IllegalStateException(wrong);
                }
                return null;
            });
        }
    }

    /** Empty, or what the page of all profiles should say of table {@code t} and does not. */
    private static String whatIsWrongWith(String text, java.util.Map<String, Object> samples) {
        StringBuilder wrong = new StringBuilder();
        String theirs = "cassandra_cluster=test-cluster, cassandra_datacenter=datacenter1, "
                + "cassandra_node=127.0.0.1, cassandra_rack=rack1";
        for (String counted : new String[] {
            "cassandra_table_write_latency_seconds_count{keyspace=watched, table=t}",
            "cassandra_table_writelatency_seconds_count{keyspace=watched, table=t}",
            "cassandra_table_operation_latency_seconds_count{" + theirs
                    + ", keyspace=watched, operation=write, table=t, table_type=table}"}) {
            Object count = samples.get(counted);
            if (count == null || ((java.math.BigDecimal) count)
                    .compareTo(new java.math.BigDecimal(300)) != 0) {
                wrong.append(counted).append(" is ").append(count).append('\n');
            }
        }
        for (String needed : new String[] {
            "cassandra_table_readlatency_seconds{keyspace=watched, quantile=0.99, table=t}",
            // a name of two profiles
            "cassandra_table_live_sstables{" + theirs
                    + ", keyspace=watched, table=t, table_type=table}",
            "cassandra_node_operation_mode_info{value=NORMAL}"}) {
            wrong.append(samples.containsKey(needed) ? "" : needed + " is not there\n");
        }
        long names = text.lines().filter(line -> line.startsWith("# TYPE ")).count();
        return wrong + (names > 400 ? "" : names + " names");
    }

    @Test
    @Order(6)
    void slowLaneIsJmxsWithinAMinute() throws Exception {
        compare(same(String.format(TABLE, "t", "MaxPartitionSize"), "Value",
                        "cassandra_table_max_partition_size_bytes", "watched", "t"),
                table("EstimatedPartitionCount", "Value", "cassandra_table_estimated_partitions"),
                table("CompressionRatio", "Value", "cassandra_table_compression_ratio"),
                new Pair("partition sizes",
                        () -> Arrays.stream((long[]) attribute(
                                String.format(TABLE, "t", "EstimatedPartitionSizeHistogram"),
                                "Value")).sum(),
                        s -> count(s, "cassandra_table_estimated_partition_size_bytes",
                                "watched", "t")));
    }

    /** What a node alone does not have of the types that it has. */
    private static final Set<String> WITH_A_PEER = Set.of("cassandra_hints_delay_seconds",
            "cassandra_hints_failed_total", "cassandra_hints_succeeded_total",
            "cassandra_hints_timed_out_total", "cassandra_messaging_timeouts_total");

    @Test
    @Order(7)
    void everyNameIsInTheDictionary() throws Exception {
        Map<String, Dictionary.Entry> entries = Dictionary.read();
        Set<String> wrong = new TreeSet<>();
        for (ReferenceDecoder.Type type : receiver.after(0, PATIENCE_MS).types) {
            Set<String> sent = new TreeSet<>();
            for (Metric metric : type.metrics) {
                sent.add(metric.name);
                Dictionary.Entry entry = entries.get(metric.name);
                String kind = metric.kind.name().toLowerCase();
                if (entry == null || !entry.type.equals(type.name) || !entry.kind.equals(kind)
                        || !entry.unit.equals(metric.unit) || !entry.isIn("5.0")) {
                    wrong.add("it lacks " + metric.name + " " + kind + " " + metric.unit
                            + " of " + type.name);
                }
            }
            for (Dictionary.Entry entry : entries.values()) {
                if (entry.type.equals(type.name) && entry.isIn("5.0") && !sent.contains(entry.name)
                        && !WITH_A_PEER.contains(entry.name)) {
                    wrong.add("nothing gives " + entry.name);
                }
            }
        }
        assertTrue(wrong.isEmpty(), "../dictionary/metrics.txt:\n" + String.join("\n", wrong));
    }

    @Test
    @Order(8)
    void profilesSayWhatTheRealExporterSays() throws Exception {
        // a file takes 40 s of processor: the one with every key in each run, all in make test-full
        for (String[] rules : System.getenv("RINGWATCH_TEST_FULL") != null ? RULES
                : RULES.subList(1, 2)) {
            real.use(Path.of(rules[0]));
            Differences differences = new Differences();
            for (long deadline = System.currentTimeMillis() + 2 * PATIENCE_MS;
                    differences.next(rules[1]);) {
                if (System.currentTimeMillis() > deadline) {
                    fail(rules[1] + ": " + differences);
                }
            }
            System.out.println("CassandraTest: " + rules[1] + " has the " + differences.series
                    + " series of the real exporter");
        }
    }

    /**
     * What Cassandra's registry has comes from there, whatever rules ask for, and under old names.
     */
    @Test
    @Order(9)
    void noMetricIsReadThroughTheServer() throws Exception {
        ReferenceDecoder.Type costs = receiver.after(0, PATIENCE_MS).type("agent_bean");
        Set<String> metrics = new TreeSet<>();
        int beans = 0;
        for (String[] bean : costs.entities) {
            beans += bean != null ? 1 : 0;
            if (bean != null && bean[0].startsWith("org.apache.cassandra.metrics:")) {
                metrics.add(bean[0]);
            }
        }
        assertTrue(metrics.isEmpty(), "read through the MBean server: " + metrics);
        assertTrue(beans > 10 && beans < 200, beans
                + " beans have a cost: with 200 or more not all are named");
        System.out.println("CassandraTest: " + beans
                + " beans are read through the MBean server, none of them a metric's");
    }

    /** What has differed in every round so far. */
    private static final class Differences {
        private java.util.Map<String, String> left;
        int series;

        /** Whether there is anything left after another round. */
        boolean next(String profile) throws Exception {
            java.util.Map<String, Double> before = real.scrape();
            // a pass, and what it asked for in the next
            receiver.after(receiver.after(System.currentTimeMillis(), PATIENCE_MS).at, PATIENCE_MS);
            java.util.Map<String, Double> ours = RealExporter.scrape("http://127.0.0.1:"
                    + METRICS_PORT + "/metrics?profile=" + profile);
            java.util.Map<String, Double> after = real.scrape();
            java.util.Map<String, String> now = RealExporter.differences(before, ours, after);
            now.entrySet().removeIf(CassandraTest::isMeant);
            if (left != null) {
                now.keySet().retainAll(left.keySet());
            }
            left = now;
            series = after.size();
            return series < 500 || !left.isEmpty(); // it may not have read its new file yet
        }

        @Override
        public String toString() {
            return left.size() + " differences of " + series + " series, in every round:\n"
                    + left.entrySet().stream().limit(100).map(Object::toString)
                            .collect(java.util.stream.Collectors.joining("\n"));
        }
    }

    /**
     * What need not be the same: that the exporter says of itself which one it is; figures of the
     * JVM that are others at every look, which need only be there; and rates that fall all the
     * time, whose last digits are those of an instant.
     */
    private static boolean isMeant(java.util.Map.Entry<String, String> difference) {
        boolean there = !difference.getValue().startsWith("only");
        return difference.getKey().startsWith("jmx_exporter_build_info{")
                || there
                && difference.getKey().matches("(jvm|process|jmx)_.*|.*minutehitrate\\{.*");
    }

    private static void fill(String table, int rows) {
        cql.execute("CREATE TABLE IF NOT EXISTS watched." + table + " (k int PRIMARY KEY, v text)");
        for (int i = 0; i < rows; i++) {
            cql.execute("INSERT INTO watched." + table + " (k, v) VALUES (" + i + ", 'some text')");
            cql.execute("SELECT v FROM watched." + table + " WHERE k = " + i);
        }
    }

    private static ReferenceDecoder.Histogram histogram(ReferenceDecoder.State state, String metric,
            String... labels) {
        return (ReferenceDecoder.Histogram) state.value(metric, labels);
    }

    /** How much a histogram has counted; null as long as it is not there. */
    private static Long count(ReferenceDecoder.State state, String metric, String... labels) {
        ReferenceDecoder.Histogram histogram = histogram(state, metric, labels);
        return histogram == null ? null : histogram.count();
    }

    private static Pair table(String name, String attribute, String metric) {
        return same(String.format(TABLE, "t", name), attribute, metric, "watched", "t");
    }

    private static Pair same(String bean, String attribute, String metric, String... labels) {
        return new Pair(metric, () -> {
            Object value = attribute(bean, attribute);
            return value instanceof Integer ? (Object) ((Integer) value).longValue() : value;
        }, s -> s.value(metric, labels));
    }

    private static Object attribute(String bean, String attribute) throws Exception {
        return jmx.getAttribute(new ObjectName(bean), attribute);
    }

    private static Object settled(String metric) throws Exception {
        return receiver.after(receiver.after(0, PATIENCE_MS).at, PATIENCE_MS).value(metric);
    }

    private interface FromFrame {
        Object get(ReferenceDecoder.State state);
    }

    /** One value as JMX says it and as a frame does. */
    private static final class Pair {
        final String what;
        final Callable<Object> fromJmx;
        final FromFrame fromFrame;
        Object before;

        Pair(String what, Callable<Object> fromJmx, FromFrame fromFrame) {
            this.what = what;
            this.fromJmx = fromJmx;
            this.fromFrame = fromFrame;
        }
    }

    /**
     * Each equal at the same moment: JMX says the same before and after the frame's instant, and
     * the frame says that. All are looked at around each frame, for a frame a second is what takes
     * the time.
     */
    private static void compare(Pair... pairs) throws Exception {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        for (List<Pair> left = new ArrayList<>(Arrays.asList(pairs)); !left.isEmpty();) {
            for (Pair pair : left) {
                pair.before = pair.fromJmx.call();
            }
            ReferenceDecoder.State state = receiver.after(System.currentTimeMillis(), PATIENCE_MS);
            boolean last = System.currentTimeMillis() > deadline;
            for (Iterator<Pair> each = left.iterator(); each.hasNext();) {
                Pair pair = each.next();
                Object seen = pair.fromFrame.get(state);
                Object after = pair.fromJmx.call();
                if (Objects.equals(pair.before, after) && Objects.equals(after, seen)) {
                    each.remove();
                } else if (last) {
                    fail(pair.what + ": JMX says " + pair.before + " and then " + after
                            + ", the frame between them " + seen + "\n" + cassandra.lastLines());
                }
            }
        }
    }

    private static void compare(String what, Callable<Object> fromJmx, FromFrame fromFrame)
            throws Exception {
        compare(new Pair(what, fromJmx, fromFrame));
    }

    private static <T> T eventually(Callable<T> call) throws Exception {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        for (;;) {
            try {
                return call.call();
            } catch (Exception e) {
                if (System.currentTimeMillis() > deadline) {
                    throw new AssertionError(cassandra.lastLines(), e);
                }
                Thread.sleep(200);
            }
        }
    }
}

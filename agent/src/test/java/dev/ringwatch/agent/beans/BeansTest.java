package dev.ringwatch.agent.beans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.Meter;
import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import com.codahale.metrics.Reservoir;
import com.codahale.metrics.Snapshot;
import com.codahale.metrics.UniformSnapshot;
import dev.ringwatch.agent.cassandra.Inventory;
import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;

/** Rules and beans that mean harm, or know no better. */
class BeansTest {
    private static final long PATIENCE_NS = 240_000_000_000L;
    private static final String ALL =
            "rules: [{pattern: 'x<type=(\\w+)><>(\\w+)', name: 'x_$1_$2'}]";

    private final MBeanServer server = MBeanServerFactory.newMBeanServer();

    private void register(String name, Object bean) throws Exception {
        server.registerMBean(bean, new ObjectName(name));
    }

    @Test
    void whatThrowsIsLeftOutAndTheRestIsThere() throws Exception {
        register("x:type=Odd", new TestBean().with("Fine", "long", () -> 1L)
                .with("Throws", "long", () -> { throw new IllegalStateException("no"); })
                .with("Links", "long", () -> { throw new NoClassDefFoundError("no"); })
                .with("Recurses", "long", () -> { throw new StackOverflowError(); }));
        register("x:type=Good", new TestBean().with("Value", "long", () -> 2L));
        try (BeansUnderTest beans = new BeansUnderTest(server, Map.of(), ALL)) {
            beans.settle();
            assertEquals("{x_Good_Value{}=2.0, x_Odd_Fine{}=1.0}", beans.samples().toString());
            server.unregisterMBean(new ObjectName("x:type=Odd"));
            register("x:type=New", new TestBean().with("Value", "java.lang.Object", () -> 3));
            beans.settle();
            assertEquals("{x_Good_Value{}=2.0, x_New_Value{}=3.0}", beans.samples().toString());
        }
    }

    @Test
    void theEndOfNamingIsSaidOnce() throws Exception {
        register("x:type=One", new TestBean().with("Value", "long", () -> 1L));
        try (BeansUnderTest beans = new BeansUnderTest(server, Map.of(), ALL)) {
            beans.pass();
            assertEquals(List.of(), beans.named);
            beans.settle();
            register("x:type=Two", new TestBean().with("Value", "long", () -> 2L));
            beans.settle();
            assertEquals(2, beans.samples().size());
            assertEquals(1, beans.named.size());
            assertTrue(beans.named.get(0).matches(
                    "all beans are named after \\d+ s: test has \\d+ series"), beans.named.get(0));
        }
    }

    @Test
    void aPatternWithoutEndEnds() throws Exception {
        for (int i = 0; i < 5; i++) {
            register("x:type=" + "a".repeat(40) + i,
                    new TestBean().with("Value", "long", () -> 1L));
        }
        try (BeansUnderTest beans = new BeansUnderTest(server, Map.of(),
                "rules: [{pattern: '(a*)*\\1[!;]', name: never}, "
                        + "{pattern: 'x<type=(\\w+)><>Value', name: 'y_$1'}]")) {
            beans.settle();
            assertEquals(5, beans.samples().size());
            assertEquals(1, beans.said.stream().filter(line -> line.contains("(a*)*\\1[!;]")
                    && line.contains("is ended")).count(), beans.said.toString());
        }
    }

    @Test
    void badRulesAreOneLineAndAnEmptyProfile() throws Exception {
        register("x:type=Good", new TestBean().with("Value", "long", () -> 2L));
        String[][] bad = {{"rules: [", "not YAML"}, {"[]", "a map"},
            {"rules: [{name: x}]", "pattern"}, {"rules: [{pattern: '(', name: x}]", "rule 1"},
            {"rules: [{pattern: a, name: 7}]", "quote"}, {"rules:", "a list"},
            {"rules: [{pattern: a, labels: {b: c}}]", "a name"},
            {"rules: [{pattern: a, name: b, labels: [c]}]", "labels"},
            {"hostPort: 'a:1'", "hostPort"}, {"includeObjectNames: ['x']", "object name"},
            {"includeObjectNames: 7", "a list"},
            {"lowercaseOutputName: maybe", "true or false"}, {"a: &a [*a]", "nested"},
            {"a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                + "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                + "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]", "values"},
            {"!!javax.script.ScriptEngineManager [x]", ""}, {"[".repeat(5_000), ""},
            {"\u0000", ""}};
        for (String[] each : bad) {
            try (BeansUnderTest beans = new BeansUnderTest(server, Map.of(), each[0])) {
                beans.pass();
                assertEquals(1, beans.said.size(), each[0] + beans.said);
                assertTrue(beans.said.get(0).contains(each[1]) && beans.said.get(0)
                        .contains("until then this profile is empty"), beans.said.get(0));
                assertTrue(beans.samples().isEmpty());
            }
        }
        try (BeansUnderTest beans = new BeansUnderTest(server, Map.of(),
                "what: 1\nrules: [{pattern: 'x<', nam: x}]")) {
            beans.settle();
            assertEquals(1, beans.samples().size());
            assertEquals(2,
                    beans.said.stream().filter(line -> line.contains("unknown key")).count(),
                    beans.said.toString());
        }
    }

    @Test
    void aDearBeanIsLeftOutAndNamed() throws Exception {
        TestBean dear = new TestBean().with("Value", "long", () -> {
            java.lang.management.ThreadMXBean threads =
                    java.lang.management.ManagementFactory.getThreadMXBean();
            for (long end = threads.getCurrentThreadCpuTime() + 150_000_000;
                    threads.getCurrentThreadCpuTime() < end;) {
                Thread.onSpinWait();
            }
            return 1L;
        });
        register("x:type=Dear", dear);
        register("x:type=Good", new TestBean().with("Value", "long", () -> 2L));
        try (BeansUnderTest beans = new BeansUnderTest(server, Map.of(), ALL)) {
            for (int i = 0; i < 20; i++) {
                beans.pass();
            }
            assertEquals("{x_Good_Value{}=2.0}", beans.samples().toString());
            assertTrue(beans.said.size() == 1 && beans.said.get(0).contains("x:type=Dear")
                    && beans.said.get(0).contains("ms to read"), beans.said.toString());
            assertEquals(3, dear.reads);
            Template costs = beans.model.template(0);
            long spent = 0;
            for (int slot = 0; slot < costs.slots(); slot++) {
                spent += costs.labelValue(slot, 0).equals("x:type=Dear")
                        ? costs.metric(0).value(slot) : 0;
            }
            assertTrue(costs.metric(0).name.equals("ringwatch_agent_bean_cpu_seconds_total")
                    && spent >= 450, spent + " ms");
        }
    }

    @Test
    void aBeanThatNeverAnswersHoldsNobodyUp() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        AtomicInteger good = new AtomicInteger();
        register("x:type=Blocks", new TestBean().with("Value", "long", () -> {
            try {
                never.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return 1L;
        }));
        register("x:type=Good",
                new TestBean().with("Value", "java.lang.Object", good::incrementAndGet));
        List<String> said = Collections.synchronizedList(new ArrayList<>());
        BeanProfile profile = new BeanProfile("test", BeanProfile.Kind.JMX_EXPORTER, say -> ALL);
        Beans beans = new Beans(List.of(profile), server, Map.of(), bean -> null,
                Filters.NONE, line -> {
            if (!line.startsWith(Beans.ALL_NAMED)) {
                said.add(line);
            }
        }, (work, name) -> {
            Thread thread = new Thread(work, name);
            thread.setDaemon(true);
            return thread;
        });
        beans.stuckNs = 50_000_000;
        Inventory inventory = new Inventory(new MetricRegistry(), new Model(), Filters.NONE,
                1000, line -> { });
        long began = System.nanoTime();
        for (long pass = 1; good.get() < 5 || said.isEmpty(); pass++) {
            beans.pass(pass, 12, inventory);
            assertTrue(System.nanoTime() - began < PATIENCE_NS, said.toString());
            Thread.onSpinWait();
        }
        assertTrue(said.size() == 1 && said.get(0).contains("x:type=Blocks")
                && said.get(0).contains("not answered"), said.toString());
        never.countDown();
        beans.close();
    }

    @Test
    void criteosNames() throws Exception {
        register("org.apache.cassandra.metrics:type=Table,keyspace=Ks,scope=T,name=ReadLatency",
                new TestBean().with("Count", "long", () -> 5L)
                .with("Mean", "double", () -> 1.5).with("99thPercentile", "double", () -> 2.5));
        register("org.apache.cassandra.db:type=StorageService",
                new TestBean().with("Count", "long", () -> 5L));
        register("java.lang:type=Some Thing",
                new TestBean().with("Verbose", "boolean", () -> true));
        List<String> said = new ArrayList<>();
        CriteoNames names = new CriteoNames(
                "host: a:1\nblacklist: ['.*:mean', 'org:apache:cassandra:db:.*']\n"
                + "maxScrapFrequencyInSec: {50: ['.*'], 3600: [x]}\n"
                + "additionalLabelsFromEnvvars: '^ADDL_(.*)$'\nnew: 1",
                Map.of("ADDL_rack", "r1", "HOME", "/"), said::add);
        BeanProfile profile = new BeanProfile("criteo_exporter", BeanProfile.Kind.CRITEO,
                say -> "blacklist: ['.*:mean', 'org:apache:cassandra:db:.*']\n"
                        + "maxScrapFrequencyInSec: {50: ['.*'], 3600: [x]}");
        try (BeansUnderTest beans = new BeansUnderTest(server, Map.of(), profile)) {
            beans.settle();
            assertEquals(
                    "{cassandra_stats{keyspace=, name=java:lang:some_thing:verbose, table=}=1.0, "
                    + "cassandra_stats{keyspace=Ks, name=org:apache:cassandra:metrics:table:ks:t:"
                    + "readlatency:99thpercentile, table=T}=2.5, "
                    + "cassandra_stats{keyspace=Ks, name=org:apache:cassandra:metrics:table:ks:t:"
                    + "readlatency:count, table=T}=5.0}",
                    beans.samples().entrySet().stream()
                            .filter(e -> !e.getKey().contains("mbeanserverdelegate"))
                            .collect(java.util.stream.Collectors.toMap(Map.Entry::getKey,
                                    Map.Entry::getValue, (a, b) -> a, java.util.TreeMap::new))
                            .toString());
        }
        Attribute attribute = new Attribute(new ObjectName("a:type=B"),
                Map.of("type", "B"), "C", "");
        assertEquals("[keyspace, table, name, rack]",
                java.util.Arrays.toString(names.name(attribute, 1).labels.names));
        assertEquals("[unknown key \"new\" is ignored]", said.toString());
        for (String bad : new String[] {"blacklist: x", "maxScrapFrequencyInSec: {50: ['(']}",
                "blacklist: []", "[]"}) {
            org.junit.jupiter.api.Assertions.assertThrows(IllegalArgumentException.class,
                    () -> new CriteoNames(bad, Map.of(), line -> { }), bad);
        }
    }

    @Test
    void figuresOfBuckets() {
        long[] counts = new long[10]; // bounds 1, 2, 3, 4, 5, 6, 7, 8, 10
        counts[2] = 50;
        counts[8] = 50;
        assertEquals(3, Buckets.figure(counts, 0));
        assertEquals(10, Buckets.figure(counts, 4));
        assertEquals(3, Buckets.figure(counts, 5));
        assertEquals(10, Buckets.figure(counts, 6));
        assertEquals(0, Buckets.figure(new long[10], 6));
        counts[9] = 1;
        assertTrue(Double.isNaN(Buckets.figure(counts, 0)), "overflowed");
    }

    @Test
    void aBeanThatTakesAMillisecondIsReadFourTimesAMinute() throws Exception {
        TestBean dear = new TestBean().with("Value", "long", () -> {
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            long end = threads.getCurrentThreadCpuTime() + 2_000_000;
            while (threads.getCurrentThreadCpuTime() < end) {
                Thread.onSpinWait();
            }
            return end;
        });
        register("x:type=Dear", dear);
        try (BeansUnderTest beans = new BeansUnderTest(server, Map.of(), ALL)) {
            beans.passesPerMinute = 12;
            beans.settle();
            dear.reads = 0;
            for (int pass = 0; pass < 24; pass++) {
                beans.pass();
            }
            assertEquals(8, dear.reads, "readings in two minutes");
        }
    }

    /**
     * A frame with one name twice is refused as a whole, and a name beyond its bytes cannot be in
     * it.
     */
    @Test
    void costsAreOfWholeNames() throws Exception {
        for (String end : new String[] {"1", "2", "x".repeat(200)}) {
            register("x:type=" + "a".repeat(100) + end,
                    new TestBean().with("Value", "long", () -> 1L));
        }
        for (int i = 0; i < 300; i++) {
            register("x:type=b" + i, new TestBean().with("Value", "long", () -> 1L));
        }
        try (BeansUnderTest beans = new BeansUnderTest(server, Map.of(), ALL)) {
            beans.settle();
            Template costs = beans.model.template(0);
            java.util.Set<String> names = new java.util.HashSet<>();
            for (int slot = 0; slot < costs.slots(); slot++) {
                assertTrue(names.add(costs.labelValue(slot, 0)) && costs.labelValue(slot,
                        0).length() <= 255, costs.labelValue(slot, 0));
            }
            assertEquals(200, names.size());
        }
    }

    /** Of Cassandra's metrics what stands still is hardly read, and what moves is read at once. */
    @Test
    void anIdleTablesGaugesAreReadInTurnOnly() throws Exception {
        AtomicInteger reads = new AtomicInteger();
        Map<String, Metric> registry = new HashMap<>();
        MetricRegistry ofInventory = new MetricRegistry();
        for (int t = 0; t < 50; t++) {
            Gauge<Integer> gauge = reads::incrementAndGet;
            Counter counter = new Counter();
            for (String name : new String[] {"PendingThings", "BytesFlushed"}) {
                Metric metric = name.startsWith("P") ? gauge : counter;
                registry.put("org.apache.cassandra.metrics.Table." + name + ".ks.t" + t, metric);
                ofInventory.register("org.apache.cassandra.metrics.Table." + name + ".ks.t" + t,
                        metric);
                register("org.apache.cassandra.metrics:type=Table,keyspace=ks,scope=t" + t
                        + ",name=" + name,
                        new TestBean().with(name.startsWith("P") ? "Value" : "Count",
                                name.startsWith("P") ? "java.lang.Object" : "long", () -> -1L));
            }
        }
        BeanProfile profile = new BeanProfile("test", BeanProfile.Kind.JMX_EXPORTER, say ->
                "rules: [{pattern: 'scope=(.+), name=(.+)><>', name: $2, labels: {table: $1}}]");
        Beans beans = new Beans(List.of(profile), server, registry, bean -> null, Filters.NONE,
                line -> { }, (work, name) -> null);
        Inventory inventory = new Inventory(ofInventory, new Model(), Filters.NONE,
                1000, line -> { });
        for (long pass = 1; pass < 5 || !beans.isSettled(); pass++) {
            inventory.sample(12);
            beans.pass(pass, 12, inventory);
            beans.reader().turn();
        }
        assertEquals(100, profile.output().size() - jvmSeries(profile));
        reads.set(0);
        for (long pass = 100; pass < 110; pass++) {
            beans.pass(pass, 12, new Inventory(new MetricRegistry(), new Model(), Filters.NONE,
                    1000, line -> { }));
        }
        assertTrue(reads.get() <= 10 * 3, reads.get() + " gauges of 50 idle tables in ten passes");
        ((Counter) registry.get("org.apache.cassandra.metrics.Table.BytesFlushed.ks.t7")).inc();
        inventory.sample(12);
        reads.set(0);
        beans.pass(111, 12, inventory);
        assertTrue(reads.get() >= 1 && reads.get() <= 1 + 3,
                reads.get() + " gauges: the table that moved, and those whose turn it is");
        beans.close();
    }

    /**
     * Zeros fade as all else does, and then there is no mean. What was counted a moment before it
     * was in the reservoir is seen, too.
     */
    @Test
    void aHistogramOfZerosFades() throws Exception {
        AtomicInteger held = new AtomicInteger();
        Histogram zeros = new Histogram(new Reservoir() {
            @Override
            public int size() {
                return held.get();
            }

            @Override
            public void update(long value) {
                // comes into the reservoir when the test says so
            }

            @Override
            public Snapshot getSnapshot() {
                return new UniformSnapshot(new long[held.get()]) {
                    @Override
                    public double getMean() { // as Cassandra's
                        return held.get() == 0 ? Double.NaN : 0;
                    }
                };
            }
        });
        register("org.apache.cassandra.metrics:type=Things,name=Zeros",
                new TestBean().with("Count", "long", () -> -1L).with("Mean", "double", () -> -1.0));
        Map<String, Metric> registry = Map.of("org.apache.cassandra.metrics.Things.Zeros", zeros);
        try (BeansUnderTest beans = new BeansUnderTest(server, registry,
                "rules: [{pattern: 'name=Zeros><>Mean', name: mean}]")) {
            beans.settle();
            assertEquals("{mean{}=NaN}", beans.samples().toString());
            zeros.update(0);
            beans.pass(); // between the count and the reservoir
            held.set(1);
            beans.pass();
            assertEquals("{mean{}=0.0}", beans.samples().toString());
            for (int i = 0; i < 5; i++) {
                beans.pass();
            }
            held.set(0);
            beans.pass();
            assertEquals("{mean{}=NaN}", beans.samples().toString());
        }
    }

    /**
     * Whatever rules ask of Cassandra's metrics, the values come from its registry, under the
     * beans' old names, too, and where a name hangs on the value.
     */
    @Test
    void valuesOfMetricsAreNeverAskedOfTheServer() throws Exception {
        String domain = "org.apache.cassandra.metrics";
        AtomicInteger partitions = new AtomicInteger(7);
        Meter reads = new Meter();
        reads.mark(5);
        Map<String, Metric> registry = Map.of(domain + ".Table.Reads.ks.t", reads,
                domain + ".Table.EstimatedPartitionCount.ks.t", (Gauge<Integer>) partitions::get,
                domain + ".IndexTable.Reads.ks.t.i", reads, domain + ".Table.Reads.all", reads,
                domain + ".ClientRequest.ConditionNotMet.CASWrite", reads,
                domain + ".DroppedMessage.Dropped.READ_REQ", reads,
                domain + ".DroppedMessage.Dropped.RANGE_REQ", reads,
                domain + ".Client.ConnectedNativeClients", (Gauge<Integer>) () -> 2);
        List<TestBean> meters = new ArrayList<>();
        for (String bean : new String[] {"type=Table,keyspace=ks,scope=t,name=Reads",
            "type=ColumnFamily,keyspace=ks,scope=t,name=Reads", "type=ColumnFamily,name=Reads",
            "type=IndexColumnFamily,keyspace=ks,scope=t.i,name=Reads",
            "type=ClientRequest,scope=CASRead,name=ConditionNotMet",
            "type=DroppedMessage,scope=READ,name=Dropped",
            "type=DroppedMessage,scope=RANGE_SLICE,name=Dropped"}) {
            TestBean meter = new TestBean().with("Count", "long", () -> -1L)
                    .with("RateUnit", "events/second")
                    .with("RecentValues", "[J", () -> new long[1]);
            if (bean.contains("CASRead")) { // a meter that was once a gauge
                meter.with("Value", "java.lang.Object", () -> -1L);
            }
            meters.add(meter);
            register(domain + ':' + bean, meter);
        }
        List<TestBean> gauges = new ArrayList<>();
        for (String bean : new String[] {
            "type=Table,keyspace=ks,scope=t,name=EstimatedPartitionCount",
            "type=ColumnFamily,keyspace=ks,scope=t,name=EstimatedRowCount",
            "type=Client,name=connectedNativeClients"}) {
            TestBean gauge = new TestBean().with("Value", "java.lang.Object", () -> -1);
            gauges.add(gauge);
            register(domain + ':' + bean, gauge);
        }
        String rules = "rules:\n"
                + "- {pattern: 'metrics<type=ColumnFamily, name=(\\w+)><>Count', name: all_$1}\n"
                + "- pattern: 'metrics<type=Table, .*name=Reads><>RateUnit: (.+)'\n"
                + "  name: unit\n  value: 1\n  labels: {unit: $1}\n"
                + "- {pattern: 'name=ConditionNotMet><>Count', name: unmet_count}\n"
                + "- {pattern: 'name=ConditionNotMet><>Value: (.+)', name: unmet, "
                + "labels: {as: $1}}\n"
                + "- pattern: 'scope=RANGE_SLICE, name=Dropped><>Count: (.+)'\n"
                + "  name: text\n  value: $1\n"
                + "- pattern: 'metrics<type=(\\w+), .*name=(\\w+)><>(Value|Count): (\\d)$'\n"
                + "  name: $1_$2\n  labels: {digit: $4}\n"
                + "- pattern: 'metrics<type=(\\w+), .*name=(\\w+)><>(Value|Count): (\\d\\d)$'\n"
                + "  name: $1_$2_two\n  valueFactor: 0.5\n";
        try (BeansUnderTest beans = new BeansUnderTest(server, registry, rules)) {
            beans.settle();
            assertEquals(String.join(", ", "{Client_connectedNativeClients{digit=2}=2.0",
                    "ColumnFamily_EstimatedRowCount{digit=7}=7.0",
                    "ColumnFamily_Reads{digit=5}=5.0",
                    "DroppedMessage_Dropped{digit=5}=5.0", "IndexColumnFamily_Reads{digit=5}=5.0",
                    "Table_EstimatedPartitionCount{digit=7}=7.0", "Table_Reads{digit=5}=5.0",
                    "all_Reads{}=5.0", "text{}=5.0", "unit{unit=events/second}=1.0",
                    "unmet_count{}=5.0", "unmet{as=5}=5.0}"), beans.samples().toString());
            partitions.set(40);
            reads.mark(5);
            for (int i = 0; i < 10; i++) {
                beans.pass();
            }
            assertEquals(String.join(", ", "{Client_connectedNativeClients{digit=2}=2.0",
                    "ColumnFamily_EstimatedRowCount_two{}=20.0", "ColumnFamily_Reads_two{}=5.0",
                    "DroppedMessage_Dropped_two{}=5.0", "IndexColumnFamily_Reads_two{}=5.0",
                    "Table_EstimatedPartitionCount_two{}=20.0", "Table_Reads_two{}=5.0",
                    "all_Reads{}=10.0", "text{}=10.0", "unit{unit=events/second}=1.0",
                    "unmet_count{}=10.0", "unmet{as=10}=10.0}"),
                    beans.samples().toString());
            for (TestBean meter : meters) {
                assertEquals(1, meter.reads, "a meter's unit is read once, and nothing else of it");
            }
            for (TestBean gauge : gauges) {
                assertEquals(0, gauge.reads, "a gauge is never read");
            }
            assertEquals(List.of(), beans.said);
            server.unregisterMBean(new ObjectName(domain
                    + ":type=Table,keyspace=ks,scope=t,name=Reads"));
            beans.settle();
            assertTrue(!beans.samples().toString().contains("Table_Reads"),
                    beans.samples().toString());
        }
    }

    private static int jvmSeries(BeanProfile profile) {
        int[] count = new int[1];
        profile.output().families((name, type, help, template, metric) -> {
            for (int slot = 0; slot < template.slots(); slot++) {
                count[0] += name.matches("(jvm|process|jmx)_.*") && template.isLive(slot)
                        && metric.isPresent(slot) ? 1 : 0;
            }
        });
        return count[0];
    }
}

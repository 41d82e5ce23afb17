package dev.ringwatch.agent.beans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.prometheus.jmx.JmxCollector;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeDataSupport;
import javax.management.openmbean.CompositeType;
import javax.management.openmbean.OpenType;
import javax.management.openmbean.SimpleType;
import javax.management.openmbean.TabularDataSupport;
import javax.management.openmbean.TabularType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What random rules make of odd beans is what the real JMX exporter 1.0.1 makes of them. */
class RulesTest {
    private static final Pattern LABEL =
            Pattern.compile("([a-zA-Z0-9_]+)=\"((?:[^\"\\\\]|\\\\.)*)\",?");

    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    private final List<ObjectName> registered = new ArrayList<>();

    private void register(String name, TestBean bean) throws Exception {
        ObjectName objectName = new ObjectName(name);
        server.registerMBean(bean, objectName);
        registered.add(objectName);
    }

    @BeforeEach
    void beans() throws Exception {
        CompositeType pair = new CompositeType("pair", "a pair", new String[] {"used", "max"},
                new String[] {"u", "m"}, new OpenType<?>[] {SimpleType.LONG, SimpleType.LONG});
        CompositeType row = new CompositeType("row", "a row",
                new String[] {"key", "value", "type"}, new String[] {"k", "v", "t"},
                new OpenType<?>[] {SimpleType.STRING, SimpleType.DOUBLE, SimpleType.INTEGER});
        TabularDataSupport table = new TabularDataSupport(
                new TabularType("rows", "rows", row, new String[] {"key", "type"}));
        table.put(new CompositeDataSupport(row, new String[] {"key", "value", "type"},
                new Object[] {"a", 1.5, 1}));
        table.put(new CompositeDataSupport(row, new String[] {"key", "value", "type"},
                new Object[] {"b", -2.5, 1}));
        register("ringwatch.test:type=Table,keyspace=ks,scope=t,name=ReadLatency",
                new TestBean().with("Count", "long", () -> 5L)
                .with("99thPercentile", "double", () -> 123.25).with("RateUnit",
                "events/second").with("Mean", "double", () -> Double.NaN));
        register("ringwatch.test:type=Table,keyspace=ks,scope=t2,name=ReadTotalLatency",
                new TestBean().with("Count", "long", () -> 7_000_000L));
        register("ringwatch.test:type=ThreadPools,path=request,scope=ReadStage,name=PendingTasks",
                new TestBean().with("Value", "java.lang.Object", () -> 3));
        register("ringwatch.test:type=ThreadPools,path=request,"
                + "scope=MutationStage,name=PendingTasks",
                new TestBean().with("Value", "java.lang.Object", () -> 4));
        register("ringwatch.test:name=\"quoted, with=signs: and \\\"more\\\"\",type=Memory",
                new TestBean()
                .with("HeapUsage", "javax.management.openmbean.CompositeData", () -> {
                    try {
                        return new CompositeDataSupport(pair, new String[] {"used", "max"},
                                new Object[] {10L, 20L});
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }).with("Rows", "javax.management.openmbean.TabularData", () -> table)
                .with("Verbose", "boolean", () -> true)
                .with("StartTime", "java.util.Date", () -> new java.util.Date(1_700_000_000_123L))
                .with("Version", "5.0.9").with("Mode", "NORMAL: all")
                .with("ALLCaps_and2Digits", "int", () -> -1)
                .with("Nothing", "java.lang.Object", () -> null)
                .with("Throws", "long", () -> { throw new IllegalStateException("no"); })
                .with("List", "java.util.List", () -> List.of(1)));
        register("ringwatch.test.other:z=1", new TestBean().with("requests_total",
                "long", () -> 1L).with("Big", "java.math.BigInteger",
                () -> new java.math.BigInteger("123456789012345678901234567890")));
    }

    @AfterEach
    void gone() throws Exception {
        for (ObjectName name : registered) {
            server.unregisterMBean(name);
        }
    }

    private static final String[] PATTERNS = {"", ".*", "ringwatch.test<type=(\\w+)", "Count",
        "type=(\\S*)(?:, ((?!scope)\\S*)=(\\S*))?(?:, scope=(\\S*))?, name=(\\S*)><>(\\w+)",
        "<(.+)><(.*)>(\\w+): (.*)", "Version: (\\d+)\\.(\\d+)", "name=(?<n>\\w+)", "Value: 3",
        "Mode.*", "(a|b|c)+$", "Heap.*>used", "([A-Z]\\w+)Tasks><>Value", "nothing at all",
        "Mode: (\\w+)", "test.other<z=1><>(.*)", "^ringwatch\\.test<",
        "type=Table, keyspace=(.*), scope=(.*), name=(.*)><>(\\d+)thPercentile",
        "key=(\\w), type_=(\\w)"};
    private static final String[] TEMPLATES = {"x", "a_$1", "$1_$2_total", "$0", "x__y-z", "$3",
        "jobs_created", "9lives", "$1:$2", "esc\\\\$1", "UPPER_$1_info", ""};

    private static String rules(Random random) {
        StringBuilder yaml = new StringBuilder("includeObjectNames: ['ringwatch.test*:*']\n");
        yaml.append(random.nextInt(3) == 0 ? "lowercaseOutputName: true\n" : "")
                .append(random.nextInt(3) == 0 ? "lowercaseOutputLabelNames: true\n" : "");
        yaml.append(random.nextInt(4) == 0
                ? "excludeObjectNames: "
                        + "['ringwatch.test:type=ThreadPools,*', 'ringwatch.test.other:z=2']\n"
                : "");
        yaml.append(random.nextInt(4) == 0
                ? "excludeObjectNameAttributes: {'ringwatch.test.other:z=1': [Big]}\n" : "");
        int count = random.nextInt(5);
        yaml.append(count > 0 ? "rules:\n" : "");
        for (int i = 0; i < count; i++) {
            String pattern = PATTERNS[random.nextInt(PATTERNS.length)];
            int groups = Pattern.compile(pattern).matcher("").groupCount();
            yaml.append("- pattern: '").append(pattern).append("'\n");
            boolean named = random.nextInt(4) > 0;
            if (named) {
                yaml.append("  name: '").append(template(random, groups)).append("'\n");
                yaml.append(random.nextBoolean()
                        ? "" : "  help: 'help of " + template(random, groups) + "'\n");
                for (int l = random.nextInt(3), first = l; l > 0; l--) {
                    yaml.append(l == first ? "  labels:\n" : "").append("    'l")
                            .append(l).append(template(random, groups)).append("': '")
                            .append(template(random, groups)).append("'\n");
                }
            }
            yaml.append(random.nextInt(3) > 0 ? "" : "  type: "
                    + new String[] {"GAUGE", "COUNTER", "UNTYPED"}[random.nextInt(3)] + "\n");
            yaml.append(random.nextInt(4) > 0 ? "" : "  valueFactor: "
                    + new String[] {"0.000001", "-2", "many", "1e3"}[random.nextInt(4)] + "\n");
            yaml.append(random.nextInt(5) > 0 ? "" : "  value: '"
                    + new String[] {"1", "3.5", "$1", "none"}[
                            groups > 0 ? random.nextInt(4) : random.nextInt(2)] + "'\n");
            yaml.append(random.nextInt(4) > 0 ? "" : "  attrNameSnakeCase: true\n")
                    .append(random.nextInt(4) > 0 ? "" : "  cache: true\n");
        }
        return yaml.toString();
    }

    private static String template(Random random, int groups) {
        for (;;) {
            String template = TEMPLATES[random.nextInt(TEMPLATES.length)];
            if (!template.matches(".*\\$([1-9]).*")
                    || Integer.parseInt(template.replaceAll("^[^$]*\\$(\\d).*$", "$1")) <= groups
                    && (!template.contains("$2") || groups >= 2)) {
                return template;
            }
        }
    }

    @Test
    void randomRulesNameAsTheExporterDoes() throws Exception {
        long seed = System.nanoTime();
        System.out.println("RulesTest: seed " + seed);
        Random random = new Random(seed);
        int compared = 0;
        int refused = 0;
        for (int i = 0; i < 400; i++) {
            String yaml = rules(random);
            Map<String, Double> theirs = new TreeMap<>();
            Map<String, String> types = new TreeMap<>();
            try {
                theirs(yaml, theirs, types);
            } catch (RuntimeException e) {
                // a label that is none, twice the same one: it answers nothing at all
                refused++;
                continue;
            }
            try (BeansUnderTest ours = new BeansUnderTest(server, new HashMap<>(), yaml)) {
                ours.settle();
                String of = "seed " + seed + ", round " + i + ":\n" + yaml + ours.said;
                assertEquals(String.join("\n", lines(theirs)),
                        String.join("\n", lines(ours.samples())), of);
                Map<String, String> ourTypes = ours.types();
                ourTypes.keySet().retainAll(types.keySet());
                for (String name : types.keySet()) { // of several helps each of us takes one
                    assertEquals(types.get(name).split(" ")[0], ourTypes.get(name).split(" ")[0],
                            name + ", " + of);
                }
                compared += theirs.size();
            }
        }
        System.out.println("RulesTest: " + compared + " series are the exporter's, " + refused
                + " configurations made it answer nothing");
        assertTrue(compared > 2_000 && refused < 200,
                compared + " compared, " + refused + " refused");
    }

    private static List<String> lines(Map<String, Double> samples) {
        List<String> lines = new ArrayList<>();
        samples.forEach((series, value) -> lines.add(series + " " + value));
        return lines;
    }

    private static void theirs(String yaml, Map<String, Double> samples, Map<String, String> types)
            throws Exception {
        JmxCollector collector = new JmxCollector(
                new java.io.ByteArrayInputStream(yaml.getBytes(StandardCharsets.UTF_8)));
        io.prometheus.metrics.model.registry.PrometheusRegistry registry =
                new io.prometheus.metrics.model.registry.PrometheusRegistry();
        collector.register(registry);
        samples(collector.collect(), samples, types);
    }

    /** Name and sorted labels → value, and type by name. */
    static void samples(MetricSnapshots snapshots, Map<String, Double> samples,
            Map<String, String> types) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        new PrometheusTextFormatWriter(false).write(out, snapshots);
        for (String line : out.toString(StandardCharsets.UTF_8).split("\n")) {
            if (line.startsWith("# TYPE ")) {
                types.put(line.split(" ")[2], line.split(" ")[3]);
            } else if (!line.isEmpty() && !line.startsWith("#")) {
                int end = line.lastIndexOf(' ');
                String series = line.substring(0, end);
                int brace = series.indexOf('{');
                Map<String, String> labels = new TreeMap<>();
                if (brace >= 0) {
                    Matcher label = LABEL.matcher(series.substring(brace + 1, series.length() - 1));
                    while (label.find()) {
                        labels.put(label.group(1),
                                label.group(2).replace("\\\"", "\"").replace("\\\\", "\\"));
                    }
                }
                samples.put((brace < 0 ? series : series.substring(0, brace)) + labels,
                        Double.valueOf(line.substring(end + 1).replace("Inf", "Infinity")));
            }
        }
    }
}

package dev.ringwatch.agent.beans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import io.prometheus.jmx.JmxCollector;
import io.prometheus.jmx.common.http.HTTPServerFactory;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Configurations that are wrong: whatever the JMX exporter 1.0.1 in this JVM makes of them is what
 * is made of them here. Where it ends the JVM the profile is empty. Where it ends a scrape, the
 * attribute that it ends at is missing here, and all others are as in a configuration without.
 */
class FaultyRulesTest {
    private static final String NAMES =
            "includeObjectNames: ['ringwatch.test:*', 'org.apache.cassandra.metrics:*']\n";
    private static final String GOOD = "- {pattern: 'type=(\\w+), name=(\\w+)><>(\\w+)',"
            + " name: 'good_$1_$3', labels: {name: $2}}\n";
    private static final String ALL = NAMES + "rules:\n" + GOOD;
    private static final String WITHOUT_ONE = ALL.replace("rules:",
            "excludeObjectNameAttributes: {'ringwatch.test:type=A,name=One': [Count]}\nrules:");

    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    private final List<ObjectName> registered = new ArrayList<>();
    private final Map<String, Metric> metrics = new TreeMap<>();
    @TempDir
    private Path dir;

    private void register(String name, TestBean bean) throws Exception {
        registered.add(new ObjectName(name));
        server.registerMBean(bean, new ObjectName(name));
    }

    @BeforeEach
    void beans() throws Exception {
        register("ringwatch.test:type=A,name=One", new TestBean()
                .with("Count", "long", () -> 5L).with("Mode", "NORMAL").with("Mean", 1.5));
        register("ringwatch.test:type=A,name=Two", new TestBean().with("Count", "long", () -> 7L)
                .with("Errors500", 1).with("Istrue", false).with("v1x5", 2.5f));
        register("ringwatch.test:type=B,name=Three", new TestBean()
                .with("Value", "java.lang.Object", () -> -2).with("On", true));
        register("ringwatch.odd:type=B,name=Odd,a-b=1,a.b=2", new TestBean()
                .with("Depth", "int", () -> 3));
        String cassandra = "org.apache.cassandra.metrics:type=Cache,scope=Key,name=";
        register(cassandra + "Hits", new TestBean().with("Count", "long", () -> 11L));
        register(cassandra + "Rate", new TestBean().with("Value", "java.lang.Object", () -> 0.5));
        register(cassandra + "List",
                new TestBean().with("Value", "java.lang.Object", () -> List.of(1)));
        Counter hits = new Counter();
        hits.inc(11);
        metrics.put("org.apache.cassandra.metrics.Cache.Hits.Key", hits);
        metrics.put("org.apache.cassandra.metrics.Cache.Rate.Key", (Gauge<Double>) () -> 0.5);
        metrics.put("org.apache.cassandra.metrics.Cache.List.Key",
                (Gauge<List<Integer>>) () -> List.of(1));
    }

    @AfterEach
    void gone() throws Exception {
        for (ObjectName name : registered) {
            server.unregisterMBean(name);
        }
    }

    /** One of the exporter, and what it makes of a configuration as an agent. */
    private final class Theirs implements AutoCloseable {
        private final PrometheusRegistry registry = new PrometheusRegistry();
        private final AutoCloseable http;

        Theirs(String yaml) throws Exception {
            // one that it has read before would be read again
            File file = Files.createTempFile(dir, "theirs", ".yaml").toFile();
            Files.writeString(file.toPath(), yaml);
            new JmxCollector(file, JmxCollector.Mode.AGENT).register(registry);
            http = new HTTPServerFactory().createHTTPServer(InetAddress.getLoopbackAddress(), 0,
                    registry, file);
        }

        /** The second scrape's, since what it says of errors is of the one before. */
        Map<String, Double> samples() throws Exception {
            registry.scrape();
            Map<String, Double> all = new TreeMap<>();
            RulesTest.samples(registry.scrape(), all, new TreeMap<>());
            return all;
        }

        @Override
        public void close() throws Exception {
            http.close();
        }
    }

    private static Map<String, Double> ofBeans(Map<String, Double> samples) {
        Map<String, Double> all = new TreeMap<>(samples);
        all.keySet().removeIf(series -> series.startsWith("jmx_"));
        return all;
    }

    private static String text(Map<String, Double> samples) {
        StringBuilder text = new StringBuilder();
        samples.forEach((series, value) -> text.append(series + " " + value + "\n"));
        return text.toString();
    }

    private BeansUnderTest ours(String yaml) {
        BeansUnderTest ours = new BeansUnderTest(server, metrics, yaml);
        ours.settle();
        return ours;
    }

    private static double scrapeError(BeansUnderTest ours) {
        double[] error = {Double.NaN};
        ours.profile.output().families((name, type, help, template, metric) -> {
            if (name.equals("jmx_scrape_error")) {
                error[0] = Double.longBitsToDouble(metric.value(0));
            }
        });
        return error[0];
    }

    private static boolean says(List<String> said, String what) {
        return said.stream().anyMatch(line -> line.contains(what));
    }

    /** It tolerates these, and so do we. What we say of them, if anything, is behind an arrow. */
    @Test
    void tolerated() throws Exception {
        List<String> cases = new ArrayList<>(List.of(
                // a wrong rule that nothing reaches
                ALL + "- {pattern: 'type=(\\w+), name=(\\w+)><>(\\w+)()', name: 'x_$6'} -> rule 2: "
                        + "\"x_$6\" names group 6, the pattern has 4; correct it",
                ALL + "- {pattern: 'no such', name: '$1', labels: {'$2': '$3'}} -> names group 1",
                ALL + "- {pattern: 'no such', name: a, value: '$1'} -> names group 1",
                ALL + "- {pattern: 'no such', name: a, help: '$1'} -> names group 1",
                ALL + "- {pattern: 'no such', name: a, labels: {b: '$1'}} -> names group 1",
                ALL + "- {pattern: 'no such', name: a, labels: {b: }} -> the label b has no text",
                ALL + "- {pattern: 'no such', name: 'a$'} -> ends with $",
                ALL + "- {pattern: 'no such', name: 'a\\'} -> ends with \\",
                ALL + "- {pattern: 'no such', name: 'a$b'} -> comes a group's number",
                ALL + "- {pattern: 'no such', name: 'a${b}'} -> which the pattern has not",
                ALL + "- {pattern: 'no such', name: 'a${1b}'} -> after ${",
                ALL + "- {pattern: 'no such', name: 'a${b'} -> after ${",
                ALL + "- {pattern: 'no such', type: } -> its type is empty",
                // the value is none, so nothing else of the rule is looked at
                NAMES + "rules: [{pattern: '<>Count', name: 'x_$6', value: many}] -> group 6",
                NAMES + "rules: [{pattern: '<>Count', name: '', help: '$6'}] -> group 6",
                NAMES + "rules: [{pattern: '<>(?<n>\\w+)$10', name: 'x_${n}$10'}]",
                NAMES + "rules: [{pattern: '<>(Count)', name: 'x$10'}]",
                // keys
                "later: 1\n1: 2\n~: 3\n[a, b]: c\nmetricCustomizers: []\n" + ALL
                        + "-> \"metricCustomizers\" is ignored, as the JMX exporter 1.0.1",
                ALL.replace("{pattern", "{later: 1, pattern") + "-> rule 1: unknown key \"later\"",
                ALL.replace("rules", "rules: []\nrules") + "# twice: the last one counts",
                NAMES + "rules: [{pattern: Count, name: a, name: b, labels: {x: y, x: z}}]",
                NAMES + "x: &a {type: GAUGE, name: a}\ny: &b {pattern: Mean, name: b}\n"
                        + "rules: [{<<: *a, pattern: Count}, {<<: [*a, *b]}]",
                "startDelaySeconds:\n".replace("\n", " 0\n") + ALL + "-> startDelaySeconds",
                "excludeJvmMetrics: maybe\n" + ALL + "-> excludeJvmMetrics is ignored",
                "jmxUrl: ''\nusername: \npassword: x\nssl: off\n" + ALL,
                "autoExcludeObjectNameAttributes: yes\nincludeObjectNameAttributes: 1\n" + ALL,
                // rules
                NAMES + "rules: [] -> it has no rules",
                NAMES + "rules: [{}]",
                NAMES.replace("'org", "#'org").replace("]", "\n]") + "# the default rule",
                NAMES + "rules: [{pattern: }]",
                NAMES + "rules: [{pattern: 500, name: 'x'}]",
                NAMES + "rules: [{pattern: 0764, name: 'x', value: 0x10}]",
                NAMES + "excludeObjectNames: ['*:type=B,*', '*:name=One,*']\n"
                        + "rules: [{pattern: yes, name: 'x'}, {pattern: 1.50, name: y}]",
                NAMES + "rules: [{pattern: [C, M], name: 'x', labels: {l: a}}]",
                NAMES + "rules: [{pattern: '<>Count', name: , help: , type: gauge}]",
                NAMES + "rules: [{pattern: '<>Count', name: x, help: , labels: {}, value: }]",
                NAMES + "rules: [{pattern: '<>Count', name: x, value: 1e3, valueFactor: .inf}]",
                NAMES + "rules: [{pattern: '<>Count', name: x, value: 1:30, valueFactor: many}]",
                NAMES + "rules: [{pattern: '<>Count', name: x, valueFactor: }]",
                NAMES + "rules: [{pattern: '<>(.*)', name: '8 %$1', labels: {'9 %': '', a: b}}]",
                NAMES + "rules: [{pattern: '<>(\\w+)', name: 'x_total', type: METER}]",
                NAMES + "rules: [{pattern: '<>(\\w+)', name: x, cache: true,"
                        + " attrNameSnakeCase: true}]",
                NAMES + "lowercaseOutputName: true\nlowercaseOutputLabelNames: on\nrules: ["
                        + "{pattern: 'e=(\\w+)><>(\\w+)', name: 'X_$2', labels: {'N_$1': '$1'}}]",
                // two rules, one series
                NAMES + "rules: [{pattern: '<>Count', name: x, type: COUNTER},"
                        + " {pattern: 'B.*Value', name: x, type: COUNTER, valueFactor: -1}]",
                NAMES + "rules: [{pattern: '<>Count', name: x}, {pattern: '<>Mean', name: x_total,"
                        + " type: GAUGE}]",
                // object names
                ALL + "whitelistObjectNames: [5, 'a:']\n# there is a newer list, so this is unseen",
                ALL + "blacklistObjectNames: ['ringwatch.test:type=A,*', '*:type=B,name=Three']",
                ALL + "excludeObjectNames: []\nblacklistObjectNames: 5",
                "whitelistObjectNames: ['ringwatch.test:type=A,*', '']\n"
                        + "blacklistObjectNames: ['java*:*', 'J*:*', 'jdk*:*', 'com.*:*', '*o*:*']",
                "includeObjectNames: [] -> it includes no beans",
                ALL + "excludeObjectNameAttributes: {'ringwatch.test:*': [Count],"
                        + " 'ringwatch.test:name=Two,type=A': [~, Count], 'a:b=c': []}"));
        for (String each : cases) {
            String[] parts = each.split("-> ", 2);
            String of = each + "\nwe say ";
            try (Theirs theirs = new Theirs(parts[0]); BeansUnderTest ours = ours(parts[0])) {
                Map<String, Double> samples = theirs.samples();
                assertEquals(0.0, samples.get("jmx_scrape_error{}"), of + ours.said);
                assertEquals(text(ofBeans(samples)), text(ours.samples()), of + ours.said);
                assertEquals(0, scrapeError(ours), of + ours.said);
                assertTrue(parts.length == 1 || says(ours.said, parts[1]), of + ours.said);
                assertFalse(says(ours.said, "profile is empty"), of + ours.said);
            }
        }
    }

    /** It ends the JVM, or throws at start, which ends it. */
    @Test
    void refused() throws Exception {
        List<String> cases = List.of(
                "- a\n- b", "text", "rules:\n\t- {}", "a: b: c", "rules: [", "--- {}\n--- {}",
                "!foo {}", "rules: [{name: !bar x}]", "x: !!int y", "<<: 5\n" + ALL,
                "rules:", "rules: 5", "rules: {}", "rules: [5]", "rules: [~]", "rules: [[]]",
                "rules: [{name: x}]", "rules: [{pattern: a, help: b}]",
                "rules: [{pattern: a, labels: {}}]", "rules: [{pattern: '('}]",
                "rules: [{pattern: 'a{2,1}'}]", "rules: [{pattern: {a: b}}]",
                "rules: [{pattern: a, name: 5}]", "rules: [{pattern: a, name: [b]}]",
                "rules: [{pattern: a, name: 2001-01-01}]",
                "rules: [{pattern: a, name: b, help: 5}]", "rules: [{pattern: a, type: 5}]",
                "rules: [{pattern: a, name: b, labels: }]",
                "rules: [{pattern: a, name: b, labels: [c]}]",
                "rules: [{pattern: a, name: b, labels: {c: 5}}]",
                "rules: [{pattern: a, name: b, labels: {c: yes}}]",
                "rules: [{pattern: a, name: b, labels: {on: d}}]",
                "rules: [{pattern: a, name: b, labels: {c: d, 1: e}}]",
                "rules: [{pattern: a, name: b, labels: {~: e}}]",
                "rules: [{attrNameSnakeCase: 5}]", "rules: [{attrNameSnakeCase: }]",
                "rules: [{cache: maybe}]", "rules: [{cache: }]",
                "lowercaseOutputName: ", "lowercaseOutputName: 'true'",
                "lowercaseOutputLabelNames: 1", "autoExcludeObjectNameAttributes: ",
                "ssl: ", "ssl: {a: b}", "username: 5", "password: 5",
                "startDelaySeconds: x", "startDelaySeconds: 1.5", "startDelaySeconds: 5000000000",
                "jmxUrl: ", "jmxUrl: 5", "jmxUrl: ''\nhostPort: ''",
                "includeObjectNames: ", "includeObjectNames: 'a:*'", "includeObjectNames: [5]",
                "includeObjectNames: [~]", "includeObjectNames: ['a']",
                "includeObjectNames: ['a:b=c,b=d']", "whitelistObjectNames: ['a:']",
                "excludeObjectNames: ", "excludeObjectNames: {}", "blacklistObjectNames: ['a']",
                "blacklistObjectNames: ", "excludeObjectNameAttributes: ",
                "excludeObjectNameAttributes: []", "excludeObjectNameAttributes: {a: [b]}",
                "excludeObjectNameAttributes: {'a:b=c': }",
                "excludeObjectNameAttributes: {'a:b=c': d}",
                "excludeObjectNameAttributes: {'a:b=c': [5]}",
                "excludeObjectNameAttributes: {5: [b]}", "", "# nothing", "~");
        for (String each : cases) {
            boolean ends = false;
            try (Theirs theirs = new Theirs(each)) {
                ends = false;
            } catch (Throwable atStart) {
                ends = true;
            }
            assertTrue(ends, "the exporter takes " + each);
            isEmpty(each);
        }
    }

    private void isEmpty(String yaml) {
        try (BeansUnderTest ours = ours(yaml)) {
            assertEquals(Map.of(), ours.samples(), yaml);
            List<String> said = ours.said;
            assertTrue(says(said, "correct it: until then this profile is empty"), yaml + said);
            assertTrue(said.get(said.size() - 1).matches("test: [ -~]{20,300}"), yaml + said);
        }
    }

    /** These end the JVM without an exception: they are tried in another one. */
    @Test
    void anotherProcessIsRefused() throws Exception {
        String path = System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path"));
        String jar = Arrays.stream(path.split(File.pathSeparator))
                .filter(entry -> entry.contains("jmx_prometheus_javaagent")).findFirst()
                .orElseThrow();
        Path file = dir.resolve("agent.yaml");
        for (String each : List.of("jmxUrl: x", "hostPort: localhost:7199", "hostPort: ", ALL)) {
            Files.writeString(file, each);
            Process java = new ProcessBuilder(
                    System.getProperty("java.home") + "/bin/java", "-Xmx64m",
                    "-javaagent:" + jar + "=127.0.0.1:0:" + file, "-cp", path,
                    Ends.class.getName()).redirectErrorStream(true).start();
            String says = new String(java.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertTrue(java.waitFor(5, TimeUnit.MINUTES), each);
            assertEquals(each.equals(ALL), java.exitValue() == 0, each + "\n" + says);
            if (!each.equals(ALL)) {
                isEmpty(each);
            }
        }
    }

    /** A program that does nothing. */
    static final class Ends {
        private Ends() {
        }

        public static void main(String[] args) {
            System.exit(0);
        }
    }

    /**
     * It ends each scrape where such a rule matches, and has what it read before that: which that
     * is hangs on the beans' order. We leave out the attribute alone, and say that there was an
     * error as it does.
     */
    @Test
    void endedScrapes() throws Exception {
        String one = "type=(A), name=(One)><>Count";
        List<String> rules = List.of(
                "{pattern: '" + one + "', name: 'x_$6'}",
                "{pattern: '" + one + "', name: x, help: '$6'}",
                "{pattern: '" + one + "', name: x, value: '1$6'}",
                "{pattern: '" + one + "', name: x, labels: {a: '$6'}}",
                "{pattern: '" + one + "', name: x, labels: {'$6': a}}",
                "{pattern: '" + one + "', name: x, labels: {'': '$6'}}",
                "{pattern: '" + one + "', name: x, labels: {a: }}",
                "{pattern: '" + one + "', name: 'x$'}", "{pattern: '" + one + "', name: 'x\\'}",
                "{pattern: '" + one + "', name: 'x$y'}", "{pattern: '" + one + "', name: '${y}'}",
                "{pattern: '" + one + ": 5', name: 'x_$6'}",
                "{pattern: '" + one + "', cache: true, attrNameSnakeCase: true, name: 'x_$6'}");
        for (String rule : rules) {
            ended(ALL.replace("rules:\n", "rules:\n- " + rule.replace("Count', cache",
                    "count', cache") + "\n"), WITHOUT_ONE);
        }
        ended(NAMES + "rules: [{value: 1}]", NAMES + "rules: []");
        String list = "name=List><>Value', name: 'x_$6'}\n";
        String rate = list.replace("List", "Rate");
        ended(ALL.replace("rules:\n", "rules:\n- {pattern: '" + rate), ALL.replace("rules:",
                "excludeObjectNames: ['*:name=Rate,*']\nrules:"));
        String text = ALL.replace("rules:\n", "rules:\n- {pattern: '<>Mode', name: 'x_$6'}\n");
        ended(text, ALL);
        // a list is no value, so no rule is asked about it
        String ofList = ALL.replace("rules:\n", "rules:\n- {pattern: '" + list);
        try (Theirs theirs = new Theirs(ofList); BeansUnderTest ours = ours(ofList)) {
            assertEquals(text(ofBeans(theirs.samples())), text(ours.samples()), ofList);
            assertEquals(0, scrapeError(ours), ours.said.toString());
        }
    }

    private void ended(String yaml, String without) throws Exception {
        try (Theirs theirs = new Theirs(yaml); Theirs whole = new Theirs(without);
                BeansUnderTest ours = ours(yaml)) {
            Map<String, Double> samples = theirs.samples();
            String of = yaml + ours.said;
            assertEquals(1.0, samples.get("jmx_scrape_error{}"), of);
            assertEquals(1, scrapeError(ours), of);
            assertEquals(text(ofBeans(whole.samples())), text(ours.samples()), of);
            assertTrue(ours.samples().entrySet().containsAll(ofBeans(samples).entrySet()), of);
            assertEquals(1, ours.said.stream().filter(s -> s.contains("cannot name")).count(), of);
        }
    }

    /** It answers nothing at all to a scrape with such a series; we leave out that one. */
    @Test
    void unansweredScrapes() throws Exception {
        unanswered(odd("labels: {'a:b': b}"), WITHOUT_ONE, "there cannot be a label a:b");
        unanswered(odd("labels: {a-b: c, a.b: d}"), WITHOUT_ONE, "two labels of one name");
        unanswered("lowercaseOutputLabelNames: on\n" + odd("labels: {a: c, A: d}"),
                WITHOUT_ONE, "two labels of one name");
        unanswered("includeObjectNames: ['ringwatch.test:*', 'ringwatch.odd:*']",
                "includeObjectNames: ['ringwatch.test:*']", "two labels of one name");
        // these are shown, as what they are
        unanswered(odd("type: "), odd("type: UNTYPED"), "its type is empty");
        unanswered(odd("type: COUNTER, valueFactor: -1"), odd("valueFactor: -1"), "");
    }

    private static String odd(String rule) {
        return ALL.replace("rules:\n", "rules:\n- {pattern: 'name=One><>Count', name: x, " + rule
                + "}\n");
    }

    private void unanswered(String yaml, String without, String says) throws Exception {
        boolean answers = true;
        try (Theirs theirs = new Theirs(yaml)) {
            theirs.samples();
        } catch (RuntimeException atScrape) {
            answers = false;
        }
        assertFalse(answers, yaml);
        try (Theirs whole = new Theirs(without); BeansUnderTest ours = ours(yaml)) {
            Map<String, Double> samples = ofBeans(whole.samples());
            assertNotEquals(Map.of(), samples);
            String plain = text(ours.samples()).replace("x_total{", "x{");
            assertEquals(text(samples), plain, yaml + ours.said);
            assertTrue(says.isEmpty() || says(ours.said, says), yaml + ours.said);
        }
    }
}

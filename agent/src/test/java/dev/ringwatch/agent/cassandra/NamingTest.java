package dev.ringwatch.agent.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.Dictionary;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import dev.ringwatch.agent.host.DiskSource;
import dev.ringwatch.agent.host.JvmSource;
import dev.ringwatch.agent.host.NetworkSource;
import dev.ringwatch.agent.host.OsSource;
import dev.ringwatch.agent.host.PressureSource;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The dictionary of metrics describes what the agent makes: names, kinds and units. */
class NamingTest {
    @Test
    void whatCassandraCallsMetricsBecomesTheDictionarysNames() throws Exception {
        StringBuilder wrong = new StringBuilder();
        int checked = 0;
        for (Dictionary.Entry entry : Dictionary.ofAgents()) {
            if (entry.cassandra.isEmpty()) {
                continue;
            }
            checked++;
            String name = entry.cassandra.substring(entry.cassandra.lastIndexOf('=') + 1);
            if (!isMade(entry, name)) {
                wrong.append(entry.name).append(" is not what becomes of ").append(name)
                        .append(", or no ").append(entry.kind).append(" in ").append(entry.unit)
                        .append('\n');
            }
        }
        assertEquals("", wrong.toString());
        assertTrue(checked > 440, checked + " entries of Cassandra's");
    }

    private static boolean isMade(Dictionary.Entry entry, String name) {
        for (Naming.Source source : Naming.Source.values()) {
            Naming.Rule rule = Naming.rule(entry.type, name, source, -6);
            if (rule != null && rule.name.equals(entry.name) && rule.unit.equals(entry.unit)
                    && kind(source, rule).equals(entry.kind)) {
                return true;
            }
        }
        return false;
    }

    private static String kind(Naming.Source source, Naming.Rule rule) {
        switch (source) {
            case COUNT: case LONG_GAUGE: return rule.counter ? "counter" : "gauge";
            case DOUBLE_GAUGE: return "gauge_double";
            case BUCKET_GAUGE: return "gauge_histogram";
            default: return "histogram";
        }
    }

    @Test
    void theMachineAndTheJvmAreDescribed() throws Exception {
        Model model = new Model();
        new OsSource(model);
        new PressureSource(model);
        new NetworkSource(model);
        new DiskSource(model, List.of("/"));
        new JvmSource(model);
        Map<String, Dictionary.Entry> entries = Dictionary.read();
        Set<String> types = new TreeSet<>();
        Set<String> made = new TreeSet<>();
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            types.add(template.type);
            for (int m = 0; m < template.metricCount(); m++) {
                Metric metric = template.metric(m);
                made.add(metric.name);
                Dictionary.Entry entry = entries.get(metric.name);
                assertTrue(entry != null && entry.type.equals(template.type)
                        && entry.kind.equals(word(metric.kind)) && entry.unit.equals(metric.unit),
                        metric.name + " is not described as a " + metric.kind + " of "
                        + template.type);
            }
        }
        for (Dictionary.Entry entry : entries.values()) {
            assertTrue(!types.contains(entry.type) || made.contains(entry.name),
                    entry.name + " is described, and nothing gives it");
        }
    }

    private static String word(Kind kind) {
        return kind.name().toLowerCase(Locale.ROOT);
    }
}

package dev.ringwatch.agent.beans;

import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import dev.ringwatch.agent.cassandra.Inventory;
import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.management.MBeanServer;

/** Profiles of beans of some server, pass by pass, in the test's own thread. */
final class BeansUnderTest implements AutoCloseable {
    /** Without {@link #named}. */
    final List<String> said = new ArrayList<>();
    /** What is said when all beans are named. */
    final List<String> named = new ArrayList<>();
    final Beans beans;
    final BeanProfile profile;
    final Model model = new Model();
    private final Inventory inventory = new Inventory(new MetricRegistry(), new Model(),
            Filters.NONE, 1000, line -> { });
    int passesPerMinute = 1;
    private long passes;

    BeansUnderTest(MBeanServer server, Map<String, Metric> registry, String yaml) {
        this(server, registry, new BeanProfile("test", BeanProfile.Kind.JMX_EXPORTER, say -> yaml));
    }

    BeansUnderTest(MBeanServer server, Map<String, Metric> registry, BeanProfile profile) {
        this.profile = profile;
        beans = new Beans(List.of(profile), server, registry, bean -> null, Filters.NONE,
                line -> (line.startsWith(Beans.ALL_NAMED) ? named : said).add(line),
                (work, name) -> null);
        beans.showCosts(model);
    }

    /** All that a pass finds, and what the reading thread does for the next. */
    void pass() {
        beans.pass(++passes, passesPerMinute, inventory);
        if (beans.reader() != null) {
            beans.reader().turn();
        }
    }

    /** Passes until everything has been named and read. */
    void settle() {
        for (int i = 0; i < 3 || !beans.isSettled(); i++) {
            pass();
        }
        pass();
    }

    /** Name and sorted labels → value, without what is said of the JVM. */
    Map<String, Double> samples() {
        Map<String, Double> all = new TreeMap<>();
        profile.output().families((name, type, help, template, metric) -> {
            for (int slot = 0; slot < template.slots(); slot++) {
                if (template.isLive(slot) && metric.isPresent(slot)
                        && !name.matches("(jvm|process|jmx)_.*")) {
                    all.put(name + labels(template, slot),
                            Double.longBitsToDouble(metric.value(slot)));
                }
            }
        });
        return all;
    }

    Map<String, String> types() {
        Map<String, String> all = new TreeMap<>();
        profile.output().families((name, type, help, template, metric) -> {
            if (!name.matches("(jvm|process|jmx)_.*")) {
                all.put(name, type.toLowerCase(java.util.Locale.ROOT) + " " + help);
            }
        });
        return all;
    }

    private static Map<String, String> labels(Template template, int slot) {
        Map<String, String> labels = new TreeMap<>();
        for (int l = 0; l < template.labelCount(); l++) {
            labels.put(template.label(l), template.labelValue(slot, l));
        }
        return labels;
    }

    @Override
    public void close() {
        beans.close();
    }
}

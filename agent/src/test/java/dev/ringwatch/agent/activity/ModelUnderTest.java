package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Assertions;

/** What a model says, as a frame would: a value for each metric and entity. */
final class ModelUnderTest {
    final Model model = new Model();

    /** By name and label values, joined by bars. */
    Map<String, String> values() {
        Map<String, String> values = new TreeMap<>();
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            Set<String> entities = new HashSet<>();
            for (int slot = 0; slot < template.slots(); slot++) {
                if (!template.isLive(slot)) {
                    continue;
                }
                String labels = String.join("|", template.entity(slot));
                Assertions.assertTrue(entities.add(labels), "two entities " + labels);
                for (String value : template.entity(slot)) {
                    hold(value);
                }
                for (int m = 0; m < template.metricCount(); m++) {
                    Metric metric = template.metric(m);
                    if (metric.isPresent(slot)) {
                        values.put(labels.isEmpty() ? metric.name : metric.name + '|' + labels,
                                text(metric, slot));
                    }
                }
            }
        }
        return values;
    }

    int entities(String type) {
        for (int t = 0; t < model.templateCount(); t++) {
            if (model.template(t).type.equals(type)) {
                return model.template(t).liveCount();
            }
        }
        return 0;
    }

    /** FORMAT.md's bound, and that a terminal is not led astray. */
    private static void hold(String label) {
        Assertions.assertFalse(label.isEmpty());
        Assertions.assertTrue(label.getBytes(java.nio.charset.StandardCharsets.UTF_8).length
                <= 1024, label);
        Assertions.assertTrue(label.codePoints().noneMatch(c -> Character.isISOControl(c)
                || c >= 0xD800 && c <= 0xDFFF), () -> Arrays.toString(label.toCharArray()));
    }

    private static String text(Metric metric, int slot) {
        return metric.kind == Kind.STRING ? metric.text(slot)
                : metric.kind == Kind.GAUGE_DOUBLE
                ? Double.toString(Double.longBitsToDouble(metric.value(slot)))
                : Long.toString(metric.value(slot));
    }
}

package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;

/** The names of frames, as they are: METRICS.md. */
final class OurNames {
    private OurNames() {}

    static void add(Layout layout, Model model) {
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            if (template.sent) {
                continue;
            }
            List<Label> labels = labels(template);
            for (int m = 0; m < template.metricCount(); m++) {
                Metric metric = template.metric(m);
                layout.add(metric.name, type(metric.kind), metric.unit, Help.of(metric),
                        new Family.Source(template, metric, labels, 0, 1));
            }
        }
    }

    static List<Label> labels(Template template) {
        List<Label> labels = new ArrayList<>();
        for (int i = 0; i < template.labelCount(); i++) {
            // frames have no label quantile: it is an entity's under another name there
            String name = template.label(i).equals("recorded_quantile") ? "quantile"
                    : template.label(i);
            labels.add(Label.of(name, i, Label.Form.PLAIN));
        }
        return labels;
    }

    private static Family.Type type(Kind kind) {
        switch (kind) {
            case COUNTER: return Family.Type.COUNTER;
            case HISTOGRAM: return Family.Type.HISTOGRAM;
            case GAUGE_HISTOGRAM: return Family.Type.GAUGE_HISTOGRAM;
            default: return Family.Type.GAUGE;
        }
    }
}

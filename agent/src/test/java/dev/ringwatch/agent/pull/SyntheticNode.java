package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.Dictionary;
import dev.ringwatch.agent.frame.Bounds;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.io.IOException;
import java.util.Locale;

/**
 * A 5.0 node with every metric of the dictionary and as many tables as wanted; of a table's
 * histograms six count.
 */
final class SyntheticNode {
    static final int COUNTING = 6;

    final Model model = new Model();
    Template table;
    private final Bounds bounds;

    SyntheticNode(int tables) throws IOException {
        model.place("dc1", "rack \"1\"");
        model.fact("address", "10.0.0.7:7000");
        long[] uppers = new long[127];
        for (int i = 0; i < uppers.length; i++) {
            uppers[i] = i == 0 ? 1 : Math.max(uppers[i - 1] + 1, Math.round(uppers[i - 1] * 1.2));
        }
        bounds = model.bounds(-6, uppers);
        Template template = null;
        for (Dictionary.Entry entry : Dictionary.ofAgents()) {
            if (!entry.isIn("5.0")) {
                continue;
            }
            if (template == null || !template.type.equals(entry.type)) {
                template = model.add(new Template(entry.type, entry.labels));
                table = entry.type.equals("table") ? template : table;
            }
            metric(template, entry.name, Kind.valueOf(entry.kind.toUpperCase(Locale.ROOT)),
                    entry.unit);
        }
        for (int t = 0; t < model.templateCount(); t++) {
            int entities = model.template(t) == table ? tables : 3;
            for (int e = 0; e < entities; e++) {
                entity(model.template(t), e);
                if (model.template(t).labelCount() == 0) {
                    break;
                }
            }
        }
        move(1);
    }

    private void metric(Template template, String name, Kind kind, String unit) {
        boolean histogram = kind == Kind.HISTOGRAM || kind == Kind.GAUGE_HISTOGRAM;
        template.add(histogram ? Metric.histogram(name, kind, unit, unit.equals("seconds") ? -6 : 0,
                bounds, name.contains("latency")) : Metric.scalar(name, kind, unit, 0));
    }

    private static void entity(Template template, int number) {
        String[] values = new String[template.labelCount()];
        for (int i = 0; i < values.length; i++) {
            values[i] = template.label(i) + "_" + number;
        }
        int slot = template.addEntity(null, values);
        for (int m = 0; m < template.metricCount(); m++) {
            Metric metric = template.metric(m);
            if (metric.bounds != null) {
                metric.setEmpty(slot);
            } else if (metric.kind == Kind.STRING) {
                metric.setText(slot, "text");
            } else if (metric.kind == Kind.GAUGE_DOUBLE) {
                metric.setDouble(slot, 0);
            } else {
                metric.set(slot, 0);
            }
        }
    }

    /** Every table is written and read. */
    void move(int round) {
        for (int slot = 0; slot < table.slots(); slot++) {
            move(slot, round);
        }
        model.passed();
    }

    void move(int slot, int round) {
        int histograms = 0;
        for (int m = 0; m < table.metricCount(); m++) {
            Metric metric = table.metric(m);
            if (metric.bounds != null) {
                if (histograms++ < COUNTING) {
                    long[] counts = metric.writeBuckets(slot);
                    for (int b = 40; b < 52; b++) {
                        counts[b] += (slot * 31L + b * 17L) % 50 + 1;
                    }
                    if (metric.hasSum) {
                        metric.setSum(slot, round * 77_777L * (slot + 1));
                    }
                }
            } else if (metric.kind == Kind.GAUGE_DOUBLE) {
                metric.setDouble(slot, 1.0 / (round + slot + m));
            } else if (m % 2 == 0) {
                metric.set(slot, round * 1_000_003L * (slot + m));
            }
        }
    }
}

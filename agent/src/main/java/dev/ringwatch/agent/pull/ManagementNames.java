package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The names of the metrics collector in K8ssandra's management API, with the relabelling that it
 * ships. management_api.txt says which they are. Where the relabelling knows no labels of an
 * entity, its values stand in the name, so there is a family for each entity.
 */
final class ManagementNames {
    private static final String EXPORTER = "K8ssandra's management API";
    private static final String PREFIX = "org_apache_cassandra_metrics_";
    private static final String[] POD = {"pod_name", "POD_NAME", "node_name", "NODE_NAME"};

    /** Of management_api.txt; fields without the first word. */
    private static final Map<String, String[]> NAMED = new HashMap<>();
    private static final Map<String, String[]> RAW = new HashMap<>();
    private static final List<String[]> OTHERS = new ArrayList<>();

    static {
        for (String line : Profile.resource("management_api.txt").split("\n")) {
            String[] words = line.split(" ", 2);
            String[] fields = words.length < 2 ? words : words[1].split(" ");
            switch (words[0]) {
                case "named":
                    NAMED.put(fields[0], fields);
                    break;
                case "raw":
                    RAW.put(fields[0], fields);
                    break;
                case "other":
                    OTHERS.add(fields);
                    break;
                default: // comments
            }
        }
    }

    private ManagementNames() {}

    /** Changes with the entities that have families of their own. */
    static String shape(Model model) {
        StringBuilder shape = new StringBuilder(model.node());
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            if (template.labelCount() > 0 && !template.sent && !NAMED.containsKey(template.type)) {
                shape.append(' ').append(template.slots()).append('/').append(template.liveCount());
            }
        }
        return shape.toString();
    }

    private static List<Label> node(Layout layout, Model model) {
        List<Label> node = new ArrayList<>(List.of(Label.constant("host", model.node()),
                Label.constant("instance", Label.host(model.fact("address"))),
                Label.constant("cluster", layout.cluster),
                Label.constant("datacenter", model.datacenter()),
                Label.constant("rack", model.rack())));
        for (int i = 0; i < POD.length; i += 2) {
            String value = System.getenv(POD[i + 1]);
            if (value != null) {
                node.add(Label.constant(POD[i], value));
            }
        }
        return node;
    }

    static void add(Layout layout, Model model) {
        List<Label> node = node(layout, model);
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            for (int m = 0; m < template.metricCount(); m++) {
                Metric metric = template.metric(m);
                if (metric.origin == null || metric.kind == Kind.STRING) {
                    continue;
                }
                String[] named = NAMED.getOrDefault(template.type + '/' + metric.origin,
                        NAMED.get(template.type));
                if (named != null) {
                    List<Label> labels = labels(named, 2);
                    labels.addAll(node);
                    all(layout, template, metric, null, labels, named[1] + '.' + metric.origin);
                    continue;
                }
                for (int slot = 0; slot < template.slots(); slot++) {
                    if (template.isLive(slot)) {
                        raw(layout, template, metric, template.entity(slot), node);
                    }
                }
            }
        }
        for (String[] fields : OTHERS) {
            other(layout, model, fields, node);
        }
    }

    private static void raw(Layout layout, Template template, Metric metric, String[] entity,
            List<Label> node) {
        String[] raw = RAW.getOrDefault(template.type, new String[] {"",
            template.type.replaceFirst("^other_", ""),
            entity.length == 0 ? "NAME" : "NAME.VALUES"});
        List<String> values = new ArrayList<>();
        for (int l = 0; l < entity.length; l++) {
            if (!entity[l].isEmpty()) {
                values.add(template.label(l).equals("peer") ? Label.jmx(entity[l]) : entity[l]);
            }
        }
        all(layout, template, metric, entity, node, raw[1] + '.'
                + raw[2].replace("VALUES", String.join(".", values))
                .replace("NAME", metric.origin));
    }

    /** All that is shown of one metric. */
    private static void all(Layout layout, Template template, Metric metric, String[] only,
            List<Label> labels, String registered) {
        String name = PREFIX + clean(registered);
        Family.Source source = new Family.Source(template, metric, labels, -metric.exponent,
                "PercentRepaired".equals(metric.origin) ? 100 : 1);
        source.only = only;
        if (metric.bounds == null) {
            boolean meter = metric.originMeters;
            layout.add(meter ? name + "_total" : name, meter ? Family.Type.COUNTER
                    : Family.Type.GAUGE, "", Help.otherName(EXPORTER, metric, false), source);
            return;
        }
        if (!metric.originTimes) {
            source = new Family.Source(template, metric, labels, -metric.bounds.exponent, 1);
            source.only = only;
            layout.add(name, Family.Type.SUMMARY, "", Help.otherName(EXPORTER, metric, true),
                    source);
            return;
        }
        part(layout, source, name + "_bucket", Family.Part.BUCKETS);
        part(layout, source, name + "_count", Family.Part.COUNT);
        if (metric.hasSum) {
            part(layout, source, name + "_sum", Family.Part.SUM);
            part(layout, source, PREFIX + clean(registered.replace("Latency", "TotalLatency")),
                    Family.Part.SUM);
        }
    }

    private static void part(Layout layout, Family.Source of, String name, Family.Part part) {
        Family.Source source = new Family.Source(of.template, of.metric, of.labels, 6, 1);
        source.only = of.only;
        source.part = part;
        layout.add(name, name.endsWith("_latency") ? Family.Type.GAUGE : Family.Type.UNTYPED, "",
                Help.otherName(EXPORTER, of.metric, false), source);
    }

    private static void other(Layout layout, Model model, String[] fields, List<Label> node) {
        String[] of = fields[2].split("/");
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            for (int m = 0; m < template.metricCount() && template.type.equals(of[0]); m++) {
                Metric metric = template.metric(m);
                if (metric.name.equals(of[1])) {
                    List<Label> labels = labels(fields, 4);
                    labels.addAll(node);
                    layout.add(fields[1], fields[0].equals("c") ? Family.Type.COUNTER
                            : fields[0].equals("g") ? Family.Type.GAUGE : Family.Type.UNTYPED, "",
                            Help.otherName(EXPORTER, metric, false), new Family.Source(template,
                            metric, labels, Integer.parseInt(fields[3]), 1));
                }
            }
        }
    }

    /** {@code keyspace/PLAIN} is the entity's value, {@code area=heap} says its own. */
    private static List<Label> labels(String[] fields, int from) {
        List<Label> labels = new ArrayList<>();
        for (int i = from; i < fields.length; i++) {
            int constant = fields[i].indexOf('=');
            String[] label = fields[i].split("/");
            labels.add(constant > 0 ? Label.constant(fields[i].substring(0, constant),
                    fields[i].substring(constant + 1))
                    : Label.of(label[0], i - from, Label.Form.valueOf(label[1])));
        }
        return labels;
    }

    private static String clean(String registered) {
        return McacNames.clean(registered).replaceAll("[^a-zA-Z0-9:]+", "_").replaceAll("_+", "_");
    }
}

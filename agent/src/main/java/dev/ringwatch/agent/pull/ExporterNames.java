package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;

/**
 * The names of Instaclustr's cassandra-exporter 0.9 and its labels {@code cassandra_cluster},
 * {@code cassandra_datacenter}, {@code cassandra_node}, {@code cassandra_rack} on everything. What
 * frames do not have, sums over tables above all, is made of beans by instaclustr_exporter.yaml.
 */
final class ExporterNames {
    private static final String EXPORTER = "Instaclustr's cassandra-exporter";

    /** By consistency they are there too, and its sums would count them twice. */
    private static final List<String> TOTALS = List.of("Read", "Write");

    /** Of instaclustr_exporter.txt, which says what stands in them. */
    private static final List<String> LABELS = new ArrayList<>();
    private static final List<String> NAMES = new ArrayList<>();

    static {
        for (String line : Profile.resource("instaclustr_exporter.txt").split("\n")) {
            if (line.startsWith("label ")) {
                LABELS.add(line.substring("label ".length()));
            } else if (!line.isEmpty() && !line.startsWith("#")) {
                NAMES.add(line);
            }
        }
    }

    /** Which also say how the table is compacted. */
    private static final List<String> COMPACTED =
            List.of("cassandra_table_compaction_bytes_written_total",
            "cassandra_table_estimated_pending_compactions");

    private ExporterNames() {}

    static List<Label> node(Layout layout, Model model) {
        return List.of(Label.constant("cassandra_cluster", layout.cluster),
                Label.constant("cassandra_datacenter", model.datacenter()),
                Label.constant("cassandra_node", Label.host(model.fact("address"))),
                Label.constant("cassandra_rack", model.rack()));
    }

    static void add(Layout layout, Model model) {
        List<Label> node = node(layout, model);
        itself(layout, model, node);
        for (String row : NAMES) {
            String[] fields = row.split(" ");
            String entity = fields[2].substring(0, fields[2].indexOf('/'));
            String metric = fields[2].substring(entity.length() + 1);
            List<Label> constant = new ArrayList<>();
            for (int i = 3; i < fields.length; i++) {
                constant.add(Label.constant(fields[i].substring(0, fields[i].indexOf('=')),
                        fields[i].substring(fields[i].indexOf('=') + 1)));
            }
            for (int t = 0; t < model.templateCount(); t++) {
                Template template = model.template(t);
                if (template.type.equals(entity) || entity.equals("table")
                        && template.type.equals("index_table")
                        || entity.endsWith("*")
                        && template.type.startsWith(entity.substring(0, entity.length() - 1))) {
                    List<Label> described = new ArrayList<>(constant);
                    described(template.type, "cassandra_" + fields[1], model, described);
                    add(layout, template, fields[0], "cassandra_" + fields[1], metric, described,
                            node);
                }
            }
        }
    }

    private static void described(String entity, String name, Model model, List<Label> labels) {
        switch (entity) {
            case "table":
                labels.add(Label.described("table_type", model));
                if (COMPACTED.contains(name)) {
                    labels.add(Label.described("compaction_strategy_class", model));
                }
                return;
            case "index_table":
                labels.add(Label.constant("table_type", "index"));
                return;
            case "peer":
                labels.add(Label.described("endpoint_datacenter", model));
                labels.add(Label.described("endpoint_rack", model));
                return;
            case "memory_pool":
                labels.add(Label.described("type", model));
                return;
            default:
        }
    }

    /**
     * The exporter counts the node among its endpoints, and its dashboards fill their variables
     * from that.
     */
    private static void itself(Layout layout, Model model, List<Label> node) {
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            for (int m = 0; m < template.metricCount(); m++) {
                Metric metric = template.metric(m);
                if (metric.name.equals("cassandra_node_gossip_running")) {
                    List<Label> labels =
                            new ArrayList<>(List.of(Label.constant("endpoint",
                            Label.host(model.fact("address"))),
                            Label.constant("endpoint_datacenter", model.datacenter()),
                            Label.constant("endpoint_rack", model.rack())));
                    labels.addAll(node);
                    layout.add("cassandra_endpoint_active", Family.Type.GAUGE, "",
                            Help.otherName(EXPORTER, metric, false),
                            new Family.Source(template, metric, labels, 0, 1));
                }
            }
        }
    }

    private static void add(Layout layout, Template template, String type, String name, String of,
            List<Label> constant, List<Label> node) {
        for (int m = 0; m < template.metricCount(); m++) {
            Metric metric = template.metric(m);
            boolean histogram = metric.kind == Kind.HISTOGRAM
                    || metric.kind == Kind.GAUGE_HISTOGRAM;
            if (!of.equals(metric.origin) && !of.equals(metric.name)
                    || histogram != type.equals("s")) {
                continue;
            }
            List<Label> labels = new ArrayList<>(labels(template));
            labels.addAll(constant);
            labels.addAll(node);
            Family.Source source = new Family.Source(template, metric, labels, 0, 1);
            source.without = template.type.equals("client_request") ? TOTALS : List.of();
            layout.add(name, type.equals("g") ? Family.Type.GAUGE : type.equals("c")
                    ? Family.Type.COUNTER : Family.Type.SUMMARY, "",
                    Help.otherName(EXPORTER, metric, histogram), source);
        }
    }

    private static List<Label> labels(Template template) {
        for (String row : LABELS) {
            String[] fields = row.split(" ");
            if (fields[0].equals(template.type)) {
                List<Label> labels = new ArrayList<>();
                for (int i = 1; i < fields.length; i++) {
                    String[] named = fields[i].split("/");
                    int index = Math.min(i, template.labelCount()) - 1;
                    labels.add(Label.of(named[0], index, named.length > 1
                            ? Label.Form.valueOf(named[1]) : Label.Form.PLAIN));
                }
                return labels;
            }
        }
        return OurNames.labels(template);
    }
}

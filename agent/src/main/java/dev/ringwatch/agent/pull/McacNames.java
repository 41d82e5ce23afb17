package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The names of DataStax's metric collector, MCAC 0.3, after the relabelling of its own {@code
 * prometheus.yaml}. mcac.txt says which they are. Everything has the labels {@code cluster}, {@code
 * dc}, {@code rack} and {@code instance}, the node's address, as MCAC's job keeps them.
 */
final class McacNames {
    private static final String EXPORTER = "MCAC";
    private static final String REGISTRY = "org.apache.cassandra.metrics.";

    /** Of mcac.txt, which says what stands in them; fields without the first word. */
    private static final List<String[]> NAMED = new ArrayList<>();
    private static final List<String[]> OTHERS = new ArrayList<>();
    private static final Map<String, String> TYPES = new HashMap<>();
    private static final Map<String, String> OLD = new HashMap<>();
    private static final List<String> NO_CARDS = new ArrayList<>();
    /** Of latencies, in microseconds. */
    static final int[] BOUNDS;

    static {
        List<Integer> bounds = new ArrayList<>();
        for (String line : Profile.resource("mcac.txt").split("\n")) {
            String[] words = line.split(" ");
            String[] fields = Arrays.copyOfRange(words, 1, words.length);
            switch (words[0]) {
                case "named":
                    NAMED.add(fields);
                    break;
                case "other":
                    OTHERS.add(fields);
                    break;
                case "type":
                    TYPES.put(fields[0], fields[1]);
                    break;
                case "old":
                    OLD.put(fields[0], fields[1]);
                    break;
                case "without":
                    NO_CARDS.addAll(List.of(fields));
                    break;
                case "bounds":
                    for (String bound : fields) {
                        bounds.add(Integer.valueOf(bound));
                    }
                    break;
                default: // what frames have of what is read from /proc here, and comments
            }
        }
        BOUNDS = bounds.stream().mapToInt(Integer::intValue).toArray();
    }

    private McacNames() {}

    static List<Label> node(Layout layout, Model model) {
        return List.of(Label.constant("cluster", layout.cluster),
                Label.constant("dc", model.datacenter()),
                Label.constant("rack", model.rack()),
                Label.constant("instance", Label.host(model.fact("address"))));
    }

    static void add(Layout layout, Model model) {
        List<Label> node = node(layout, model);
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            String[] named = named(template.type);
            for (int m = 0; m < template.metricCount(); m++) {
                Metric metric = template.metric(m);
                if (metric.origin == null || metric.kind == Kind.STRING
                        || metric.kind == Kind.GAUGE_HISTOGRAM) {
                    continue;
                }
                if (named == null) {
                    raw(layout, template, metric, node);
                } else {
                    named(layout, template, metric, named, metric.origin, node);
                    if (OLD.containsKey(metric.origin)) {
                        named(layout, template, metric, named, OLD.get(metric.origin), node);
                    }
                }
            }
        }
        for (String[] fields : OTHERS) {
            other(layout, model, fields, node);
        }
    }

    private static String[] named(String entity) {
        for (String[] fields : NAMED) {
            if (fields[0].equals(entity)) {
                return fields;
            }
        }
        return null;
    }

    private static void named(Layout layout, Template template, Metric metric, String[] fields,
            String origin, List<Label> node) {
        List<Label> labels = new ArrayList<>();
        for (int i = 2; i < fields.length; i++) {
            String[] label = fields[i].split("/");
            labels.add(Label.of(label[0], i - 2, Label.Form.valueOf(label[1])));
        }
        if (template.type.equals("thread_pool")) { // two pools may have one name there
            labels.add(registryName(template, origin));
        }
        labels.addAll(node);
        boolean byConsistency = template.type.equals("client_request_by_consistency");
        String name = fields[1] + clean(origin) + (byConsistency ? "_cl" : "");
        if (metric.kind != Kind.HISTOGRAM) {
            scalar(layout, template, metric, metric.originCounts ? name + "_total" : name, labels);
            return;
        }
        part(layout, template, metric, name + "_total", Family.Part.COUNT, labels);
        if (metric.originTimes) {
            part(layout, template, metric, name + "_bucket", Family.Part.BUCKETS, labels);
        }
        if (metric.hasSum) {
            part(layout, template, metric, name + "_sum", Family.Part.SUM, labels);
            String total = fields[1] + clean(origin.replace("Latency", "TotalLatency"));
            part(layout, template, metric, total + (byConsistency ? "_cl" : "") + "_total",
                    Family.Part.SUM, labels);
        }
    }

    /** What the relabelling has no rule for. */
    private static void raw(Layout layout, Template template, Metric metric, List<Label> node) {
        List<Label> labels = new ArrayList<>();
        labels.add(registryName(template, metric.origin));
        labels.addAll(node);
        if (metric.kind != Kind.HISTOGRAM) {
            scalar(layout, template, metric,
                    metric.originCounts ? "collectd_mcac_counter_total" : "collectd_mcac_gauge",
                    labels);
            return;
        }
        part(layout, template, metric, metric.originTimes ? "collectd_mcac_micros_count_total"
                : "collectd_mcac_histogram_count_total", Family.Part.COUNT, labels);
        if (metric.originTimes && metric.hasSum) {
            part(layout, template, metric, "collectd_mcac_micros_sum", Family.Part.SUM, labels);
        }
    }

    private static Label registryName(Template template, String origin) {
        String type = template.type.startsWith("other_")
                ? template.type.substring("other_".length())
                : TYPES.getOrDefault(template.type + '/' + origin,
                        TYPES.getOrDefault(template.type, template.type));
        return Label.joined("mcac", REGISTRY + type + '.' + clean(origin), template.labelCount());
    }

    /** In Cassandra's own units: nanoseconds as such, parts in a hundred. */
    private static void scalar(Layout layout, Template template, Metric metric, String name,
            List<Label> labels) {
        boolean percent = "PercentRepaired".equals(metric.origin);
        Family.Type type = name.endsWith("_total") ? Family.Type.COUNTER : Family.Type.GAUGE;
        layout.add(name, type, "", help(name, metric),
                new Family.Source(template, metric, labels, -metric.exponent, percent ? 100 : 1));
    }

    private static void part(Layout layout, Template template, Metric metric, String name,
            Family.Part part, List<Label> labels) {
        Family.Source source = new Family.Source(template, metric, labels, 6, 1);
        source.part = part;
        boolean untyped = part == Family.Part.BUCKETS || name.endsWith("_sum");
        layout.add(name, untyped ? Family.Type.UNTYPED : Family.Type.COUNTER, "",
                help(name, metric), source);
    }

    private static void other(Layout layout, Model model, String[] fields, List<Label> node) {
        String[] of = fields[2].split("/");
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            for (int m = 0; m < template.metricCount() && template.type.equals(of[0]); m++) {
                Metric metric = template.metric(m);
                if (!metric.name.equals(of[1])) {
                    continue;
                }
                List<Label> labels = new ArrayList<>();
                for (int i = 4; i < fields.length; i++) {
                    String[] label = fields[i].split("/");
                    labels.add(Label.of(label[0], i - 4, Label.Form.valueOf(label[1])));
                }
                labels.addAll(node);
                int powers = Integer.parseInt(fields[3]);
                Family.Source source = new Family.Source(template, metric, labels, powers, 1);
                source.without = template.type.equals("network") ? NO_CARDS : List.of();
                Family.Type type = fields[0].equals("c") ? Family.Type.COUNTER : Family.Type.GAUGE;
                layout.add(fields[1], type, "", help(fields[1], metric), source);
            }
        }
    }

    private static String help(String name, Metric metric) {
        return name.startsWith("collectd_mcac_") ? "What " + EXPORTER
                + " has no name of its own for."
                : Help.otherName(EXPORTER, metric, false);
    }

    /**
     * {@code LiveSSTableCount} → {@code live_ss_table_count}: a capital begins a word unless it
     * follows one and no small letter comes.
     */
    static String clean(String name) {
        String plain = name.replaceAll("[\\s\\\\/]+", "_").replaceAll("[^a-zA-Z0-9._]+", ".");
        StringBuilder out = new StringBuilder(plain.length() + 8);
        for (int i = 0; i < plain.length(); i++) {
            char c = plain.charAt(i);
            boolean begins = i > 0 && Character.isUpperCase(c)
                    && (!Character.isUpperCase(plain.charAt(i - 1))
                    || i + 1 < plain.length() && Character.isLowerCase(plain.charAt(i + 1)));
            out.append(begins ? "_" : "").append(c);
        }
        return out.toString().replaceAll("\\.+", ".").replaceAll("\\._", ".").replaceAll("_+", "_")
                .toLowerCase(Locale.ROOT);
    }
}

package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The names of DataStax's metric collector, MCAC 0.3, after the relabelling of its own {@code prometheus.yaml}: {@code mcac_*} for
 * the families that it knows, {@code collectd_mcac_*} for all others, and {@code collectd_*} of the machine. Everything has the
 * labels {@code cluster}, {@code dc}, {@code rack} and {@code instance}, the node's address, as MCAC's job keeps them.
 *
 * <p>Its names are those of Cassandra's registry in snake case; a counter, or what a histogram has counted, ends with {@code _total},
 * a latency has {@code _bucket} and {@code _sum} in microseconds besides.
 */
final class McacNames {
    private static final String EXPORTER = "MCAC";
    private static final String REGISTRY = "org.apache.cassandra.metrics.";

    /** Entity type, what stands before the metric's name, and its labels: how the first, the second value is written. */
    private static final String[] NAMED = {
        "table mcac_table_ keyspace/PLAIN table/PLAIN", "keyspace mcac_keyspace_ keyspace/PLAIN",
        "thread_pool mcac_thread_pools_ pool_type/CLEAN pool_name/FIRST",
        "client_request mcac_client_request_ request_type/CLEAN", "client_request_by_consistency mcac_client_request_ request_type/CLEAN cl/CLEAN",
        "cache mcac_cache_ cache_name/CLEAN", "cql mcac_cql_", "dropped_message mcac_dropped_message_ message_type/CLEAN",
        "streaming mcac_streaming_", "streaming_peer mcac_streaming_ peer_ip/HOST", "commit_log mcac_commit_log_", "compaction mcac_compaction_",
        "storage mcac_storage_", "batch mcac_batch_", "client mcac_client_", "hints mcac_hints_", "memtable_pool mcac_memtable_pool_",
    };

    /** Registry types that are not called like our entity types. */
    private static final Map<String, String> TYPES = Map.of("thread_pool", "thread_pools", "client_request_by_consistency", "client_request",
            "streaming_peer", "streaming", "hints", "hints_service", "hints_peer", "hints_service", "row_index", "index",
            "sai_index", "storage_attached_index", "inbound_connection", "inbound_connection", "denylist", "storage_proxy",
            "messaging_datacenter", "messaging");

    /** What versions before 4.0 called it, which dashboards still ask for. */
    private static final Map<String, String> OLD = Map.of("MemtableOnHeapDataSize", "MemtableOnHeapSize",
            "MemtableOffHeapDataSize", "MemtableOffHeapSize", "AllMemtablesOnHeapDataSize", "AllMemtablesHeapSize",
            "AllMemtablesOffHeapDataSize", "AllMemtablesOffHeapSize");

    /** Of the JVM and the machine: type, name, entity type / our name, powers of ten to its unit, labels. */
    private static final String[] OTHERS = {
        "g mcac_jvm_gc_count gc/jvm_gc_collections_total 0 collector_type/GC",
        "g mcac_jvm_gc_time gc/jvm_gc_collection_seconds_total 3 collector_type/GC",
        "g mcac_jvm_buffer_count jvm_buffer_pool/jvm_buffer_pool_buffers 0 buffer_type/GC",
        "g mcac_jvm_buffer_used jvm_buffer_pool/jvm_buffer_pool_used_bytes 0 buffer_type/GC",
        "g mcac_jvm_buffer_capacity jvm_buffer_pool/jvm_buffer_pool_capacity_bytes 0 buffer_type/GC",
        "g collectd_load_shortterm os/os_load1 0", "g collectd_load_midterm os/os_load5 0", "g collectd_load_longterm os/os_load15 0",
        "c collectd_contextswitch_total os/os_context_switches_total 0",
        "c collectd_interface_if_octets_rx_total network/os_network_received_bytes_total 0 interface/PLAIN",
        "c collectd_interface_if_octets_tx_total network/os_network_transmitted_bytes_total 0 interface/PLAIN",
        "c collectd_interface_if_packets_rx_total network/os_network_received_packets_total 0 interface/PLAIN",
        "c collectd_interface_if_packets_tx_total network/os_network_transmitted_packets_total 0 interface/PLAIN",
        "c collectd_interface_if_errors_rx_total network/os_network_receive_errors_total 0 interface/PLAIN",
        "c collectd_interface_if_errors_tx_total network/os_network_transmit_errors_total 0 interface/PLAIN",
        "c collectd_interface_if_dropped_rx_total network/os_network_receive_dropped_total 0 interface/PLAIN",
        "c collectd_interface_if_dropped_tx_total network/os_network_transmit_dropped_total 0 interface/PLAIN",
    };

    /** Cards that MCAC's collectd.conf leaves out. */
    private static final List<String> NO_CARDS = List.of("lo*", "docker*", "veth*", "tun*", "tap*");

    private McacNames() {}

    static List<Label> node(Layout layout, Model model) {
        return List.of(Label.constant("cluster", layout.cluster), Label.constant("dc", model.datacenter()), Label.constant("rack", model.rack()),
                Label.constant("instance", Label.host(model.fact("address"))));
    }

    static void add(Layout layout, Model model) {
        List<Label> node = node(layout, model);
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            String[] named = named(template.type);
            for (int m = 0; m < template.metricCount(); m++) {
                Metric metric = template.metric(m);
                if (metric.origin == null || metric.kind == Kind.STRING || metric.kind == Kind.GAUGE_HISTOGRAM) {
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
        for (String row : OTHERS) {
            other(layout, model, row.split(" "), node);
        }
    }

    private static String[] named(String entity) {
        for (String row : NAMED) {
            String[] fields = row.split(" ");
            if (fields[0].equals(entity)) {
                return fields;
            }
        }
        return null;
    }

    private static void named(Layout layout, Template template, Metric metric, String[] fields, String origin, List<Label> node) {
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
            part(layout, template, metric, fields[1] + clean(origin.replace("Latency", "TotalLatency")) + (byConsistency ? "_cl" : "") + "_total",
                    Family.Part.SUM, labels);
        }
    }

    /** What the relabelling has no rule for. */
    private static void raw(Layout layout, Template template, Metric metric, List<Label> node) {
        List<Label> labels = new ArrayList<>();
        labels.add(registryName(template, metric.origin));
        labels.addAll(node);
        if (metric.kind != Kind.HISTOGRAM) {
            scalar(layout, template, metric, metric.originCounts ? "collectd_mcac_counter_total" : "collectd_mcac_gauge", labels);
            return;
        }
        part(layout, template, metric, metric.originTimes ? "collectd_mcac_micros_count_total" : "collectd_mcac_histogram_count_total",
                Family.Part.COUNT, labels);
        if (metric.originTimes && metric.hasSum) {
            part(layout, template, metric, "collectd_mcac_micros_sum", Family.Part.SUM, labels);
        }
    }

    private static Label registryName(Template template, String origin) {
        String type = template.type.startsWith("other_") ? template.type.substring("other_".length()) : TYPES.getOrDefault(template.type, template.type);
        return Label.joined("mcac", REGISTRY + type + '.' + clean(origin), template.labelCount());
    }

    /** In Cassandra's own units: nanoseconds as such, parts in a hundred. */
    private static void scalar(Layout layout, Template template, Metric metric, String name, List<Label> labels) {
        boolean percent = "PercentRepaired".equals(metric.origin);
        layout.add(name, name.endsWith("_total") ? Family.Type.COUNTER : Family.Type.GAUGE, "", help(name, metric),
                new Family.Source(template, metric, labels, -metric.exponent, percent ? 100 : 1));
    }

    private static void part(Layout layout, Template template, Metric metric, String name, Family.Part part, List<Label> labels) {
        Family.Source source = new Family.Source(template, metric, labels, 6, 1);
        source.part = part;
        layout.add(name, part == Family.Part.BUCKETS || name.endsWith("_sum") ? Family.Type.UNTYPED : Family.Type.COUNTER, "", help(name, metric), source);
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
                Family.Source source = new Family.Source(template, metric, labels, Integer.parseInt(fields[3]), 1);
                source.without = template.type.equals("network") ? NO_CARDS : List.of();
                layout.add(fields[1], fields[0].equals("c") ? Family.Type.COUNTER : Family.Type.GAUGE, "", help(fields[1], metric), source);
            }
        }
    }

    private static String help(String name, Metric metric) {
        return name.startsWith("collectd_mcac_") ? "What " + EXPORTER + " has no name of its own for." : Help.otherName(EXPORTER, metric, false);
    }

    /** {@code LiveSSTableCount} → {@code live_ss_table_count}: a capital begins a word unless it follows one and no small letter comes. */
    static String clean(String name) {
        String plain = name.replaceAll("[\\s\\\\/]+", "_").replaceAll("[^a-zA-Z0-9._]+", ".");
        StringBuilder out = new StringBuilder(plain.length() + 8);
        for (int i = 0; i < plain.length(); i++) {
            char c = plain.charAt(i);
            boolean begins = i > 0 && Character.isUpperCase(c) && (!Character.isUpperCase(plain.charAt(i - 1))
                    || i + 1 < plain.length() && Character.isLowerCase(plain.charAt(i + 1)));
            out.append(begins ? "_" : "").append(c);
        }
        return out.toString().replaceAll("\\.+", ".").replaceAll("\\._", ".").replaceAll("_+", "_").toLowerCase(Locale.ROOT);
    }
}

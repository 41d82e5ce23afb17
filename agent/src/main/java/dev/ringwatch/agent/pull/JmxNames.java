package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The names that the JMX exporter's Cassandra example makes of Cassandra's beans: {@code cassandra_TYPE_NAME} in small
 * letters, the bean's scope in a label named like the type. Gauges have the name alone, counts {@code _count}, latencies
 * {@code _seconds} with quantiles, {@code _sum} and {@code _count}; the rest is in Cassandra's own units (µs, bytes, percent).
 *
 * <p>Left out: what frames do not have (keyspace sums, {@code ….all}, means and rates).
 */
final class JmxNames {
    private static final String EXPORTER = "the JMX exporter's example";
    /** Entity type → bean type, then a label per line: name=index of our label, or what two of them are joined by. */
    private static final Map<String, String[]> TYPES = new HashMap<>();
    /** Table metrics that the example reads from the old bean type. */
    private static final List<String> OLD_TYPE = List.of("LiveSSTableCount", "BytesUnrepaired");

    static {
        type("table", "Table", "keyspace=0", "table=1");
        type("index_table", "IndexTable", "keyspace=0", "indextable=1.");
        type("keyspace", "Keyspace", "keyspace=0");
        type("thread_pool", "ThreadPools", "path=0", "threadpools=1");
        type("client_request", "ClientRequest", "clientrequest=0");
        type("client_request_by_consistency", "ClientRequest", "clientrequest=0-");
        type("cache", "Cache", "cache=0");
        type("buffer_pool", "BufferPool", "bufferpool=0");
        type("dropped_message", "DroppedMessage", "droppedmessage=0");
        type("connection", "Connection", "connection=0");
        type("inbound_connection", "InboundConnection", "inboundconnection=0");
        type("streaming_peer", "Streaming", "streaming=0");
        type("row_index", "Index", "index:RowIndexEntry");
        type("denylist", "StorageProxy");
        for (String plain : new String[] {"Batch", "Client", "ClientMessageSize", "ClientRequestSize", "CommitLog", "Compaction", "CQL",
            "MemtablePool", "Messaging", "Paxos", "ReadRepair", "Repair", "Storage", "Streaming"}) {
            type(plain.replaceAll("([a-z])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT), plain);
        }
    }

    private JmxNames() {}

    private static void type(String entity, String... beanAndLabels) {
        TYPES.put(entity, beanAndLabels);
    }

    static void add(Layout layout, Model model) {
        // a bean type at a time: a name may have several of our entity types
        List<String> done = new ArrayList<>();
        for (int t = 0; t < model.templateCount(); t++) {
            String[] type = TYPES.get(model.template(t).type);
            if (type == null || done.contains(type[0])) {
                continue;
            }
            done.add(type[0]);
            for (int u = t; u < model.templateCount(); u++) {
                String[] same = TYPES.get(model.template(u).type);
                if (same != null && same[0].equals(type[0])) {
                    template(layout, model.template(u), same);
                }
            }
        }
    }

    private static void template(Layout layout, Template template, String[] type) {
        List<Label> labels = new ArrayList<>();
        for (int i = 1; i < type.length; i++) {
            labels.add(label(type[i]));
        }
        for (int m = 0; m < template.metricCount(); m++) {
            Metric metric = template.metric(m);
            if (metric.origin == null || metric.kind == Kind.GAUGE_HISTOGRAM || metric.kind == Kind.STRING) {
                continue;
            }
            metric(layout, template, metric, type[0], labels);
            if (template.type.equals("table") && OLD_TYPE.contains(metric.origin)) {
                metric(layout, template, metric, "ColumnFamily", List.of(label("keyspace=0"), label("columnfamily=1")));
            }
        }
    }

    private static Label label(String text) {
        int constant = text.indexOf(':');
        if (constant > 0) {
            return Label.constant(text.substring(0, constant), text.substring(constant + 1));
        }
        int at = text.indexOf('=') + 1;
        Label.Form form = text.endsWith("-") ? Label.Form.DASHED : text.endsWith(".") ? Label.Form.DOTTED : Label.Form.PLAIN;
        return Label.of(text.substring(0, at - 1), text.charAt(at) - '0', form);
    }

    private static void metric(Layout layout, Template template, Metric metric, String type, List<Label> labels) {
        String name = ("cassandra_" + type + '_' + metric.origin).toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9_]", "_");
        String help = Help.otherName(EXPORTER, metric, metric.kind == Kind.HISTOGRAM);
        if (metric.kind == Kind.HISTOGRAM) {
            boolean latency = metric.origin.endsWith("Latency");
            int shift = !latency && metric.unit.equals("seconds") ? 6 : 0; // JMX has µs, whatever the version counts in
            layout.add(latency ? name + "_seconds" : name, Family.Type.SUMMARY, "", help, new Family.Source(template, metric, labels, shift, 1));
            return;
        }
        double factor = metric.origin.equals("PercentRepaired") ? 100 : 1;
        layout.add(metric.originCounts ? name + "_count" : name, metric.originCounts ? Family.Type.UNTYPED : Family.Type.GAUGE, "", help,
                new Family.Source(template, metric, labels, -metric.exponent, factor));
    }
}

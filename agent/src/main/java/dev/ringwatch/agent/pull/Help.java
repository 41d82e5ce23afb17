package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Template;
import java.util.Map;

/** One sentence per family, made of its name: METRICS.md says more, and frames say none of it. */
final class Help {
    /** Where the name alone would mislead. */
    private static final Map<String, String> SAID = Map.of(
            "cassandra_node_normal", "1 if the node is a full member of its ring, else 0.",
            "cassandra_peer_up", "1 if this node takes the peer for up, else 0.",
            "cassandra_table_repaired_ratio", "Share of the table's data that has been repaired.",
            "cassandra_table_additional_write_threshold_seconds",
            "Latency after which a write is sent to a further replica.",
            "cassandra_table_speculative_retry_threshold_seconds",
            "Latency after which a read is sent to a further replica.",
            "ringwatch_agent_pass_cpu_seconds_total", "CPU time of the agent's own threads.",
            "ringwatch_agent_allocated_bytes_total",
            "Heap that the agent's own threads have allocated.");

    private Help() {}

    static String of(Template template, Metric metric) {
        String said = SAID.get(metric.name);
        return said != null ? said : sentence(template, metric);
    }

    private static String sentence(Template template, Metric metric) {
        String name = metric.name;
        String of = "cassandra_" + template.type + "_";
        String words = name.startsWith(of) ? name.substring(of.length()) : name;
        words = cut(cut(cut(words, "_total"), "_info"), "_" + metric.unit).replace('_', ' ');
        StringBuilder help = new StringBuilder(words);
        help.setCharAt(0, Character.toUpperCase(help.charAt(0)));
        if (template.labelCount() > 0) {
            help.append(", by ");
            for (int i = 0; i < template.labelCount(); i++) {
                help.append(i == 0 ? "" : i == template.labelCount() - 1 ? " and "
                        : ", ").append(template.label(i).replace('_', ' '));
            }
        }
        if (!metric.unit.isEmpty()) {
            help.append(metric.unit.equals("ratio") ? ", as a ratio" : ", in " + metric.unit);
        }
        return help.append(metric.kind == Kind.COUNTER ? ", since the start."
                : metric.kind == Kind.HISTOGRAM ? ", distribution since the start."
                : metric.kind == Kind.GAUGE_HISTOGRAM ? ", distribution as it is now."
                : metric.kind == Kind.STRING ? ", as a label."
                : ", as it is now.").toString();
    }

    /** For the names of other exporters. */
    static String otherName(String exporter, Metric metric, boolean summary) {
        return "What " + exporter + " calls " + metric.name
                + (summary ? "; quantiles are of the last minutes." : ".");
    }

    private static String cut(String name, String end) {
        return end.length() > 1 && name.endsWith(end) && name.length() > end.length()
                ? name.substring(0, name.length() - end.length()) : name;
    }
}

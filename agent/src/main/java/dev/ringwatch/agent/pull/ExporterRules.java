package dev.ringwatch.agent.pull;

/**
 * What Instaclustr's cassandra-exporter shows and frames do not have, as rules for beans: sums over
 * tables by keyspace and node of what are histograms, and figures of the JVM and the machine.
 */
final class ExporterRules {
    private static final String HEAD = "excludeJvmMetrics: true\n"
            + "includeObjectNames:\n"
            + "- 'org.apache.cassandra.metrics:type=Keyspace,*'\n"
            + "- 'org.apache.cassandra.metrics:type=Table,name=*'\n"
            + "- 'org.apache.cassandra.net:type=FailureDetector'\n"
            + "- 'java.lang:type=OperatingSystem'\n"
            + "- 'java.lang:type=Threading'\n"
            + "- 'java.lang:type=GarbageCollector,*'\n"
            + "rules:\n";
    /** The bean's name without {@code Latency}, and the exporter's operation. */
    private static final String[][] OPERATIONS = {{"Read", "read"}, {"Range", "range_read"}, {"Write", "write"}, {"CasPrepare", "cas_prepare"},
        {"CasPropose", "cas_propose"}, {"CasCommit", "cas_commit"}};
    private static final String[][] HISTOGRAMS = {{"SSTablesPerReadHistogram", "sstables_per_read"}, {"TombstoneScannedHistogram", "tombstones_scanned"},
        {"LiveScannedHistogram", "live_rows_scanned"}};
    private static final String[][] OTHERS = {
        {"java.lang<type=OperatingSystem><>ProcessCpuLoad", "process_recent_cpu_load_ratio", "GAUGE", ""},
        {"java.lang<type=OperatingSystem><>SystemCpuLoad", "os_recent_cpu_load_ratio", "GAUGE", ""},
        {"java.lang<type=OperatingSystem><>CommittedVirtualMemorySize", "process_vm_committed_bytes", "GAUGE", ""},
        {"java.lang<type=Threading><>TotalStartedThreadCount", "jvm_threads_started", "COUNTER", ""},
        {"java.lang<type=Threading><>DaemonThreadCount", "jvm_thread_count", "GAUGE", "type: daemon"},
        {"java.lang<(?:type=GarbageCollector, )?name=([^,>]+)(?:, type=GarbageCollector)?><LastGcInfo>duration", "jvm_gc_last_collection_duration_seconds", "GAUGE", "collector: $1"},
    };

    private ExporterRules() {}

    static String yaml() {
        StringBuilder yaml = new StringBuilder(HEAD);
        for (String[] scope : new String[][] {{"Keyspace, keyspace=(\\w+)", "keyspace", "$1"}, {"Table(?!,.*scope=)()", "node", ""}}) {
            String bean = "metrics<type=" + scope[0] + ", name=";
            for (String[] operation : OPERATIONS) {
                String name = scope[1] + "_operation_latency_seconds";
                String labels = "keyspace: '" + scope[2] + "', operation: " + operation[1];
                rule(yaml, bean + operation[0] + "Latency><>Count", name + "_count", "UNTYPED", labels, 1);
                rule(yaml, bean + operation[0] + "TotalLatency><>Count", name + "_sum", "UNTYPED", labels, 1e-6);
                quantiles(yaml, bean + operation[0] + "Latency", name, labels, 1e-6);
            }
            for (String[] histogram : HISTOGRAMS) {
                String labels = "keyspace: '" + scope[2] + "'";
                rule(yaml, bean + histogram[0] + "><>Count", scope[1] + "_" + histogram[1] + "_count", "UNTYPED", labels, 1);
                quantiles(yaml, bean + histogram[0], scope[1] + "_" + histogram[1], labels, 1);
            }
        }
        for (String[] other : OTHERS) {
            rule(yaml, other[0], other[1], other[2], other[3], other[1].endsWith("duration_seconds") ? 1e-3 : 1);
        }
        return yaml.toString();
    }

    private static void quantiles(StringBuilder yaml, String bean, String name, String labels, double factor) {
        rule(yaml, bean + "><>50thPercentile", name, "GAUGE", labels + ", quantile: '0.5'", factor);
        rule(yaml, bean + "><>(\\d+)thPercentile", name, "GAUGE", labels + ", quantile: '0.$2'", factor);
    }

    private static void rule(StringBuilder yaml, String pattern, String name, String type, String labels, double factor) {
        yaml.append("- {pattern: '").append(pattern).append("', name: cassandra_").append(name).append(", type: ").append(type)
                .append(", valueFactor: ").append(factor).append(", labels: {").append(labels).append("}}\n");
    }
}

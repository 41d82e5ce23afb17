package dev.ringwatch.agent.cassandra;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * From Cassandra's names to Prometheus's: snake case, base units, {@code _total} on what only
 * rises. The rules and the resulting names are in {@code METRICS.md}; a test compares it with what
 * a real node sends.
 */
final class Naming {
    /** What a registry entry is, which decides how it may be read. */
    enum Source { COUNT, TIMER, HISTOGRAM, LONG_GAUGE, DOUBLE_GAUGE, BUCKET_GAUGE }

    /** How one metric is sent. */
    static final class Rule {
        String name;
        boolean counter;
        String unit = "";
        int exponent;
        /** Of doubles. */
        double scale = 1;
        /** Read once a minute: it walks all SSTables, or the disk. */
        boolean slow;
        /**
         * Slow, and follows from SSTables and memtables alone, whose changes are seen otherwise: an
         * idle table's is not read again. For those that cost most: {@code EstimatedPartitionCount}
         * 0.1 ms and 30 kB a table, {@code MaxSSTableSize} 0.07 ms and 6 kB.
         */
        boolean bySSTables;
    }

    private static final Map<String, String[]> NAMED = new HashMap<>();
    private static final Set<String> GAUGES = new HashSet<>();
    private static final Set<String> COUNTERS = new HashSet<>();
    private static final Set<String> SLOW = new HashSet<>();
    private static final Set<String> BY_SSTABLES = new HashSet<>();
    private static final Set<String> SKIPPED = new HashSet<>();

    static {
        // entity/Name, our name after the entity's prefix, unit, exponent
        named("table/AdditionalWriteLatencyNanos", "additional_write_threshold_seconds",
                "seconds", -9);
        named("table/SpeculativeSampleLatencyNanos", "speculative_retry_threshold_seconds",
                "seconds", -9);
        named("table/ColUpdateTimeDeltaHistogram", "column_update_time_delta_seconds",
                "seconds", -6);
        named("table/EstimatedColumnCountHistogram", "estimated_column_count", "", 0);
        named("table/EstimatedPartitionCount", "estimated_partitions", "", 0);
        named("table/EstimatedPartitionSizeHistogram",
                "estimated_partition_size_bytes", "bytes", 0);
        named("table/IndexSummaryOffHeapMemoryUsed",
                "index_summaries_off_heap_memory_used_bytes", "bytes", 0);
        named("table/KeyCacheHitRate", "key_cache_hit_ratio", "ratio", 0);
        named("table/LiveScannedHistogram", "live_rows_scanned", "", 0);
        named("table/LiveSSTableCount", "live_sstables", "", 0);
        named("table/MaxSSTableDuration", "max_sstable_duration_seconds", "seconds", -3);
        named("table/MemtableColumnsCount", "memtable_columns", "", 0);
        named("table/MemtableSwitchCount", "memtable_switches_total", "", 0);
        named("table/MutatedAnticompactionGauge", "mutated_anticompaction_ratio", "ratio", 0);
        named("table/OldVersionSSTableCount", "old_version_sstables", "", 0);
        named("table/PercentRepaired", "repaired_ratio", "ratio", 0);
        named("table/TombstoneScannedHistogram", "tombstones_scanned", "", 0);
        named("thread_pool/CurrentlyBlockedTasks", "blocked_tasks", "", 0);
        named("thread_pool/MaxPoolSize", "max_pool_size", "", 0);
        named("thread_pool/CorePoolSize", "core_pool_size", "", 0);
        named("thread_pool/MaxTasksQueued", "max_queued_tasks", "", 0);
        named("thread_pool/OldestTaskQueueTime", "oldest_task_queue_time_seconds", "seconds", -9);
        named("cache/Capacity", "capacity_bytes", "bytes", 0);
        named("buffer_pool/Capacity", "capacity_bytes", "bytes", 0);
        named("client/RequestsSizeByIpDistribution", "requests_size_by_ip_bytes", "bytes", 0);
        named("commit_log/TotalCommitLogSize", "size_bytes", "bytes", 0);
        named("compaction/BytesCompacted", "compacted_bytes_total", "bytes", 0);
        named("compaction/TotalCompactionsCompleted", "completed_total", "", 0);
        named("compaction/CompactionsAborted", "aborted_total", "", 0);
        named("compaction/CompactionsReduced", "reduced_total", "", 0);
        named("cql/PreparedStatementsCount", "prepared_statements", "", 0);
        named("dropped_message/Dropped", "dropped_total", "", 0);
        named("inbound_connection/ThrottledNanos", "throttled_seconds_total", "seconds", -9);
        named("hints/HintsSucceeded", "succeeded_total", "", 0);
        named("hints/HintsFailed", "failed_total", "", 0);
        named("hints/HintsTimedOut", "timed_out_total", "", 0);
        named("hints/Hints_for_unowned_ranges", "for_unowned_ranges_total", "", 0);
        named("hints/Hint_delays", "delay_seconds", "seconds", -3);
        named("hints_peer/Hint_delays", "delay_seconds", "seconds", -3);
        named("hints_peer/Hints_created", "created_total", "", 0);
        named("hints_peer/Hints_not_stored", "not_stored_total", "", 0);
        named("storage/Load", "load_bytes", "bytes", 0);
        named("storage/UncompressedLoad", "uncompressed_load_bytes", "bytes", 0);
        named("storage/UnreplicatedLoad", "unreplicated_load_bytes", "bytes", 0);
        named("storage/UnreplicatedUncompressedLoad",
                "unreplicated_uncompressed_load_bytes", "bytes", 0);
        named("storage/BootstrapFilesTotal", "bootstrap_files", "", 0);
        named("table/PurgeableTombstoneScannedHistogram", "purgeable_tombstones_scanned", "", 0);
        named("client_request/KeySizeHistogram", "keys", "", 0);
        named("tcm/CMSSize", "cms_members", "", 0);
        named("tcm/LogEntryFetchRate", "log_entries_fetched_total", "", 0);
        named("storage/TotalHintsInProgress", "hints_in_progress", "", 0);
        named("row_index/IndexedEntrySize", "entry_size_bytes", "bytes", 0);

        // counters in Cassandra that go down too
        all(GAUGES, "table/LiveDiskSpaceUsed", "table/TotalDiskSpaceUsed",
                "table/UncompressedLiveDiskSpaceUsed", "table/PendingFlushes",
                "thread_pool/CurrentlyBlockedTasks", "storage/Load", "storage/UncompressedLoad",
                "storage/TotalHintsInProgress", "streaming/ActiveOutboundStreams",
                "storage/DirectWriteBufferBytes");
        // gauges in Cassandra that only rise
        all(COUNTERS, "thread_pool/CompletedTasks", "commit_log/CompletedTasks",
                "compaction/CompletedTasks");
        all(SLOW, "table/AdditionalWriteLatencyNanos", "table/BloomFilterDiskSpaceUsed",
                "table/BloomFilterFalsePositives", "table/BloomFilterFalseRatio",
                "table/BloomFilterOffHeapMemoryUsed", "table/BytesPendingRepair",
                "table/BytesRepaired", "table/BytesUnrepaired",
                "table/CompressionMetadataOffHeapMemoryUsed", "table/CompressionRatio",
                "table/EstimatedColumnCountHistogram", "table/EstimatedPartitionCount",
                "table/EstimatedPartitionSizeHistogram", "table/IndexSummaryOffHeapMemoryUsed",
                "table/KeyCacheHitRate", "table/MaxPartitionSize", "table/MaxSSTableDuration",
                "table/MaxSSTableSize", "table/MeanPartitionSize", "table/MinPartitionSize",
                "table/MutatedAnticompactionGauge", "table/OldVersionSSTableCount",
                "table/PendingCompactions", "table/PercentRepaired", "table/SnapshotsSize",
                "table/SpeculativeSampleLatencyNanos", "table/UnleveledSSTables",
                "compaction/PendingTasks", "compaction/PendingTasksByTableName",
                "storage/UnreplicatedLoad", "storage/UnreplicatedUncompressedLoad");
        all(BY_SSTABLES, "table/EstimatedPartitionCount", "table/MaxSSTableSize",
                "table/EstimatedPartitionSizeHistogram", "table/EstimatedColumnCountHistogram",
                "compaction/PendingTasks", "compaction/PendingTasksByTableName",
                "storage/UnreplicatedLoad", "storage/UnreplicatedUncompressedLoad");
        // rates that queries compute better from counters; second names, which 6.0 registers too;
        // what 4.x never counts; and "recent" ones, which each read sets back for everyone
        all(SKIPPED, "cache/HitRate", "cache/OneMinuteHitRate", "cache/FiveMinuteHitRate",
                "cache/FifteenMinuteHitRate", "cql/PreparedStatementsRatio",
                "compaction/BytesCompactedThroughput", "storage/BootstrapFilesThroughput",
                "client/connectedNativeClients", "client/connectedNativeClientsByUser",
                "table/MemtableOnHeapSize", "table/MemtableOffHeapSize",
                "table/AllMemtablesHeapSize", "table/AllMemtablesOffHeapSize",
                "table/WaitingOnFreeMemtableSpace", "table/RecentBloomFilterFalsePositives",
                "table/RecentBloomFilterFalseRatio");
    }

    private Naming() {}

    /** Of a bean's type and name. */
    static boolean isSlow(String type, String metric) {
        return SLOW.contains(entity(type) + "/" + metric);
    }

    /** Likewise; see {@link Rule#bySSTables}. */
    static boolean isBySSTables(String type, String metric) {
        return BY_SSTABLES.contains(entity(type) + "/" + metric);
    }

    private static String entity(String type) {
        boolean ofTables = type.contains("Table") || type.contains("ColumnFamily")
                || type.equalsIgnoreCase("Keyspace");
        return ofTables ? "table" : snake(type);
    }

    /** Null if this metric is not to be read. {@code exponent} is the reservoir's, for timers. */
    static Rule rule(String entity, String metric, Source source, int exponent) {
        String key = (entity.equals("index_table") ? "table" : entity) + "/" + metric;
        if (SKIPPED.contains(key)) {
            return null;
        }
        Rule rule = new Rule();
        rule.slow = SLOW.contains(key);
        rule.bySSTables = BY_SSTABLES.contains(key);
        rule.counter = source == Source.COUNT
                && !GAUGES.contains(key) && !gaugeOfConnection(entity, metric)
                || source == Source.LONG_GAUGE
                && (COUNTERS.contains(key) || counterOfConnection(entity, metric));
        rule.scale = metric.equals("PercentRepaired") ? 0.01 : 1;
        String[] named = NAMED.get(key);
        String name;
        if (named != null) {
            name = named[0];
            rule.unit = named[1];
            rule.exponent = Integer.parseInt(named[2]);
        } else {
            name = generic(entity, metric, source, rule);
            if (source == Source.TIMER) {
                name += "_seconds";
                rule.unit = "seconds";
            }
        }
        if (source == Source.TIMER) {
            rule.exponent = exponent;
        }
        rule.name = "cassandra_" + entity + "_" + name;
        if (rule.counter && !rule.name.endsWith("_total")) {
            rule.name += "_total";
        }
        return rule;
    }

    private static String generic(String entity, String metric, Source source, Rule rule) {
        String name = snake(metric);
        name = cut(name, "_histogram");
        if (rule.counter) {
            name = name.startsWith("total_") ? name.substring("total_".length()) : name;
            name = cut(name, "_count");
        }
        if (has(name, "bytes")) {
            name = without(name, "bytes") + "_bytes";
            name = name.startsWith("_") ? name.substring(1) : name;
            rule.unit = "bytes";
        } else if (source != Source.TIMER && !entity.startsWith("other_")
                && (name.equals("size") || name.endsWith("_size") || name.endsWith("_space_used")
                        || name.endsWith("_memory_used"))) {
            name += "_bytes";
            rule.unit = "bytes";
        } else if (name.endsWith("_ratio")) {
            rule.unit = "ratio";
        }
        return name;
    }

    /** Connections register all they have as gauges; what waits goes down, the rest only rises. */
    private static boolean counterOfConnection(String entity, String metric) {
        return entity.endsWith("connection") && !metric.contains("Pending")
                && !metric.contains("Scheduled");
    }

    private static boolean gaugeOfConnection(String entity, String metric) {
        return entity.endsWith("connection")
                && (metric.contains("Pending") || metric.contains("Scheduled"));
    }

    /**
     * {@code SSTablesPerRead} → {@code sstables_per_read}: a run of capitals is one word, with
     * {@code SSTable} one too.
     */
    static String snake(String name) {
        // a name must not seem to have the type of Prometheus's summaries in it
        String in = name.replace("IndexSummaryRedistribution", "IndexSummariesRedistribution")
                .replace("SSTable", "Sstable").replace("CIDR", "Cidr")
                .replace("IdealCL", "IdealCl");
        StringBuilder out = new StringBuilder(in.length() + 8);
        for (int i = 0; i < in.length(); i++) {
            char c = in.charAt(i);
            if (c >= 'A' && c <= 'Z') {
                boolean afterSmall = i > 0 && !isCapital(in.charAt(i - 1));
                boolean beforeSmall = i + 1 < in.length() && i > 0 && isCapital(in.charAt(i - 1))
                        && isSmall(in.charAt(i + 1));
                if ((afterSmall || beforeSmall) && out.charAt(out.length() - 1) != '_') {
                    out.append('_');
                }
                out.append((char) (c + 32));
            } else if (isSmall(c) || c >= '0' && c <= '9' && i > 0) {
                out.append(c);
            } else if (out.length() > 0 && out.charAt(out.length() - 1) != '_') {
                out.append('_');
            } else if (out.length() == 0) {
                out.append("x_");
            }
        }
        return cut(out.toString(), "_");
    }

    private static boolean isCapital(char c) {
        return c >= 'A' && c <= 'Z';
    }

    private static boolean isSmall(char c) {
        return c >= 'a' && c <= 'z';
    }

    private static String cut(String name, String end) {
        return name.endsWith(end) && name.length() > end.length()
                ? name.substring(0, name.length() - end.length()) : name;
    }

    private static boolean has(String name, String word) {
        return ("_" + name + "_").contains("_" + word + "_");
    }

    private static String without(String name, String word) {
        return cut(("_" + name + "_").replace("_" + word + "_", "_"), "_").substring(1);
    }

    private static void named(String key, String name, String unit, int exponent) {
        NAMED.put(key, new String[] {name, unit, Integer.toString(exponent)});
    }

    private static void all(Set<String> set, String... keys) {
        for (String key : keys) {
            set.add(key);
        }
    }
}

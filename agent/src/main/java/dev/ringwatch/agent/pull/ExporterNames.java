package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.ArrayList;
import java.util.List;

/**
 * The names of Instaclustr's cassandra-exporter 0.9 and its labels {@code cassandra_cluster}, {@code
 * cassandra_datacenter}, {@code cassandra_node}, {@code cassandra_rack} on everything. What frames do not have, sums over
 * tables above all, is made of beans: {@link ExporterRules}.
 */
final class ExporterNames {
    private static final String EXPORTER = "Instaclustr's cassandra-exporter";

    /** By consistency they are there too, and its sums would count them twice. */
    private static final List<String> TOTALS = List.of("Read", "Write");

    /**
     * Entity type and, per label, its name there and how its value is written; one more label says the last value again,
     * where what is left of the first may not be unique. Entities that are not here keep our labels.
     */
    private static final String[] LABELS = {
        "thread_pool group pool", "client_request operation/LOWER", "client_request_by_consistency operation/LOWER consistency",
        "cache cache/CACHE", "dropped_message message_type", "messaging_datacenter datacenter", "peer endpoint/HOST",
        "gc collector", "filesystem spec mount",
    };

    /** Type, name after {@code cassandra_}, entity type / Cassandra's name (or ours), constant labels. */
    private static final String[] NAMES = {
        "g table_memory_used_bytes table/MemtableOnHeapDataSize region=on_heap pool=memtable",
        "g table_memory_used_bytes table/MemtableOffHeapDataSize region=off_heap pool=memtable",
        "g table_memory_used_bytes table/BloomFilterOffHeapMemoryUsed region=off_heap pool=bloom_filter",
        "g table_memory_used_bytes table/IndexSummaryOffHeapMemoryUsed region=off_heap pool=index_summary",
        "g table_memtable_live_bytes table/MemtableLiveDataSize",
        "g table_memtable_columns table/MemtableColumnsCount",
        "c table_memtable_switches table/MemtableSwitchCount",
        "g table_compression_ratio table/CompressionRatio",
        "s table_estimated_partition_size_bytes table/EstimatedPartitionSizeHistogram",
        "g table_estimated_partitions table/EstimatedPartitionCount",
        "s table_estimated_columns table/EstimatedColumnCountHistogram",
        "s table_sstables_per_read table/SSTablesPerReadHistogram",
        "s table_operation_latency_seconds table/ReadLatency operation=read",
        "s table_operation_latency_seconds table/RangeLatency operation=range_read",
        "s table_operation_latency_seconds table/WriteLatency operation=write",
        "s table_operation_latency_seconds table/CasPrepareLatency operation=cas_prepare",
        "s table_operation_latency_seconds table/CasProposeLatency operation=cas_propose",
        "s table_operation_latency_seconds table/CasCommitLatency operation=cas_commit",
        "g table_pending_flushes table/PendingFlushes",
        "c table_flushed_bytes_total table/BytesFlushed",
        "c table_compaction_bytes_written_total table/CompactionBytesWritten",
        "g table_estimated_pending_compactions table/PendingCompactions",
        "g table_live_sstables table/LiveSSTableCount",
        "g table_live_disk_space_bytes table/LiveDiskSpaceUsed",
        "g table_disk_space_bytes table/TotalDiskSpaceUsed",
        "g table_partition_size_maximum_bytes table/MaxPartitionSize",
        "g table_partition_size_mean_bytes table/MeanPartitionSize",
        "g table_partition_size_minimum_bytes table/MinPartitionSize",
        "c table_bloom_filter_false_positives_total table/BloomFilterFalsePositives",
        "g table_bloom_filter_false_ratio table/BloomFilterFalseRatio",
        "g table_bloom_filter_disk_space_used_bytes table/BloomFilterDiskSpaceUsed",
        "g table_compression_metadata_offheap_bytes table/CompressionMetadataOffHeapMemoryUsed",
        "g table_key_cache_hit_ratio table/KeyCacheHitRate",
        "s table_tombstones_scanned table/TombstoneScannedHistogram",
        "s table_live_rows_scanned table/LiveScannedHistogram",
        "s table_column_update_time_delta_seconds table/ColUpdateTimeDeltaHistogram",
        "s table_view_lock_acquisition_seconds table/ViewLockAcquireTime",
        "s table_view_read_seconds table/ViewReadTime",
        "g table_snapshots_size_bytes_total table/SnapshotsSize",
        "g table_row_cache_hits table/RowCacheHit",
        "g table_row_cache_misses table/RowCacheHitOutOfRange miss_type=out_of_range",
        "g table_row_cache_misses table/RowCacheMiss miss_type=miss",
        "g table_repaired_ratio table/PercentRepaired",
        "s table_coordinator_latency_seconds table/CoordinatorReadLatency operation=read",
        "s table_coordinator_latency_seconds table/CoordinatorScanLatency operation=scan",
        "s table_free_memtable_latency_seconds table/WaitingOnFreeMemtableSpace",
        "c table_dropped_mutations_total table/DroppedMutations",
        "c table_speculative_retries_total table/SpeculativeRetries",
        "g thread_pool_active_tasks thread_pool/ActiveTasks",
        "g thread_pool_pending_tasks thread_pool/PendingTasks",
        "c thread_pool_completed_tasks_total thread_pool/CompletedTasks",
        "c thread_pool_blocked_tasks_total thread_pool/TotalBlockedTasks",
        "g thread_pool_blocked_tasks thread_pool/CurrentlyBlockedTasks",
        "g thread_pool_maximum_tasks thread_pool/MaxPoolSize",
        "g thread_pool_maximum_tasks_queued thread_pool/MaxTasksQueued",
        "c client_request_timeouts_total client_request*/Timeouts",
        "c client_request_unavailable_exceptions_total client_request*/Unavailables",
        "c client_request_failures_total client_request*/Failures",
        "s client_request_latency_seconds client_request*/Latency",
        "c client_request_cas_write_precondition_not_met_total client_request*/ConditionNotMet",
        "s client_request_cas_contentions client_request*/ContentionHistogram",
        "c client_request_cas_unfinished_commits_total client_request*/UnfinishedCommit",
        "c client_request_view_replica_writes_attempted_total client_request*/ViewReplicasAttempted",
        "c client_request_view_replica_writes_successful_total client_request*/ViewReplicasSuccess",
        "s client_request_view_write_latency_seconds client_request*/ViewWriteLatency",
        "g cache_capacity_bytes cache/Capacity",
        "g cache_estimated_size_bytes cache/Size",
        "g cache_entries cache/Entries",
        "c cache_requests_total cache/Requests",
        "c cache_hits_total cache/Hits",
        "s cache_miss_latency_seconds cache/MissLatency",
        "c client_authentication_failures_total client/AuthFailure",
        "c client_authentication_successes_total client/AuthSuccess",
        "g client_native_connections client/ConnectedNativeClients",
        "c commit_log_completed_tasks_total commit_log/CompletedTasks",
        "g commit_log_pending_tasks commit_log/PendingTasks",
        "g commit_log_size_bytes commit_log/TotalCommitLogSize",
        "s commit_log_segment_allocation_latency_seconds commit_log/WaitingOnSegmentAllocation",
        "s commit_log_commit_latency_seconds commit_log/WaitingOnCommit",
        "c compaction_bytes_compacted_total compaction/BytesCompacted",
        "c compaction_completed_tasks_total compaction/CompletedTasks",
        "c compaction_completed_total compaction/TotalCompactionsCompleted",
        "c dropped_messages_total dropped_message/Dropped",
        "s dropped_messages_internal_latency_seconds dropped_message/InternalDroppedLatency",
        "s dropped_messages_cross_node_latency_seconds dropped_message/CrossNodeDroppedLatency",
        "c buffer_pool_misses_total buffer_pool/Misses",
        "g buffer_pool_size_bytes buffer_pool/Size",
        "g cql_prepared_statements cql/PreparedStatementsCount",
        "c cql_prepared_statements_evicted_total cql/PreparedStatementsEvicted",
        "c cql_statements_executed_total cql/PreparedStatementsExecuted statement_type=prepared",
        "c cql_statements_executed_total cql/RegularStatementsExecuted statement_type=regular",
        "s memtable_pool_allocation_latency_seconds memtable_pool/BlockedOnAllocation",
        "s messaging_cross_node_latency_seconds messaging_datacenter/Latency",
        "c storage_exceptions_total storage/Exceptions",
        "g storage_load_bytes storage/Load",
        "c storage_hints_total storage/TotalHints",
        "g storage_hints_in_progress storage/TotalHintsInProgress",
        "g storage_filesystem_bytes_total filesystem/os_filesystem_size_bytes",
        "g storage_filesystem_usable_bytes filesystem/os_filesystem_available_bytes",
        "g storage_filesystem_unallocated_bytes filesystem/os_filesystem_free_bytes",
        "g endpoint_active peer/cassandra_peer_up",
        "c jvm_gc_collection_count gc/jvm_gc_collections_total",
        "c jvm_gc_estimated_collection_duration_seconds_total gc/jvm_gc_collection_seconds_total",
        "g jvm_memory_pool_used_bytes memory_pool/jvm_memory_pool_used_bytes",
        "g jvm_memory_pool_committed_bytes memory_pool/jvm_memory_pool_committed_bytes",
        "g jvm_memory_pool_maximum_bytes memory_pool/jvm_memory_pool_max_bytes",
        "g jvm_nio_buffer_pool_estimated_buffers jvm_buffer_pool/jvm_buffer_pool_buffers",
        "g jvm_nio_buffer_pool_estimated_capacity_bytes_total jvm_buffer_pool/jvm_buffer_pool_capacity_bytes",
        "g jvm_nio_buffer_pool_estimated_used_bytes jvm_buffer_pool/jvm_buffer_pool_used_bytes",
        "g os_1m_load_average os/os_load1",
        "g os_memory_bytes_total os/os_memory_total_bytes",
        "g os_free_memory_bytes os/os_memory_free_bytes",
        "g os_swap_bytes_total os/os_memory_swap_total_bytes",
        "g os_free_swap_bytes os/os_memory_swap_free_bytes",
        "g process_maximum_file_descriptors jvm/jvm_max_file_descriptors",
        "g process_open_file_descriptors jvm/jvm_open_file_descriptors",
        "g process_cpu_seconds_total jvm/jvm_process_cpu_seconds_total",
    };

    /** Which also say how the table is compacted. */
    private static final List<String> COMPACTED = List.of("cassandra_table_compaction_bytes_written_total", "cassandra_table_estimated_pending_compactions");

    private ExporterNames() {}

    static List<Label> node(Layout layout, Model model) {
        return List.of(Label.constant("cassandra_cluster", layout.cluster), Label.constant("cassandra_datacenter", model.datacenter()),
                Label.constant("cassandra_node", Label.host(model.fact("address"))), Label.constant("cassandra_rack", model.rack()));
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
                constant.add(Label.constant(fields[i].substring(0, fields[i].indexOf('=')), fields[i].substring(fields[i].indexOf('=') + 1)));
            }
            for (int t = 0; t < model.templateCount(); t++) {
                Template template = model.template(t);
                if (template.type.equals(entity) || entity.equals("table") && template.type.equals("index_table")
                        || entity.endsWith("*") && template.type.startsWith(entity.substring(0, entity.length() - 1))) {
                    List<Label> described = new ArrayList<>(constant);
                    described(template.type, "cassandra_" + fields[1], model, described);
                    add(layout, template, fields[0], "cassandra_" + fields[1], metric, described, node);
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

    /** The exporter counts the node among its endpoints, and its dashboards fill their variables from that. */
    private static void itself(Layout layout, Model model, List<Label> node) {
        for (int t = 0; t < model.templateCount(); t++) {
            Template template = model.template(t);
            for (int m = 0; m < template.metricCount(); m++) {
                Metric metric = template.metric(m);
                if (metric.name.equals("cassandra_node_gossip_running")) {
                    List<Label> labels = new ArrayList<>(List.of(Label.constant("endpoint", Label.host(model.fact("address"))),
                            Label.constant("endpoint_datacenter", model.datacenter()), Label.constant("endpoint_rack", model.rack())));
                    labels.addAll(node);
                    layout.add("cassandra_endpoint_active", Family.Type.GAUGE, "", Help.otherName(EXPORTER, metric, false),
                            new Family.Source(template, metric, labels, 0, 1));
                }
            }
        }
    }

    private static void add(Layout layout, Template template, String type, String name, String of, List<Label> constant, List<Label> node) {
        for (int m = 0; m < template.metricCount(); m++) {
            Metric metric = template.metric(m);
            boolean histogram = metric.kind == Kind.HISTOGRAM || metric.kind == Kind.GAUGE_HISTOGRAM;
            if (!of.equals(metric.origin) && !of.equals(metric.name) || histogram != type.equals("s")) {
                continue;
            }
            List<Label> labels = new ArrayList<>(labels(template));
            labels.addAll(constant);
            labels.addAll(node);
            Family.Source source = new Family.Source(template, metric, labels, 0, 1);
            source.without = template.type.equals("client_request") ? TOTALS : List.of();
            layout.add(name, type.equals("g") ? Family.Type.GAUGE : type.equals("c") ? Family.Type.COUNTER : Family.Type.SUMMARY, "",
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
                    labels.add(Label.of(named[0], index, named.length > 1 ? Label.Form.valueOf(named[1]) : Label.Form.PLAIN));
                }
                return labels;
            }
        }
        return OurNames.labels(template);
    }
}

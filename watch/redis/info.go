package redis

import (
	"strconv"
	"strings"
	"time"
)

// fields are INFO's and CLUSTER INFO's fields that are metrics without labels, with the names that
// redis_exporter gives them, without redis_. Others are ignored.
var fields = map[string]string{
	// Server
	"uptime_in_seconds":     "uptime_in_seconds",
	"process_id":            "process_id",
	"hz":                    "hz",
	"configured_hz":         "configured_hz",
	"io_threads_active":     "io_threads_active",
	"server_threads":        "server_threads_total",
	"long_lock_waits":       "long_lock_waits_total",
	"current_client_thread": "current_client_thread",
	// Clients
	"connected_clients":               "connected_clients",
	"cluster_connections":             "cluster_connections",
	"maxclients":                      "max_clients",
	"client_longest_output_list":      "client_longest_output_list",
	"client_biggest_input_buf":        "client_biggest_input_buf",
	"client_recent_max_output_buffer": "client_recent_max_output_buffer_bytes",
	"client_recent_max_input_buffer":  "client_recent_max_input_buffer_bytes",
	"blocked_clients":                 "blocked_clients",
	"tracking_clients":                "tracking_clients",
	"pubsub_clients":                  "pubsub_clients",
	"watching_clients":                "watching_clients",
	"clients_in_timeout_table":        "clients_in_timeout_table",
	"total_watched_keys":              "total_watched_keys",
	"total_blocking_keys":             "total_blocking_keys",
	"total_blocking_keys_on_nokey":    "total_blocking_keys_on_nokey",
	// Memory
	"used_memory":                   "memory_used_bytes",
	"used_memory_rss":               "memory_used_rss_bytes",
	"used_memory_peak":              "memory_used_peak_bytes",
	"used_memory_overhead":          "memory_used_overhead_bytes",
	"used_memory_startup":           "memory_used_startup_bytes",
	"used_memory_dataset":           "memory_used_dataset_bytes",
	"used_memory_lua":               "memory_used_lua_bytes",
	"used_memory_vm_eval":           "memory_used_vm_eval_bytes",
	"used_memory_scripts_eval":      "memory_used_scripts_eval_bytes",
	"used_memory_vm_functions":      "memory_used_vm_functions_bytes",
	"used_memory_vm_total":          "memory_used_vm_total",
	"used_memory_functions":         "memory_used_functions_bytes",
	"used_memory_scripts":           "memory_used_scripts_bytes",
	"number_of_cached_scripts":      "number_of_cached_scripts",
	"number_of_functions":           "number_of_functions",
	"number_of_libraries":           "number_of_libraries",
	"maxmemory":                     "memory_max_bytes",
	"maxmemory_reservation":         "memory_max_reservation_bytes",
	"maxmemory_desired_reservation": "memory_max_reservation_desired_bytes",
	"maxfragmentationmemory_reservation": "memory_max_fragmentation_reservation_" +
		"bytes",
	"maxfragmentationmemory_desired_reservation": "memory_max_fragmentation_reservation_" +
		"desired_bytes",
	"allocator_allocated":                 "allocator_allocated_bytes",
	"allocator_active":                    "allocator_active_bytes",
	"allocator_resident":                  "allocator_resident_bytes",
	"allocator_muzzy":                     "allocator_muzzy_bytes",
	"allocator_frag_ratio":                "allocator_frag_ratio",
	"allocator_frag_bytes":                "allocator_frag_bytes",
	"allocator_rss_ratio":                 "allocator_rss_ratio",
	"allocator_rss_bytes":                 "allocator_rss_bytes",
	"rss_overhead_ratio":                  "rss_overhead_ratio",
	"mem_fragmentation_ratio":             "mem_fragmentation_ratio",
	"mem_fragmentation_bytes":             "mem_fragmentation_bytes",
	"mem_not_counted_for_evict":           "mem_not_counted_for_eviction_bytes",
	"mem_total_replication_buffers":       "mem_total_replication_buffers_bytes",
	"mem_replication_backlog":             "mem_replication_backlog_bytes",
	"mem_overhead_db_hashtable_rehashing": "mem_overhead_db_hashtable_rehashing_bytes",
	"mem_clients_slaves":                  "mem_clients_slaves",
	"mem_clients_normal":                  "mem_clients_normal",
	"mem_cluster_links":                   "mem_cluster_links_bytes",
	"mem_aof_buffer":                      "mem_aof_buffer_bytes",
	"active_defrag_running":               "active_defrag_running",
	"lazyfree_pending_objects":            "lazyfree_pending_objects",
	"lazyfreed_objects":                   "lazyfreed_objects",
	// Persistence
	"loading":                      "loading_dump_file",
	"async_loading":                "async_loading",
	"rdb_changes_since_last_save":  "rdb_changes_since_last_save",
	"rdb_bgsave_in_progress":       "rdb_bgsave_in_progress",
	"rdb_last_save_time":           "rdb_last_save_timestamp_seconds",
	"rdb_last_bgsave_status":       "rdb_last_bgsave_status",
	"rdb_last_bgsave_time_sec":     "rdb_last_bgsave_duration_sec",
	"rdb_current_bgsave_time_sec":  "rdb_current_bgsave_duration_sec",
	"rdb_saves":                    "rdb_saves_total",
	"rdb_last_cow_size":            "rdb_last_cow_size_bytes",
	"rdb_last_load_keys_expired":   "rdb_last_load_expired_keys",
	"rdb_last_load_keys_loaded":    "rdb_last_load_loaded_keys",
	"aof_enabled":                  "aof_enabled",
	"aof_rewrite_in_progress":      "aof_rewrite_in_progress",
	"aof_rewrite_scheduled":        "aof_rewrite_scheduled",
	"aof_last_rewrite_time_sec":    "aof_last_rewrite_duration_sec",
	"aof_current_rewrite_time_sec": "aof_current_rewrite_duration_sec",
	"aof_last_bgrewrite_status":    "aof_last_bgrewrite_status",
	"aof_last_write_status":        "aof_last_write_status",
	"aof_last_cow_size":            "aof_last_cow_size_bytes",
	"aof_current_size":             "aof_current_size_bytes",
	"aof_base_size":                "aof_base_size_bytes",
	"aof_pending_rewrite":          "aof_pending_rewrite",
	"aof_buffer_length":            "aof_buffer_length",
	"aof_rewrite_buffer_length":    "aof_rewrite_buffer_length",
	"aof_pending_bio_fsync":        "aof_pending_bio_fsync",
	"aof_delayed_fsync":            "aof_delayed_fsync",
	"module_fork_in_progress":      "module_fork_in_progress",
	"module_fork_last_cow_size":    "module_fork_last_cow_size",
	// Stats
	"total_connections_received":                "connections_received_total",
	"total_commands_processed":                  "commands_processed_total",
	"rejected_connections":                      "rejected_connections_total",
	"total_net_input_bytes":                     "net_input_bytes_total",
	"total_net_output_bytes":                    "net_output_bytes_total",
	"total_net_repl_input_bytes":                "net_repl_input_bytes_total",
	"total_net_repl_output_bytes":               "net_repl_output_bytes_total",
	"sync_full":                                 "replica_resyncs_full",
	"sync_partial_ok":                           "replica_partial_resync_accepted",
	"sync_partial_err":                          "replica_partial_resync_denied",
	"expired_keys":                              "expired_keys_total",
	"expired_subkeys":                           "expired_subkeys_total",
	"expired_stale_perc":                        "expired_stale_percentage",
	"expired_time_cap_reached_count":            "expired_time_cap_reached_total",
	"expire_cycle_cpu_milliseconds":             "expire_cycle_cpu_time_ms_total",
	"evicted_keys":                              "evicted_keys_total",
	"evicted_clients":                           "evicted_clients_total",
	"evicted_scripts":                           "evicted_scripts_total",
	"total_eviction_exceeded_time":              "eviction_exceeded_time_ms_total",
	"current_eviction_exceeded_time":            "current_eviction_exceeded_time_ms",
	"keyspace_hits":                             "keyspace_hits_total",
	"keyspace_misses":                           "keyspace_misses_total",
	"pubsub_channels":                           "pubsub_channels",
	"pubsub_patterns":                           "pubsub_patterns",
	"pubsubshard_channels":                      "pubsubshard_channels",
	"migrate_cached_sockets":                    "migrate_cached_sockets_total",
	"slave_expires_tracked_keys":                "slave_expires_tracked_keys",
	"active_defrag_hits":                        "defrag_hits",
	"active_defrag_misses":                      "defrag_misses",
	"active_defrag_key_hits":                    "defrag_key_hits",
	"active_defrag_key_misses":                  "defrag_key_misses",
	"tracking_total_keys":                       "tracking_total_keys",
	"tracking_total_items":                      "tracking_total_items",
	"tracking_total_prefixes":                   "tracking_total_prefixes",
	"unexpected_error_replies":                  "unexpected_error_replies",
	"total_error_replies":                       "total_error_replies",
	"dump_payload_sanitizations":                "dump_payload_sanitizations",
	"total_reads_processed":                     "total_reads_processed",
	"total_writes_processed":                    "total_writes_processed",
	"io_threaded_reads_processed":               "io_threaded_reads_processed",
	"io_threaded_writes_processed":              "io_threaded_writes_processed",
	"client_query_buffer_limit_disconnections":  "client_query_buffer_limit_disconnections_total",
	"client_output_buffer_limit_disconnections": "client_output_buffer_limit_disconnections_total",
	"reply_buffer_shrinks":                      "reply_buffer_shrinks_total",
	"reply_buffer_expands":                      "reply_buffer_expands_total",
	"eventloop_cycles":                          "eventloop_cycles_total",
	"eventloop_duration_sum":                    "eventloop_duration_sum_usec_total",
	"eventloop_duration_cmd_sum":                "eventloop_duration_cmd_sum_usec_total",
	"instantaneous_eventloop_cycles_per_sec":    "instantaneous_eventloop_cycles_per_sec",
	"instantaneous_eventloop_duration_usec":     "instantaneous_eventloop_duration_usec",
	"acl_access_denied_auth":                    "acl_access_denied_auth_total",
	"acl_access_denied_cmd":                     "acl_access_denied_cmd_total",
	"acl_access_denied_key":                     "acl_access_denied_key_total",
	"acl_access_denied_channel":                 "acl_access_denied_channel_total",
	"cached_keys":                               "cached_keys_total",
	"storage_provider_read_hits":                "storage_provider_read_hits",
	"storage_provider_read_misses":              "storage_provider_read_misses",
	// Replication
	"connected_slaves":               "connected_slaves",
	"master_repl_offset":             "master_repl_offset",
	"second_repl_offset":             "second_repl_offset",
	"repl_backlog_active":            "repl_backlog_is_active",
	"repl_backlog_size":              "replication_backlog_bytes",
	"repl_backlog_first_byte_offset": "repl_backlog_first_byte_offset",
	"repl_backlog_histlen":           "repl_backlog_history_bytes",
	"slave_priority":                 "slave_priority",
	// Cluster
	"cluster_enabled":                 "cluster_enabled",
	"cluster_state":                   "cluster_state",
	"cluster_slots_assigned":          "cluster_slots_assigned",
	"cluster_slots_ok":                "cluster_slots_ok",
	"cluster_slots_pfail":             "cluster_slots_pfail",
	"cluster_slots_fail":              "cluster_slots_fail",
	"cluster_known_nodes":             "cluster_known_nodes",
	"cluster_size":                    "cluster_size",
	"cluster_current_epoch":           "cluster_current_epoch",
	"cluster_my_epoch":                "cluster_my_epoch",
	"cluster_stats_messages_sent":     "cluster_messages_sent_total",
	"cluster_stats_messages_received": "cluster_messages_received_total",
	// Sentinel
	"sentinel_masters":                "sentinel_masters",
	"sentinel_tilt":                   "sentinel_tilt",
	"sentinel_running_scripts":        "sentinel_running_scripts",
	"sentinel_scripts_queue_length":   "sentinel_scripts_queue_length",
	"sentinel_simulate_failure_flags": "sentinel_simulate_failure_flags",
}

// settings are fields that are settings, too, for which redis_exporter asks CONFIG GET.
var settings = map[string]string{"maxclients": "config_maxclients",
	"maxmemory": "config_maxmemory", "repl_backlog_size": "config_repl_backlog_size"}

// cpuFields are seconds with six decimals.
var cpuFields = map[string]string{
	"used_cpu_sys":              "cpu_sys_seconds_total",
	"used_cpu_user":             "cpu_user_seconds_total",
	"used_cpu_sys_children":     "cpu_sys_children_seconds_total",
	"used_cpu_user_children":    "cpu_user_children_seconds_total",
	"used_cpu_sys_main_thread":  "cpu_sys_main_thread_seconds_total",
	"used_cpu_user_main_thread": "cpu_user_main_thread_seconds_total",
}

// told are fields that say what the server is, in the order of redis_instance's labels.
var told = []string{"role", "redis_version", "redis_build_id", "redis_mode", "os",
	"maxmemory_policy", "tcp_port", "run_id", "process_id", "master_replid", "valkey_version",
	"valkey_release_stage"}

// info is what INFO said.
type info struct {
	values map[string]string // the first of each field
	usecs  map[string]int64  // microseconds of each command
	dbs    []string          // that have keys
}

// info takes the answer of INFO.
func (s *sheet) info(text string, now time.Time) info {
	of := info{values: map[string]string{}, usecs: map[string]int64{}}
	var percentiles [][2]string // they need the commands
	calls := map[string]int64{}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, found := strings.CutPrefix(line, "# "); found {
			section = name
			continue
		}
		field, value, found := strings.Cut(line, ":")
		if !found {
			continue
		}
		switch section {
		case "Commandstats":
			if cmd, found := strings.CutPrefix(field, "cmdstat_"); found {
				calls[cmd], of.usecs[cmd] = s.command(cmd, value)
			}
			continue
		case "Latencystats":
			if cmd, found := strings.CutPrefix(field, "latency_percentiles_usec_"); found {
				percentiles = append(percentiles, [2]string{cmd, value})
			}
			continue
		case "Errorstats":
			if kind, found := strings.CutPrefix(field, "errorstat_"); found {
				s.number("errors_total", 0, parts(value)["count"], kind)
			}
			continue
		case "Keyspace":
			if strings.HasPrefix(field, "db") {
				of.dbs = append(of.dbs, clean(field))
				s.database(field, parts(value))
			}
			continue
		case "Sentinel":
			if strings.HasPrefix(field, "master") {
				s.sentinelMaster(parts(value))
				continue
			}
		}
		if _, twice := of.values[field]; !twice {
			of.values[field] = value
			s.field(field, value)
		}
		if section == "Replication" {
			s.replication(field, value, of.values)
		}
	}
	for _, p := range percentiles {
		s.percentiles(p[0], p[1], calls, of.usecs)
	}
	labels := make([]string, len(told))
	for i, field := range told {
		labels[i] = of.values[field]
	}
	s.int("instance_info", 0, 1, labels...)
	if of.values["role"] == "slave" {
		s.int("slave_info", 0, 1, of.values["master_host"], of.values["master_port"],
			of.values["slave_read_only"])
	}
	if up, ok := decimal(of.values["uptime_in_seconds"], 0); ok {
		// The server's own clock makes it stand still.
		if usec, ok := decimal(of.values["server_time_usec"], 0); ok {
			now = time.UnixMicro(usec)
		}
		s.int("start_time_seconds", 0, now.Unix()-up)
	}
	return of
}

// field takes a field that is a metric without labels.
func (s *sheet) field(field, value string) {
	if name := fields[field]; name != "" {
		s.number(name, 0, value)
		if name := settings[field]; name != "" {
			s.number(name, 0, value)
		}
	} else if name := cpuFields[field]; name != "" {
		s.number(name, -6, value)
	} else if field == "latest_fork_usec" {
		if usec, ok := decimal(value, 0); ok {
			s.int("latest_fork_seconds", -6, usec)
		}
	} else if thread, found := strings.CutPrefix(field, "used_active_time_io_thread_"); found {
		s.number("active_time_io_thread_seconds_total", -6, value, thread)
	} else if messages, found := strings.CutPrefix(field, "cluster_stats_messages_"); found {
		name := "cluster_stats_messages_" + strings.ReplaceAll(messages, "-", "_")
		if _, known := described().metrics["redis_"+name]; known {
			s.number(name, 0, value)
		}
	}
}

// clusterInfo takes the answer of CLUSTER INFO.
func (s *sheet) clusterInfo(text string) {
	for line := range strings.Lines(text) {
		if field, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			s.field(field, value)
		}
	}
}

// parts reads a=1,b=2.
func parts(value string) map[string]string {
	of := map[string]string{}
	for part := range strings.SplitSeq(value, ",") {
		if name, v, found := strings.Cut(part, "="); found {
			of[name] = v
		}
	}
	return of
}

func (s *sheet) command(cmd, value string) (calls, usec int64) {
	of := parts(value)
	calls, ok := decimal(of["calls"], 0)
	usec, timed := decimal(of["usec"], 0)
	if !ok || !timed || calls < 0 || usec < 0 {
		return -1, -1
	}
	s.int("commands_total", 0, calls, cmd)
	s.int("commands_duration_seconds_total", -6, usec, cmd)
	s.number("commands_rejected_calls_total", 0, of["rejected_calls"], cmd)
	s.number("commands_failed_calls_total", 0, of["failed_calls"], cmd)
	return calls, usec
}

func (s *sheet) percentiles(cmd, value string, calls, usecs map[string]int64) {
	n, known := calls[cmd]
	if !known || n < 0 {
		return
	}
	s.int("latency_percentiles_usec_count", 0, n, cmd)
	s.int("latency_percentiles_usec_sum", 0, usecs[cmd], cmd)
	for name, v := range parts(value) {
		of, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
		if err != nil || of < 0 || !(of <= 100) {
			continue
		}
		s.number("latency_percentiles_usec", 0, v, cmd, strconv.FormatFloat(of, 'f', -1, 64))
	}
}

func (s *sheet) database(db string, of map[string]string) {
	s.number("db_keys", 0, of["keys"], db)
	s.number("db_keys_expiring", 0, of["expires"], db)
	s.number("db_keys_cached", 0, of["cached_keys"], db)
	if ms, ok := decimal(of["avg_ttl"], 0); ok {
		s.int("db_avg_ttl_seconds", -3, ms, db)
	}
}

// replication takes what a replica says of its master, of each of several with KeyDB, and a master
// of its replicas. before are the fields so far: a master's host and port come first.
func (s *sheet) replication(field, value string, before map[string]string) {
	if rest, found := strings.CutPrefix(field, "slave"); found &&
		strings.Trim(rest, "0123456789") == "" && rest != "" {
		of := parts(value)
		labels := []string{of["ip"], of["port"], of["state"]}
		s.number("connected_slave_offset_bytes", 0, of["offset"], labels...)
		if lag, ok := decimal(of["lag"], 0); ok && lag >= 0 {
			s.int("connected_slave_lag_seconds", 0, lag, labels...)
		}
		return
	}
	prefix, rest := "master_", ""
	switch after, found := strings.CutPrefix(field, "master_"); {
	case field == "slave_repl_offset":
		rest = field
	case found:
		rest = after
		if number, of, found := strings.Cut(after, "_"); found &&
			strings.Trim(number, "0123456789") == "" {
			prefix, rest = "master_"+number+"_", of
		}
	default:
		return
	}
	labels := []string{before[prefix+"host"], before[prefix+"port"]}
	switch rest {
	case "link_status":
		up := int64(0)
		if value == "up" {
			up = 1
		}
		s.int("master_link_up", 0, up, labels...)
	case "last_io_seconds_ago", "sync_in_progress":
		s.number("master_"+rest, 0, value, labels...)
	case "slave_repl_offset":
		s.number(rest, 0, value, labels...)
	}
}

// sentinelMaster takes a master in a sentinel's INFO.
func (s *sheet) sentinelMaster(of map[string]string) {
	ok := int64(0)
	if of["status"] == "ok" {
		ok = 1
	}
	s.int("sentinel_master_status", 0, ok, of["name"], of["address"], of["status"])
	s.number("sentinel_master_slaves", 0, of["slaves"], of["name"], of["address"])
	s.number("sentinel_master_sentinels", 0, of["sentinels"], of["name"], of["address"])
}

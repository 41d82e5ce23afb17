package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/watch/encoder"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// struck is markup that would change a page if a page took it for more than text.
const struck = `"><img src=x onerror=struck=true>`

// oddNames are what groups, topics and commands may be called.
var oddNames = []string{struck, strings.Repeat("w", 255), "группа-日本-🦆-\u202egnidaer",
	"$1 {{x}} \\"}

// watched lets nodes of an account send as the role watch does, until the tests end: a Kafka
// cluster, a Redis with a replica and one that does not answer, two of no known kind, and a Kafka
// with a Cassandra node in one cluster.
func (s *stage) watched() error {
	target := func(kind, cluster, job, instance string) reading.Target {
		return reading.Target{Kind: kind, Cluster: cluster, Datacenter: "dc1", Job: job,
			Instance: instance, Interval: time.Second}
	}
	silent := func(int) *reading.Reading {
		return scraped(0, "dial tcp 10.0.0.3:6379: <b>connection refused</b>")
	}
	for _, n := range []struct {
		target reading.Target
		read   func(step int) *reading.Reading
	}{
		{target(reading.Kafka, "events", "kafka", "k1:9092"), readKafka},
		{target(reading.Kafka, "mixed", "kafka", "k9:9092"), readKafka},
		{target(reading.Redis, "cache", "redis", "r1:6379"),
			func(step int) *reading.Reading { return readRedis(step, "master") }},
		{target(reading.Redis, "cache", "redis", "r2:6379"),
			func(step int) *reading.Reading { return readRedis(step, "slave") }},
		{target(reading.Redis, "cache", "redis", "r3:6379"), silent},
		{target(reading.Other, "machines", "node", "m1:9100"), readOther},
		{target("kind "+struck, "machines", struck, "odd"+struck), readOther},
	} {
		e := encoder.New(n.target, time.Now().UnixMilli(),
			frame.Fact{Name: "instance", Value: n.target.Instance},
			frame.Fact{Name: "job", Value: n.target.Job})
		step := 0
		if err := s.sendEvery(watchedAccount, func() ([]byte, error) {
			step++
			b, left, err := e.Frame(time.Now().UnixMilli(), 0, n.read(step))
			if err == nil && left > 0 {
				err = fmt.Errorf("%d series of %s do not fit into a frame", left, n.target.Instance)
			}
			return b, err
		}); err != nil {
			return err
		}
	}
	node := frametest.New("mixed", 77, 2)
	node.Interval = 1000
	return s.sendEvery(watchedAccount, func() ([]byte, error) {
		node.Step()
		return node.Frame(time.Now().UnixMilli()), nil
	})
}

// scraped is what every reading says of itself, and the sentences that say what failed.
func scraped(up float64, errors ...string) *reading.Reading {
	r := &reading.Reading{}
	add(r, "scrape", nil, split(""), gauges("up", up), gauges("scrape_duration_seconds", 0.042),
		gauges("scrape_samples_scraped", 321))
	for _, e := range errors {
		add(r, "scrape_error", []string{"error"}, [][]string{{e}},
			gauges("ringwatch_target_error_info", 1))
	}
	return r
}

// add adds a table to a reading.
func add(r *reading.Reading, name string, labels []string, rows [][]string, c ...reading.Column) {
	if len(labels) == 0 {
		rows = [][]string{{}}
	}
	r.Tables = append(r.Tables, reading.Table{Type: name, Labels: labels, Rows: rows, Columns: c})
}

// split returns rows of one label, or of several, with spaces between the values.
func split(list ...string) [][]string {
	out := make([][]string, len(list))
	for i, text := range list {
		out[i] = strings.Split(text, " ")
	}
	return out
}

func gauges(name string, values ...float64) reading.Column {
	return reading.Column{Name: name, Kind: frame.GaugeDouble, Doubles: values}
}

func counters(name string, values ...int64) reading.Column {
	return reading.Column{Name: name, Kind: frame.Counter, Ints: values}
}

// readKafka is a cluster of three brokers, of which one is away. The group billing stands still.
func readKafka(step int) *reading.Reading {
	r := scraped(1, "broker 3 did not answer: <b>i/o timeout</b>")
	r.Facts = []frame.Fact{{Name: "version", Value: "4.1.0"}}
	n := float64(step)
	add(r, "kafka_cluster", nil, nil, gauges("kafka_brokers", 2),
		gauges("kafka_cluster_unanswered_brokers", 1), gauges("kafka_cluster_controllers", 1),
		gauges("kafka_cluster_topics", 3), gauges("kafka_cluster_partitions", 21),
		gauges("kafka_cluster_consumergroups", 8), gauges("kafka_cluster_offline_partitions", 1),
		gauges("kafka_cluster_under_replicated_partitions", 5),
		gauges("kafka_cluster_lag", 120_000+n), gauges("kafka_cluster_max_lag_seconds", 3600+n),
		gauges("kafka_cluster_log_size_bytes", 5<<30),
		gauges("kafka_cluster_unanswered_questions", 1), gauges("kafka_quorum_leader", 101),
		gauges("kafka_quorum_voters", 3))
	add(r, "kafka_broker", []string{"broker"}, split("1", "2", "3"),
		gauges("kafka_broker_up", 1, 1, 0), gauges("kafka_controller", 0, 1, 0),
		gauges("kafka_broker_leaders", 12, 8, 0), gauges("kafka_broker_leader_skew", 0.8, 0.2, -1),
		gauges("kafka_broker_replicas", 21, 21, 21),
		gauges("kafka_broker_out_of_sync_replicas", 0, 0, 5),
		gauges("kafka_broker_log_size_bytes", 3<<30, 2<<30, 0))
	add(r, "kafka_broker_info", []string{"id", "address"},
		[][]string{{"1", "k1:9092"}, {"2", "k2:9092" + struck}},
		gauges("kafka_broker_info", 1, 1))
	topics := append([]string{"orders", "audit"}, oddNames...)
	groups := append([]string{"billing", "search", "ringwatch-store", "ringwatch-recent"},
		oddNames...)
	var topic, group, of, state [][]string
	var still, little, behind, members []float64
	for _, name := range topics {
		topic = append(topic, []string{name})
		still = append(still, 3)
	}
	offsets, under := repeat(1000, len(topics)), repeat(0, len(topics))
	offsets[0], under[0], under[1] = 1e6+500*n, 2, 3
	offline := repeat(0, len(topics))
	offline[1] = 1
	add(r, "kafka_topic", []string{"topic"}, topic, gauges("kafka_topic_partitions", still...),
		gauges("kafka_topic_replication_factor", still...),
		gauges("kafka_topic_offline_partitions", offline...),
		gauges("kafka_topic_under_replicated_partitions", under...),
		gauges("kafka_topic_current_offset_sum", offsets...),
		gauges("kafka_topic_log_size_bytes", repeat(1<<30, len(topics))...))
	for i, name := range groups {
		group = append(group, []string{name})
		of = append(of, []string{name, topics[max(0, i-3)]})
		state = append(state, []string{name, "Stable"})
		members, little = append(members, 2), append(little, float64(5+i))
		behind = append(behind, float64(i)/10)
	}
	members[0], state[0][1] = 0, "Empty"
	little[0], behind[0] = 120_000+500*n, 3600+n
	little[2], little[3] = 77, 33
	commit := repeat(float64(time.Now().Unix()), len(groups))
	commit[0] -= 3600 + n
	add(r, "kafka_consumergroup", []string{"consumergroup"}, group,
		gauges("kafka_consumergroup_members", members...))
	add(r, "kafka_consumergroup_state", []string{"consumergroup", "state"}, state,
		gauges("kafka_consumergroup_state", repeat(1, len(groups))...))
	add(r, "kafka_consumergroup_topic", []string{"consumergroup", "topic"}, of,
		gauges("kafka_consumergroup_lag_sum", little...),
		gauges("kafka_consumergroup_lag_seconds", behind...),
		gauges("kafka_consumergroup_current_offset_sum", offsetsOf(len(groups), n)...),
		gauges("kafka_consumergroup_lost_partitions", repeat(0, len(groups))...),
		gauges("kafka_consumergroup_beyond_history_partitions", repeat(0, len(groups))...),
		gauges("kafka_consumergroup_last_commit_timestamp_seconds", commit...))
	return r
}

func repeat(v float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// offsetsOf are the committed offsets of groups, of which the first stands still.
func offsetsOf(n int, step float64) []float64 {
	list := repeat(500*step, n)
	list[0] = 1000
	return list
}

// readRedis is a server whose memory is nearly full, and whose replica has lost it.
func readRedis(step int, role string) *reading.Reading {
	r := scraped(1)
	r.Facts = []frame.Fact{{Name: "version", Value: "8.0.2"}}
	n := int64(step)
	now := float64(time.Now().Unix())
	add(r, "redis", nil, nil, gauges("redis_up", 1), gauges("redis_uptime_in_seconds", 90_061),
		gauges("redis_start_time_seconds", now-90_061), gauges("redis_connected_clients", 12),
		gauges("redis_blocked_clients", 1), gauges("redis_max_clients", 10_000),
		gauges("redis_memory_used_bytes", 950<<20), gauges("redis_memory_used_rss_bytes", 1<<30),
		gauges("redis_memory_max_bytes", 1000<<20), gauges("redis_mem_fragmentation_ratio", 1.1),
		counters("redis_commands_processed_total", 200*n),
		counters("redis_keyspace_hits_total", 90*n), counters("redis_keyspace_misses_total", 10*n),
		counters("redis_evicted_keys_total", 4*n), counters("redis_expired_keys_total", 2*n),
		counters("redis_net_input_bytes_total", 9000*n),
		counters("redis_net_output_bytes_total", 8000*n),
		counters("redis_connections_received_total", n),
		counters("redis_rejected_connections_total", 0),
		counters("redis_cpu_sys_seconds_total", n/10),
		counters("redis_cpu_user_seconds_total", n/5),
		gauges("redis_connected_slaves", 1), gauges("redis_master_repl_offset", float64(1000*n)),
		gauges("redis_rdb_last_save_timestamp_seconds", now-7200),
		gauges("redis_rdb_last_bgsave_status", 0),
		gauges("redis_rdb_last_bgsave_duration_sec", 3),
		gauges("redis_rdb_changes_since_last_save", 55),
		gauges("redis_aof_enabled", 1), gauges("redis_aof_last_write_status", 1),
		gauges("redis_latest_fork_seconds", 0.25), gauges("redis_slowlog_length", 17),
		gauges("redis_slowlog_last_id", 40), gauges("redis_slowlog_last_timestamp_seconds",
			now-600),
		gauges("redis_last_slow_execution_duration_seconds", 0.123))
	instance := []string{"role", "redis_version", "redis_mode", "os", "maxmemory_policy"}
	add(r, "redis_instance", instance,
		[][]string{{role, "8.0.2", "standalone", "Linux " + struck, "allkeys-lru"}},
		gauges("redis_instance_info", 1))
	if role == "slave" {
		master := [][]string{{"r1" + struck, "6379"}}
		labels := []string{"master_host", "master_port"}
		add(r, "redis_slave", labels, master, gauges("redis_slave_info", 1))
		add(r, "redis_master", labels, master, gauges("redis_master_link_up", 0),
			gauges("redis_master_last_io_seconds_ago", -1))
	} else {
		add(r, "redis_replica", []string{"slave_ip", "slave_port", "slave_state"},
			split("10.0.0.2 6379 online"), gauges("redis_connected_slave_lag_seconds", 1),
			gauges("redis_connected_slave_offset_bytes", float64(990*n)))
	}
	add(r, "redis_db", []string{"db"}, split("db0"), gauges("redis_db_keys", 12_345),
		gauges("redis_db_keys_expiring", 45))
	var commands [][]string
	var calls []int64
	var times []reading.Histogram
	for i, name := range append([]string{"get", "set", "config|get"}, oddNames...) {
		commands = append(commands, []string{name})
		calls = append(calls, 100*n/int64(i+1))
		times = append(times, reading.Histogram{Counts: []int64{0, 100 * n, n, 0}, Sum: 900 * n})
	}
	seconds := counters("redis_commands_duration_seconds_total", calls...)
	seconds.Exponent = -5
	failed := counters("redis_commands_failed_calls_total", make([]int64, len(calls))...)
	add(r, "redis_command", []string{"cmd"}, commands, counters("redis_commands_total", calls...),
		seconds, failed)
	add(r, "redis_latency", []string{"cmd"}, commands, reading.Column{
		Name: "redis_commands_latencies_usec", Kind: frame.Histogram, HasSum: true,
		Bounds: frame.Bounds{Upper: []int64{1, 10, 100}}, Histograms: times})
	return r
}

// readOther is something with /metrics of which nobody knows more.
func readOther(step int) *reading.Reading {
	r := scraped(1)
	add(r, "process", nil, nil, counters("process_cpu_seconds_total", int64(step)),
		gauges("process_resident_memory_bytes", 64<<20))
	for i := range 120 {
		add(r, fmt.Sprintf("some_%d", i), []string{"device"}, [][]string{{struck}, {"eth0"}},
			gauges(fmt.Sprintf("some_metric_%d", i), float64(step), 2))
	}
	return r
}

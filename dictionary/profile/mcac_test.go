package profile

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

func TestMcacClean(t *testing.T) {
	for name, want := range map[string]string{
		"LiveSSTableCount": "live_ss_table_count", "READ_REQ": "read_req", "CASRead": "cas_read",
		"Native-Transport-Requests": "native.transport.requests",
		"Read.LOCAL_ONE":            "read.local_one",
		"Hints_created":             "hints_created", "KeyCache": "key_cache", "a__b": "a_b",
		"SSTablesPerReadHistogram": "ss_tables_per_read_histogram",
	} {
		if got := mcacClean(name); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
}

// TestMcac holds the values that the agent's test of the same name asks for.
func TestMcac(t *testing.T) {
	at := []int64{1}
	series := func(m *window.Metric, own []string) window.Series {
		return window.Series{Metric: m, At: at,
			Labels: labels.FromStrings(append([]string{labels.MetricName, m.Name}, own...)...)}
	}
	number := func(entity, name string, exponent int, value int64, own ...string) window.Series {
		m := &window.Metric{Type: entity, Name: name, Kind: frame.Gauge, Exponent: exponent}
		s := series(m, own)
		s.Ints = []int64{value}
		return s
	}
	table := []string{"keyspace", "ks", "table", "t"}
	reads := series(&window.Metric{Type: "table", Name: "cassandra_table_read_latency_seconds",
		Kind: frame.Histogram, Unit: "seconds", HasSum: true, Exponent: -6,
		Bounds: &frame.Bounds{Exponent: -6, Upper: []int64{29, 35, 42, 60}}}, table)
	reads.Histograms = []window.Histogram{window.NewHistogram([]int64{0, 1, 0, 2, 1}, 123456)}
	disk := []string{"device", "sda", "mount", "/var/lib"}
	shown, err := Named("mcac").Show(t.Context(), sampleNode(), []window.Series{
		reads,
		number("table", "cassandra_table_live_sstables", 0, 3, table...),
		number("table", "cassandra_table_live_disk_space_used_bytes", 0, 4096, table...),
		number("table", "cassandra_table_memtable_on_heap_data_size_bytes", 0, 9, table...),
		number("thread_pool", "cassandra_thread_pool_completed_tasks_total", 0, 7,
			"path", "request", "pool", "ReadStage"),
		number("client_request_by_consistency",
			"cassandra_client_request_by_consistency_timeouts_total", 0, 8,
			"request", "Read", "consistency", "ONE"),
		number("gc", "jvm_gc_collection_seconds_total", -3, 1500, "gc", "G1 Old Generation"),
		number("network", "os_network_received_bytes_total", 0, 1, "device", "lo"),
		number("network", "os_network_received_bytes_total", 0, 5, "device", "eth0"),
		number("messaging", "cassandra_messaging_timeouts_total", 0, 12),
		number("paxos", "cassandra_paxos_linearizability_violations_total", 0, 6),
		number("os", "os_memory_total_bytes", 0, 100),
		number("os", "os_memory_free_bytes", 0, 20),
		number("os", "os_memory_cached_bytes", 0, 30),
		number("filesystem", "os_filesystem_size_bytes", 0, 100, disk...),
		number("filesystem", "os_filesystem_free_bytes", 0, 40, disk...),
		number("filesystem", "os_filesystem_available_bytes", 0, 30, disk...),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for i := range shown.Series {
		all := shown.Series[i].Labels
		own := labels.NewBuilder(all)
		node := map[string]string{"cluster": "c", "dc": "dc", "rack": "r", "instance": "10.0.0.1"}
		for name, want := range node {
			if all.Get(name) != want {
				t.Errorf("%s is not %s: %s", name, want, all)
			}
			own.Del(name)
		}
		own.Del("datacenter", "node", labels.MetricName)
		got[all.Get(labels.MetricName)+own.Labels().String()] = shown.Series[i].Doubles[0]
	}
	violations := `collectd_mcac_counter_total{mcac="` + mcacRegistry +
		`paxos.linearizability_violations"}`
	completed := `mcac_thread_pools_completed_tasks{mcac="` + mcacRegistry +
		`thread_pools.completed_tasks.request.read_stage", pool_name="read_stage", ` +
		`pool_type="request"}`
	timeouts := `collectd_mcac_counter_total{mcac="` + mcacRegistry +
		`connection.total_timeouts"}`
	for series, want := range map[string]float64{
		`mcac_table_read_latency_bucket{keyspace="ks", le="35", table="t"}`:       1,
		`mcac_table_read_latency_bucket{keyspace="ks", le="60", table="t"}`:       3,
		`mcac_table_read_latency_bucket{keyspace="ks", le="17436917", table="t"}`: 3,
		`mcac_table_read_latency_bucket{keyspace="ks", le="+Inf", table="t"}`:     4,
		`mcac_table_read_latency_total{keyspace="ks", table="t"}`:                 4,
		`mcac_table_read_latency_sum{keyspace="ks", table="t"}`:                   123456,
		`mcac_table_read_total_latency_total{keyspace="ks", table="t"}`:           123456,
		`mcac_table_live_ss_table_count{keyspace="ks", table="t"}`:                3,
		`mcac_table_live_disk_space_used_total{keyspace="ks", table="t"}`:         4096,
		`mcac_table_memtable_on_heap_data_size{keyspace="ks", table="t"}`:         9,
		`mcac_table_memtable_on_heap_size{keyspace="ks", table="t"}`:              9,
		`mcac_client_request_timeouts_cl_total{cl="one", request_type="read"}`:    8,
		`mcac_jvm_gc_time{collector_type="g1_old_generation"}`:                    1500,
		`collectd_interface_if_octets_rx_total{interface="eth0"}`:                 5,
		`collectd_collectd_queue_length{collectd="write_queue"}`:                  0,
		`collectd_memory{memory="used"}`:                                          50,
		`collectd_memory{memory="free"}`:                                          20,
		`collectd_df_df_complex{df="var-lib", type="free"}`:                       30,
		`collectd_df_df_complex{df="var-lib", type="reserved"}`:                   10,
		`collectd_df_df_complex{df="var-lib", type="used"}`:                       60,
		violations: 6,
		completed:  7,
		timeouts:   12,
	} {
		if value, there := got[series]; !there || value != want {
			t.Errorf("%s is %v, %v, not %v", series, value, there, want)
		}
	}
	for series := range got {
		if strings.Contains(series, `interface="lo"`) {
			t.Errorf("%s is there", series)
		}
	}
}

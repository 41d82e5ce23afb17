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
		"Native-Transport-Requests": "native.transport.requests", "Read.LOCAL_ONE": "read.local_one",
		"Hints_created": "hints_created", "KeyCache": "key_cache", "a__b": "a_b",
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
	histogram := func(name, unit string, hasSum bool, upper, counts []int64, sum int64) window.Series {
		m := &window.Metric{Type: "table", Name: name, Kind: frame.Histogram, Unit: unit, HasSum: hasSum, Exponent: -6,
			Bounds: &frame.Bounds{Exponent: -6, Upper: upper}}
		return window.Series{Metric: m, At: at, Histograms: []window.Histogram{window.NewHistogram(counts, sum)},
			Labels: labels.FromStrings(labels.MetricName, name, "keyspace", "ks", "table", "t")}
	}
	number := func(entity, name string, exponent int, value int64, own ...string) window.Series {
		return window.Series{Metric: &window.Metric{Type: entity, Name: name, Kind: frame.Gauge, Exponent: exponent}, At: at,
			Ints: []int64{value}, Labels: labels.FromStrings(append(own, labels.MetricName, name)...)}
	}
	table := []string{"keyspace", "ks", "table", "t"}
	now := []window.Series{
		histogram("cassandra_table_read_latency_seconds", "seconds", true, []int64{29, 35, 42, 60}, []int64{0, 1, 0, 2, 1}, 123456),
		number("table", "cassandra_table_live_sstables", 0, 3, table...),
		number("table", "cassandra_table_live_disk_space_used_bytes", 0, 4096, table...),
		number("table", "cassandra_table_memtable_on_heap_data_size_bytes", 0, 9, table...),
		number("thread_pool", "cassandra_thread_pool_completed_tasks_total", 0, 7, "path", "request", "pool", "ReadStage"),
		number("client_request_by_consistency", "cassandra_client_request_by_consistency_timeouts_total", 0, 9, "request", "Read", "consistency", "ONE"),
		number("gc", "jvm_gc_collection_seconds_total", -3, 1500, "gc", "G1 Old Generation"),
		number("network", "os_network_received_bytes_total", 0, 1, "device", "lo"),
		number("network", "os_network_received_bytes_total", 0, 5, "device", "eth0"),
		number("paxos", "cassandra_paxos_linearizability_violations_total", 0, 6),
		number("filesystem", "os_filesystem_size_bytes", 0, 100, "device", "sda", "mount", "/var/lib"),
		number("filesystem", "os_filesystem_free_bytes", 0, 40, "device", "sda", "mount", "/var/lib"),
		number("filesystem", "os_filesystem_available_bytes", 0, 30, "device", "sda", "mount", "/var/lib"),
	}
	shown, err := Named("mcac").Show(t.Context(), sampleNode(), now, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for i := range shown.Series {
		own := labels.NewBuilder(shown.Series[i].Labels).Del("cluster", "datacenter", "rack", "node", "dc", "instance").Labels()
		got[own.String()] = shown.Series[i].Doubles[0]
		if l := shown.Series[i].Labels; l.Get("cluster") != "c" || l.Get("dc") != "dc" || l.Get("rack") != "r" || l.Get("instance") != "10.0.0.1" {
			t.Errorf("not all labels of the node: %s", l)
		}
	}
	for series, want := range map[string]float64{
		`{__name__="mcac_table_read_latency_bucket", keyspace="ks", le="35", table="t"}`:                                                                                                   1,
		`{__name__="mcac_table_read_latency_bucket", keyspace="ks", le="60", table="t"}`:                                                                                                   3,
		`{__name__="mcac_table_read_latency_bucket", keyspace="ks", le="17436917", table="t"}`:                                                                                             3,
		`{__name__="mcac_table_read_latency_bucket", keyspace="ks", le="+Inf", table="t"}`:                                                                                                 4,
		`{__name__="mcac_table_read_latency_total", keyspace="ks", table="t"}`:                                                                                                             4,
		`{__name__="mcac_table_read_latency_sum", keyspace="ks", table="t"}`:                                                                                                               123456,
		`{__name__="mcac_table_read_total_latency_total", keyspace="ks", table="t"}`:                                                                                                       123456,
		`{__name__="mcac_table_live_ss_table_count", keyspace="ks", table="t"}`:                                                                                                            3,
		`{__name__="mcac_table_live_disk_space_used_total", keyspace="ks", table="t"}`:                                                                                                     4096,
		`{__name__="mcac_table_memtable_on_heap_data_size", keyspace="ks", table="t"}`:                                                                                                     9,
		`{__name__="mcac_table_memtable_on_heap_size", keyspace="ks", table="t"}`:                                                                                                          9,
		`{__name__="mcac_client_request_timeouts_cl_total", cl="one", request_type="read"}`:                                                                                                9,
		`{__name__="mcac_jvm_gc_time", collector_type="g1_old_generation"}`:                                                                                                                1500,
		`{__name__="collectd_interface_if_octets_rx_total", interface="eth0"}`:                                                                                                             5,
		`{__name__="collectd_df_df_complex", df="var-lib", type="free"}`:                                                                                                                   30,
		`{__name__="collectd_df_df_complex", df="var-lib", type="reserved"}`:                                                                                                               10,
		`{__name__="collectd_df_df_complex", df="var-lib", type="used"}`:                                                                                                                   60,
		`{__name__="collectd_mcac_counter_total", mcac="org.apache.cassandra.metrics.paxos.linearizability_violations"}`:                                                                   6,
		`{__name__="mcac_thread_pools_completed_tasks", mcac="org.apache.cassandra.metrics.thread_pools.completed_tasks.request.read_stage", pool_name="read_stage", pool_type="request"}`: 7,
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

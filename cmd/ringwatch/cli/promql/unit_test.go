package promql

import "testing"

func TestUnitOf(t *testing.T) {
	for expression, want := range map[string]string{
		"cassandra_jvm_gc_pause_seconds":                                       "seconds",
		`max by (node) (cassandra_table_live_disk_space_used_bytes{node!=""})`: "bytes",
		"rate(os_network_receive_bytes_total[5m])":                             "bytes per second",
		"sum(rate(cassandra_table_read_latency_seconds_count[5m]))":            "per second",
		"sum(rate(cassandra_table_read_latency_seconds[5m]))":                  "",
		"histogram_quantile(0.99, sum by (cluster) " +
			"(rate(cassandra_client_request_latency_seconds[5m])))": "seconds",
		"histogram_quantile(0.5, sum by (le) (rate(a_size_bytes_bucket[5m])))": "bytes",
		"increase(a_bytes_total[1h])":                                          "bytes",
		"topk(3, max_over_time(a_seconds[1h:5m]))":                             "seconds",
		"ringwatch_node_last_seen_timestamp_seconds":                           "",
		"os_load1":          "",
		"count(a_bytes)":    "",
		"a_bytes / b_bytes": "",
		"a_bytes{":          "",
	} {
		if got := unitOf(expression); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

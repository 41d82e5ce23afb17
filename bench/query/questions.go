package main

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The groups of questions. RESULT has medians over short and rolled.
const (
	short  = "short"  // up to 6 hours, of samples
	day    = "day"    // a day of samples
	rolled = "rollup" // Ringwatch answers from rollups, the peers from their samples
	meta   = "metadata"

	ofFleet   = "fleet"
	fleetMeta = "fleet metadata"
)

// question is what a dashboard asks. $cluster, $node, $keyspace and $table stand for what differs from request to request.
type question struct {
	group, title string
	promql       string
	theirs       string        // the peers' words; empty: the same
	path         string        // of what is no query; promql is match[] then
	span, step   time.Duration // of a range; no span: an instant
	// near is how far the values of two sides may lie apart, in the median, as a share of the larger: 0 where both have samples and one engine.
	near  float64
	alone bool // the peers have nothing to say
}

const (
	requests = "cassandra_client_request_latency_seconds"
	writes   = "cassandra_table_write_latency_seconds"
	heap     = "jvm_heap_used_bytes"
	pending  = "cassandra_compaction_pending_tasks"

	// sameBucket is how far quantiles may lie apart: Prometheus's classic buckets of ours are every eighth bound, a factor of four.
	sameBucket = 0.8
)

var shortQuestions = []question{
	{group: short, title: "one node, requests by kind, 1 h at 20 s", promql: `sum by (request) (rate(` + requests + `_count{node="$node"}[2m]))`, span: time.Hour, step: 20 * time.Second},
	{group: short, title: "one node, heap, 1 h at 20 s", promql: heap + `{node="$node"}`, span: time.Hour, step: 20 * time.Second},
	{group: short, title: "one table over a cluster, writes by node, 1 h at 20 s", promql: `sum by (node) (rate(` + writes + `_count{cluster="$cluster",keyspace="$keyspace",table="$table"}[2m]))`, span: time.Hour, step: 20 * time.Second},
	{group: short, title: "p99 by cluster, 6 h at 1 min: native histograms, the peers' buckets", promql: `histogram_quantile(0.99, sum by (cluster) (rate(` + requests + `{request="Write"}[5m])))`,
		theirs: `histogram_quantile(0.99, sum by (cluster, le) (rate(` + requests + `_bucket{request="Write"}[5m])))`, span: 6 * time.Hour, step: time.Minute, near: sameBucket},
	{group: short, title: "p99 by cluster, 6 h at 1 min: buckets on all sides", promql: `histogram_quantile(0.99, sum by (cluster, le) (rate(` + requests + `_bucket{request="Write"}[5m])))`, span: 6 * time.Hour, step: time.Minute},
	{group: short, title: "top 10 tables by writes, now", promql: `topk(10, sum by (cluster, keyspace, table) (rate(` + writes + `_count[5m])) > 0)`},
	{group: short, title: "top 10 tables by writes, 1 h at 1 min", promql: `topk(10, sum by (cluster, keyspace, table) (rate(` + writes + `_count[5m])) > 0)`, span: time.Hour, step: time.Minute},
	{group: short, title: "nodes that are down, now", promql: `sum by (cluster) (up == bool 0)`},
	{group: short, title: "nodes that are up, 6 h at 1 min", promql: `sum by (cluster) (up)`, span: 6 * time.Hour, step: time.Minute},
	{group: short, title: "age of the nodes, now", promql: `time() - ringwatch_node_last_seen_timestamp_seconds`},
	{group: short, title: "throughput by cluster, 6 h at 1 min", promql: `sum by (cluster, request) (rate(` + requests + `_count[5m]))`, span: 6 * time.Hour, step: time.Minute},
	{group: short, title: "pending compactions by node, 6 h at 1 min", promql: `max by (cluster, node) (` + pending + `)`, span: 6 * time.Hour, step: time.Minute},
	{group: day, title: "throughput by cluster, 24 h at 1 min", promql: `sum by (cluster, request) (rate(` + requests + `_count[5m]))`, span: 24 * time.Hour, step: time.Minute},
	{group: rolled, title: "throughput by cluster, 24 h at 5 min", promql: `sum by (cluster, request) (rate(` + requests + `_count[5m]))`, span: 24 * time.Hour, step: 5 * time.Minute, near: 0.3},
	{group: rolled, title: "heap by cluster, 24 h at 5 min", promql: `avg by (cluster) (` + heap + `)`, span: 24 * time.Hour, step: 5 * time.Minute, near: 0.3},
	{group: meta, title: "values of table in a cluster", path: "/api/v1/label/table/values", promql: `cassandra_table_live_sstables{cluster="$cluster"}`},
	{group: meta, title: "names of metrics", path: "/api/v1/label/__name__/values", near: 1},
	{group: meta, title: "series of a metric in a cluster", path: "/api/v1/series", promql: `cassandra_table_live_sstables{cluster="$cluster"}`},
	{group: meta, title: "metadata", path: "/api/v1/metadata", alone: true},
}

var trendQuestions = []question{
	{group: rolled, title: "throughput by cluster, $days d at 1 h", promql: `sum by (cluster, request) (rate(` + requests + `_count[1h]))`, step: time.Hour, near: 0.3},
	{group: rolled, title: "p99 by cluster, $days d at 1 h: native histograms, the peers' buckets", promql: `histogram_quantile(0.99, sum by (cluster) (rate(` + requests + `{request="Write"}[1h])))`,
		theirs: `histogram_quantile(0.99, sum by (cluster, le) (rate(` + requests + `_bucket{request="Write"}[1h])))`, step: time.Hour, near: sameBucket},
	{group: rolled, title: "highest pending compactions by node, $days d at 1 h", promql: `max by (cluster, node) (max_over_time(` + pending + `[1h]))`, step: time.Hour, near: 0.3},
	{group: rolled, title: "mean heap by cluster, $days d at 1 h", promql: `avg by (cluster) (avg_over_time(` + heap + `[1h]))`, step: time.Hour, near: 0.3},
}

var fleetQuestions = []question{
	{group: ofFleet, title: "count(up)", promql: `count(up)`, alone: true},
	{group: ofFleet, title: "pending compactions by cluster", promql: `sum by (cluster) (` + pending + `)`, alone: true},
	{group: ofFleet, title: "top 10 nodes by load", promql: `topk(10, os_load1)`, alone: true},
	{group: ofFleet, title: "top 10 tables by SSTables", promql: `topk(10, sum by (cluster, keyspace, table) (cassandra_table_live_sstables))`, alone: true},
	{group: fleetMeta, title: "labels", path: "/api/v1/labels", alone: true},
	{group: fleetMeta, title: "values of cluster", path: "/api/v1/label/cluster/values", alone: true},
	{group: fleetMeta, title: "values of table in a cluster", path: "/api/v1/label/table/values", promql: writes + `{cluster="$cluster"}`, alone: true},
	{group: fleetMeta, title: "series of a metric in a cluster", path: "/api/v1/series", promql: `cassandra_table_live_sstables{cluster="$cluster"}`, alone: true},
	{group: fleetMeta, title: "series of a metric of the fleet", path: "/api/v1/series", promql: pending, alone: true},
	{group: fleetMeta, title: "metadata", path: "/api/v1/metadata", alone: true},
}

// variables are what questions are about, in turn.
type variables struct {
	clusters, nodes []string
	keyspace, table string
}

// request is a question with all it needs, as path and form; number picks the variables, at is now.
func (q *question) request(v *variables, number int, at time.Time, peer bool) (string, url.Values) {
	text := q.promql
	if peer && q.theirs != "" {
		text = q.theirs
	}
	text = strings.NewReplacer("$cluster", v.clusters[number%len(v.clusters)], "$node", v.nodes[number%len(v.nodes)], "$keyspace", v.keyspace, "$table", v.table).Replace(text)
	form := url.Values{}
	if peer {
		form.Set("nocache", "1") // VictoriaMetrics's: neither a cache of results nor times that are moved
	}
	if q.path != "" {
		if text != "" {
			form.Set("match[]", text)
		}
		if q.path != "/api/v1/metadata" {
			form.Set("start", seconds(at.Add(-time.Hour)))
			form.Set("end", seconds(at))
		}
		return q.path, form
	}
	form.Set("query", text)
	if q.span == 0 {
		form.Set("time", seconds(at))
		return "/api/v1/query", form
	}
	at = at.Truncate(q.step)
	form.Set("start", seconds(at.Add(-q.span)))
	form.Set("end", seconds(at))
	form.Set("step", strconv.FormatFloat(q.step.Seconds(), 'f', -1, 64))
	return "/api/v1/query_range", form
}

func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

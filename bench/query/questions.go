package main

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The groups of questions. RESULT has medians over short and rolled.
const (
	short  = "short"  // up to 6 hours, of samples
	day    = "day"    // a day of samples
	rolled = "rollup" // Ringwatch answers from rollups, the peers from their samples
	page   = "page"   // all panels of a dashboard at once
	panel  = "panel"  // one of them; compared, not timed alone
	meta   = "metadata"

	ofFleet   = "fleet"
	fleetTop  = "fleet top"
	fleetMeta = "fleet metadata"
)

// question is what a dashboard asks. $cluster, $node, $keyspace and $table stand for what differs
// from request to request.
type question struct {
	group, title string
	promql       string
	theirs       string        // the peers' words; empty: the same
	path         string        // of what is no query; promql is match[] then
	span, step   time.Duration // of a range; no span: an instant
	// near is how far the values of two sides may lie apart, in the median, as a share of the
	// larger: 0 where both have samples and one engine.
	near  float64
	alone bool // the peers have nothing to say
	// panels are what a page asks, side by side; it has no words of its own.
	panels []question
}

// The titles that RESULT has figures of.
const (
	ofOneNode   = "one node, requests by kind, $span at 20 s"
	dayByMinute = "throughput by cluster, $span at 1 min, from samples"
)

const (
	requests = "cassandra_client_request_latency_seconds"
	writes   = "cassandra_table_write_latency_seconds"
	heap     = "jvm_heap_used_bytes"
	pending  = "cassandra_compaction_pending_tasks"
	sstables = "cassandra_table_live_sstables"

	// sameBucket is how far quantiles may lie apart: Prometheus's classic buckets of ours are
	// every eighth bound, a factor of four.
	sameBucket = 0.8
)

var shortQuestions = []question{
	{group: short, title: ofOneNode, promql: `sum by (request) (rate(` + requests +
		`_count{node="$node"}[2m]))`, span: time.Hour, step: 20 * time.Second},
	{group: short, title: "one node, heap, $span at 20 s", promql: heap + `{node="$node"}`,
		span: time.Hour, step: 20 * time.Second},
	{group: short, title: "one table over a cluster, writes by node, $span at 20 s",
		promql: `sum by (node) (rate(` + writes +
			`_count{cluster="$cluster",keyspace="$keyspace",table="$table"}[2m]))`, span: time.Hour,
		step: 20 * time.Second},
	{group: short, title: "p99 by cluster, $span at 1 min: native histograms, the peers' buckets",
		promql: `histogram_quantile(0.99, sum by (cluster) (rate(` + requests +
			`{request="Write"}[5m])))`,
		theirs: `histogram_quantile(0.99, sum by (cluster, le) (rate(` + requests +
			`_bucket{request="Write"}[5m])))`, span: 6 * time.Hour, step: time.Minute,
		near: sameBucket},
	{group: short, title: "p99 by cluster, $span at 1 min: buckets on all sides",
		promql: `histogram_quantile(0.99, sum by (cluster, le) (rate(` + requests +
			`_bucket{request="Write"}[5m])))`, span: 6 * time.Hour, step: time.Minute},
	{group: short, title: "top 10 tables by writes, now",
		promql: `topk(10, sum by (cluster, keyspace, table) (rate(` + writes + `_count[5m])) > 0)`},
	{group: short, title: "top 10 tables by writes, $span at 1 min",
		promql: `topk(10, sum by (cluster, keyspace, table) (rate(` + writes + `_count[5m])) > 0)`,
		span:   time.Hour, step: time.Minute},
	{group: short, title: "nodes that are down, now", promql: `sum by (cluster) (up == bool 0)`},
	{group: short, title: "nodes that are up, $span at 1 min", promql: `sum by (cluster) (up)`,
		span: 6 * time.Hour, step: time.Minute},
	{group: short, title: "age of the nodes, now",
		promql: `time() - ringwatch_node_last_seen_timestamp_seconds`},
	{group: short, title: "throughput by cluster, $span at 1 min",
		promql: `sum by (cluster, request) (rate(` + requests + `_count[5m]))`, span: 6 * time.Hour,
		step: time.Minute},
	{group: short, title: "pending compactions by node, $span at 1 min",
		promql: `max by (cluster, node) (` + pending + `)`, span: 6 * time.Hour, step: time.Minute},
	{group: day, title: dayByMinute, promql: `sum by (cluster, request) (rate(` + requests +
		`_count[5m]))`, span: 24 * time.Hour, step: time.Minute},
	{group: rolled, title: "throughput by cluster, $span at 5 min",
		promql: `sum by (cluster, request) (rate(` + requests + `_count[5m]))`,
		span:   24 * time.Hour, step: 5 * time.Minute, near: 0.3},
	{group: rolled, title: "heap by cluster, $span at 5 min",
		promql: `avg by (cluster) (` + heap + `)`, span: 24 * time.Hour, step: 5 * time.Minute,
		near: 0.3},
	{group: meta, title: "values of table in a cluster", path: "/api/v1/label/table/values",
		promql: `cassandra_table_live_sstables{cluster="$cluster"}`},
	{group: meta, title: "names of metrics", path: "/api/v1/label/__name__/values", near: 1},
	{group: meta, title: "series of a metric in a cluster", path: "/api/v1/series",
		promql: `cassandra_table_live_sstables{cluster="$cluster"}`},
	{group: meta, title: "metadata", path: "/api/v1/metadata", alone: true},
}

var trendQuestions = []question{
	{group: rolled, title: "throughput by cluster, $span at 1 h",
		promql: `sum by (cluster, request) (rate(` + requests + `_count[1h]))`,
		span:   365 * 24 * time.Hour, step: time.Hour, near: 0.3},
	{group: rolled, title: "p99 by cluster, $span at 1 h: native histograms, the peers' buckets",
		promql: `histogram_quantile(0.99, sum by (cluster) (rate(` + requests +
			`{request="Write"}[1h])))`,
		theirs: `histogram_quantile(0.99, sum by (cluster, le) (rate(` + requests +
			`_bucket{request="Write"}[1h])))`, span: 365 * 24 * time.Hour, step: time.Hour,
		near: sameBucket},
	{group: rolled, title: "highest pending compactions by node, $span at 1 h",
		promql: `max by (cluster, node) (max_over_time(` + pending + `[1h]))`,
		span:   365 * 24 * time.Hour, step: time.Hour, near: 0.3},
	{group: rolled, title: "mean heap by cluster, $span at 1 h",
		promql: `avg by (cluster) (avg_over_time(` + heap + `[1h]))`, span: 365 * 24 * time.Hour,
		step: time.Hour, near: 0.3},
}

var fleetQuestions = []question{
	{group: ofFleet, title: "count(up)", promql: `count(up)`, alone: true},
	{group: ofFleet, title: "pending compactions by cluster",
		promql: `sum by (cluster) (` + pending + `)`, alone: true},
	{group: fleetTop, title: "top 10 nodes by load", promql: `topk(10, os_load1)`, alone: true},
	{group: fleetTop, title: "top 10 tables by SSTables",
		promql: `topk(10, sum by (cluster, keyspace, table) (cassandra_table_live_sstables))`,
		alone:  true},
	{group: fleetMeta, title: "labels", path: "/api/v1/labels", alone: true},
	{group: fleetMeta, title: "values of cluster", path: "/api/v1/label/cluster/values",
		alone: true},
	{group: fleetMeta, title: "values of table in a cluster", path: "/api/v1/label/table/values",
		promql: writes + `{cluster="$cluster"}`, alone: true},
	{group: fleetMeta, title: "series of a metric in a cluster", path: "/api/v1/series",
		promql: `cassandra_table_live_sstables{cluster="$cluster"}`, alone: true},
	{group: fleetMeta, title: "series of a metric of the fleet", path: "/api/v1/series",
		promql: pending, alone: true},
	{group: fleetMeta, title: "metadata", path: "/api/v1/metadata", alone: true},
}

// variables are what questions are about, in turn.
type variables struct {
	clusters, nodes []string
	keyspace, table string
}

// asking is how a question is asked once.
type asking struct {
	number int       // picks the variables
	before int       // steps before the last one
	at     time.Time // an instant, or the end of a range
	anew   int       // more than 0: in words that nobody used before, see anew
	caches bool      // the peer may answer from its cache of results
	peer   bool
}

// request is a question with all it needs, as path and form.
func (q *question) request(v *variables, how asking) (string, url.Values, error) {
	text := q.promql
	if how.peer && q.theirs != "" {
		text = q.theirs
	}
	text = strings.NewReplacer("$cluster", v.clusters[how.number%len(v.clusters)], "$node",
		v.nodes[how.number%len(v.nodes)], "$keyspace", v.keyspace, "$table", v.table).Replace(text)
	form := url.Values{}
	if how.peer && !how.caches {
		// VictoriaMetrics's: neither a cache of results nor times that are moved
		form.Set("nocache", "1")
	}
	if q.path != "" {
		if text != "" {
			form.Set("match[]", text)
		}
		if q.path != "/api/v1/metadata" {
			form.Set("start", seconds(how.at.Add(-time.Hour)))
			form.Set("end", seconds(how.at))
		}
		return q.path, form, nil
	}
	if how.anew > 0 {
		var err error
		if text, err = anew(text, how.anew); err != nil {
			return "", nil, err
		}
	}
	form.Set("query", text)
	if q.span == 0 {
		form.Set("time", seconds(how.at))
		return "/api/v1/query", form, nil
	}
	at := how.at.Truncate(q.step)
	form.Set("start", seconds(at.Add(-q.span)))
	form.Set("end", seconds(at))
	form.Set("step", strconv.FormatFloat(q.step.Seconds(), 'f', -1, 64))
	return "/api/v1/query_range", form, nil
}

// within returns questions whose ranges fit into a data set that is so long, with room for a window
// before and for moves of a step; titles say how long they are.
func within(list []question, whole time.Duration, moves int) []question {
	list = slices.Clone(list)
	for i := range list {
		q := &list[i]
		if q.span > 0 {
			room := whole - max(10*time.Minute, q.step) - time.Duration(moves)*q.step
			q.span = max(min(q.span, room.Truncate(q.step)), q.step)
		}
		q.title = strings.ReplaceAll(q.title, "$span", spanText(q.span))
	}
	return list
}

// spanText is a range in hours, or in days from two on.
func spanText(d time.Duration) string {
	if d >= 48*time.Hour {
		return strconv.FormatFloat(float64(int(d.Hours()/24*10))/10, 'f', -1, 64) + " d"
	}
	return strconv.FormatFloat(float64(int(d.Hours()*10))/10, 'f', -1, 64) + " h"
}

func seconds(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

package query_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/metadata"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
)

// watched is a Cassandra node and two targets of the job kafka, of which k2:9092 answers no more
// in the second half of the time.
type watched struct {
	*testing.T
	engine   *query.Engine
	from, to int64
}

// mixed is the cluster of all three.
const mixed = "mixed"

func newWatched(t *testing.T, indexed, rollups bool) *watched {
	t.Helper()
	const span = 4 * 60 * 60_000
	w := &watched{T: t, from: frame.WindowOf(1_790_000_000_000)}
	w.to = w.from + span
	frames := querytest.Frames{}
	node := frametest.New(mixed, 7, 1)
	node.Interval = 15_000
	k1 := frametest.NewTarget(frame.KindKafka, mixed, "kafka", "k1:9092")
	k2 := frametest.NewTarget(frame.KindKafka, mixed, "kafka", "k2:9092")
	for at := w.from; at <= w.to; at += node.Interval {
		node.Step()
		k1.Pass(1)
		half := int64(1)
		if at > w.from+span/2 {
			half = 0
		}
		k2.Pass(half)
		for _, n := range []*frametest.Node{node, k1.Node, k2.Node} {
			frames[n.ID] = append(frames[n.ID], n.Frame(at))
		}
	}
	store := querytest.NewMemory(t, frames)
	clock := func() time.Time { return time.UnixMilli(w.to + 1000) }
	sources := read.Sources{Store: store, LastSeen: store.LastSeen}
	c := query.DefaultConfig()
	c.Clock = clock
	if rollups {
		c.RawRetention = time.Hour
		store.RawFrom = w.to - c.RawRetention.Milliseconds()
		sources.Rollups = store.Rollups
	}
	reader, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Hour,
		Timeout: time.Minute, Clock: clock}, sources)
	if err != nil {
		t.Fatal(err)
	}
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	var x plan.Index
	if indexed {
		x = wholeIndex{store.Index()}
	}
	if w.engine, err = query.NewEngine(c, reader, x, p, nil,
		slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return w
}

// called is how a test names a series: by its target's instance, or that it is the Cassandra
// node's.
func called(l labels.Labels) string {
	name := l.Get("instance")
	if name == "" && l.Get("node") != "" {
		name = "cassandra"
		if id, err := uuid.Parse(l.Get("node")); err == nil && frame.IsTarget(id) {
			name = "target"
		}
	}
	if q := l.Get("quantile"); q != "" {
		name += " q" + q
	}
	if kind := l.Get("kind"); kind != "" {
		name += " " + kind
	}
	return strings.TrimSpace(name)
}

// at answers at the end of the time, in words.
func (w *watched) at(who account.Principal, expr string) []string {
	w.Helper()
	a, err := w.engine.Instant(w.Context(), who, expr, time.UnixMilli(w.to), query.Options{})
	if err != nil {
		w.Fatal(expr, err)
	}
	defer a.Close()
	list := []string{}
	for _, s := range a.Value.(promql.Vector) {
		list = append(list, fmt.Sprintf("%s=%.3g", called(s.Metric), s.F))
	}
	slices.Sort(list)
	return list
}

// over answers every half an hour, in words.
func (w *watched) over(who account.Principal, expr string) []string {
	w.Helper()
	a, err := w.engine.Range(w.Context(), who, expr, time.UnixMilli(w.from+30*60_000),
		time.UnixMilli(w.to), 30*time.Minute, query.Options{})
	if err != nil {
		w.Fatal(expr, err)
	}
	defer a.Close()
	list := []string{}
	for _, s := range a.Value.(promql.Matrix) {
		text := called(s.Metric)
		for _, p := range s.Floats {
			text += fmt.Sprintf(" %.2g", p.F)
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

func (w *watched) want(what string, got []string, want ...string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestWatchedNodes: up of nodes that are read from outside is what their frames say, and stands
// beside that which is made of nodes with an agent; kind is a label of all nodes' facts.
func TestWatchedNodes(t *testing.T) {
	who := querytest.Principal(t, querytest.Account)
	for _, indexed := range []bool{true, false} {
		w := newWatched(t, indexed, false)
		for expr, want := range map[string][]string{
			`up`:                          {"cassandra=1", "k1:9092=1", "k2:9092=0"},
			`up{job=""}`:                  {"cassandra=1"},
			`up{job="kafka"}`:             {"k1:9092=1", "k2:9092=0"},
			`up{instance="k2:9092"} == 0`: {"k2:9092=0"},
			`up{cluster="other"}`:         {},
			`sum(up)`:                     {"=2"},
			`count(up)`:                   {"=3"},
			`avg_over_time(up[4h])`:       {"cassandra=1", "k1:9092=1", "k2:9092=0.5"},
			`{__name__=~"up|kafka_topic_p.*"}`: {"cassandra=1", "k1:9092=1", "k1:9092=12",
				"k2:9092=0", "k2:9092=12"},
			`count by (kind)(ringwatch_node_info)`: {"cassandra=1", "kafka=2"},
			`ringwatch_node_info{kind="kafka"}`:    {"k1:9092 kafka=1", "k2:9092 kafka=1"},
			`ringwatch_node_info{kind!="kafka"}`:   {"cassandra cassandra=1"},
			`up*on(node)group_left(kind)ringwatch_node_info`: {"cassandra cassandra=1",
				"k1:9092 kafka=1", "k2:9092 kafka=0"},
			`count(ringwatch_node_last_seen_timestamp_seconds)`:          {"=3"},
			`rate(kafka_topic_records_total{instance="k1:9092"}[5m])*15`: {"k1:9092=10"},
			`kafka_fetch_latency_seconds{instance="k1:9092"}`: {"k1:9092 q0.5=0.05",
				"k1:9092 q0.99=0.25"},
			`kafka_fetch_latency_seconds{quantile="0.99"}`: {"k1:9092 q0.99=0.25",
				"k2:9092 q0.99=0.25"},
			`{recorded_quantile!=""}`: {},
			`histogram_avg(rate(kafka_request_latency_seconds{instance="k1:9092"}[5m]))`: {
				"k1:9092=0.05",
			},
		} {
			w.want(fmt.Sprintf("%s, indexed %v", expr, indexed), w.at(who, expr), want...)
		}
		w.want("up over time", w.over(who, "up"), "cassandra 1 1 1 1 1 1 1 1",
			"k1:9092 1 1 1 1 1 1 1 1", "k2:9092 1 1 1 1 0 0 0 0")
		w.want("up by job over time", w.over(who, `sum by (instance) (up{job="kafka"})`),
			"k1:9092 1 1 1 1 1 1 1 1", "k2:9092 1 1 1 1 0 0 0 0")
		w.want("what is down", w.over(who, "count(up == 0)"), " 1 1 1 1")
	}
}

// TestWatchedNodesOfOthers: another account and a key of another cluster see no target.
func TestWatchedNodesOfOthers(t *testing.T) {
	w := newWatched(t, true, false)
	who := querytest.Principal(t, querytest.Account, "elsewhere")
	for _, expr := range []string{"up", `up{job="kafka"}`, `{__name__=~"up|kafka.*"}`,
		"ringwatch_node_info", "kafka_topic_partitions"} {
		w.want(expr, w.at(who, expr))
		w.want(expr+" over time", w.over(who, expr))
	}
}

// TestWatchedNodesInRollups: what is older than samples comes of rollups, up with it.
func TestWatchedNodesInRollups(t *testing.T) {
	w := newWatched(t, true, true)
	who := querytest.Principal(t, querytest.Account)
	w.want("up over time", w.over(who, `up{job="kafka"}`), "k1:9092 1 1 1 1 1 1 1 1",
		"k2:9092 1 1 1 1 0 0 0 0")
	w.want("records", w.over(who, `increase(kafka_topic_records_total{instance="k1:9092"}[30m])`),
		"k1:9092"+strings.Repeat(" 1.2e+03", 8))
	w.want("quantiles", w.over(who, `max by (quantile) (kafka_fetch_latency_seconds)`),
		"q0.5 0.05 0.05 0.05 0.05 0.05 0.05 0.05 0.05",
		"q0.99 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25")
}

// TestWatchedNodesInLists: each series is listed once, and up of targets with their labels.
func TestWatchedNodesInLists(t *testing.T) {
	w := newWatched(t, true, false)
	ctx, who := context.Background(), querytest.Principal(t, querytest.Account)
	m, err := parser.NewParser(parser.Options{}).ParseMetricSelector("up")
	if err != nil {
		t.Fatal(err)
	}
	q := metadata.SeriesQuery{From: time.UnixMilli(w.from), To: time.UnixMilli(w.to),
		Selectors: [][]*labels.Matcher{m}}
	series, _, err := w.engine.Lists.Series(ctx, who, q, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, l := range series {
		list = append(list, called(l))
	}
	slices.Sort(list)
	w.want("series", list, "cassandra", "k1:9092", "k2:9092")
	values, _, err := w.engine.Lists.LabelValues(ctx, who, "instance", q)
	if err != nil {
		t.Fatal(err)
	}
	w.want("instances", values, "k1:9092", "k2:9092")
	q.Selectors = nil
	if values, _, err = w.engine.Lists.LabelValues(ctx, who, "quantile", q); err != nil {
		t.Fatal(err)
	}
	w.want("quantiles", values, "0.5", "0.99")
	if values, _, err = w.engine.Lists.LabelValues(ctx, who, "kind", q); err != nil {
		t.Fatal(err)
	}
	w.want("kinds", values, "cassandra", "kafka")
}

package query_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
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
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/metadata"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// ruled is a fleet of four nodes in fleet-0 and fleet-1 and what rules recorded of it.
type ruled struct {
	*testing.T
	engine *query.Engine
	asked  *askedStore
	fleet  *querytest.Fleet
	nodes  []uuid.UUID
	now    int64
	left   roster.Roster
	want   []string // the label sets that were recorded
}

// askedStore notes which nodes' samples were read.
type askedStore struct {
	*querytest.Memory
	mu   sync.Mutex // nodes are read side by side
	read map[uuid.UUID]bool
}

func (s *askedStore) Windows(ctx context.Context, account string, node uuid.UUID, from, to int64,
	facets []blobs.Facet, matchers ...*labels.Matcher) (read.Windows, error) {
	s.mu.Lock()
	s.read[node] = true
	s.mu.Unlock()
	return s.Memory.Windows(ctx, account, node, from, to, facets, matchers...)
}

// wholeIndex is an index that says that it has everything, as one does that a loader has filled.
type wholeIndex struct{ plan.Index }

func (x wholeIndex) Select(account string, q index.Query) (*index.Selection, error) {
	s, err := x.Index.Select(account, q)
	if s != nil {
		s.Missing = 0
	}
	return s, err
}

func newRuled(t *testing.T, change ...func(*query.Config)) *ruled {
	t.Helper()
	f := querytest.NewFleet(querytest.FleetConfig{Seed: 5, From: frame.WindowOf(1_790_000_000_000),
		Span: 20 * time.Minute, Interval: 20 * time.Second, Nodes: 4, Tables: 2, Calm: true})
	r := &ruled{T: t, fleet: f, now: f.End()}
	for i := range 4 {
		r.nodes = append(r.nodes, f.Node(i))
	}
	record := func(cluster, group string, list ...frametest.Recorded) {
		of := frametest.Recorder{Account: querytest.Account, Cluster: cluster, Group: group,
			Interval: 15_000}
		id := frame.RecorderID(of.Account, cluster, group)
		for at := f.From + 1000; at < f.End(); at += of.Interval {
			b, err := of.Frame(at, slices.Clone(list))
			if err != nil {
				t.Fatal(err)
			}
			f.Frames[id] = append(f.Frames[id], b)
		}
		for _, one := range list {
			r.want = append(r.want, labels.NewBuilder(labels.FromMap(one.Labels)).
				Set(labels.MetricName, one.Name).Labels().String())
		}
	}
	for i, cluster := range []string{"fleet-0", "fleet-1"} {
		record(cluster, "clusters", frametest.Recorded{Name: "cluster:x", Labels: map[string]string{
			"cluster": cluster}, Value: float64(i)})
		record(cluster, "nodes", frametest.Recorded{Name: "node:y", Value: 3,
			Labels: map[string]string{
				"cluster": cluster, "node": r.nodes[i].String(), "datacenter": "dc0", "rack": "r9",
				"le": "5"}})
	}
	// As a node sends it under another exporter's names: a bucket that is stored as such.
	record("fleet-0", "old", frametest.Recorded{Name: "old_seconds_bucket", Value: 8,
		Labels: map[string]string{"cluster": "fleet-0", "le": "0.25"}})
	record("fleet-0", "pinned", frametest.Recorded{Name: "cluster:pinned", Value: 4},
		frametest.Recorded{Name: "cluster:x", Labels: map[string]string{"cluster": "elsewhere"},
			Value: 5})
	record(frame.EveryCluster, "all", frametest.Recorded{Name: "all:z", Value: 6},
		frametest.Recorded{Name: "cluster:x", Labels: map[string]string{"cluster": "fleet-0",
			"of": "all"}, Value: 7})
	slices.Sort(r.want)
	store := querytest.NewMemory(t, f.Frames)
	r.asked = &askedStore{Memory: store, read: map[uuid.UUID]bool{}}
	clock := func() time.Time { return time.UnixMilli(r.now) }
	reader, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Hour,
		Timeout: time.Minute, Clock: clock}, read.Sources{Store: r.asked, LastSeen: store.LastSeen,
		Roster: &r.left})
	if err != nil {
		t.Fatal(err)
	}
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock = clock
	for _, of := range change {
		of(&c)
	}
	if r.engine, err = query.NewEngine(c, reader, wholeIndex{store.Index()}, p, nil,
		slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return r
}

// instant and ranged return the label sets of an answer, sorted.
func (r *ruled) instant(who account.Principal, expr string) []string {
	r.Helper()
	a, err := r.engine.Instant(r.Context(), who, expr, time.UnixMilli(r.now), query.Options{})
	if err != nil {
		r.Fatal(expr, err)
	}
	defer a.Close()
	list := []string{}
	for _, s := range a.Value.(promql.Vector) {
		list = append(list, s.Metric.String())
	}
	slices.Sort(list)
	return list
}

func (r *ruled) ranged(who account.Principal, expr string) []string {
	r.Helper()
	a, err := r.engine.Range(r.Context(), who, expr, time.UnixMilli(r.now-600_000),
		time.UnixMilli(r.now), time.Minute, query.Options{})
	if err != nil {
		r.Fatal(expr, err)
	}
	defer a.Close()
	list := []string{}
	for _, s := range a.Value.(promql.Matrix) {
		if len(s.Floats) != 11 {
			r.Errorf("%s: %s has %d values", expr, s.Metric, len(s.Floats))
		}
		list = append(list, s.Metric.String())
	}
	slices.Sort(list)
	return list
}

// listed returns the label sets that /series has.
func (r *ruled) listed(who account.Principal, matchers []*labels.Matcher) []string {
	r.Helper()
	got, _, err := r.engine.Lists.Series(r.Context(), who, r.catalogue(matchers), 0)
	if err != nil {
		r.Fatal(err)
	}
	list := []string{}
	for _, l := range got {
		list = append(list, l.String())
	}
	slices.Sort(list)
	return list
}

func (r *ruled) catalogue(matchers []*labels.Matcher) metadata.SeriesQuery {
	c := metadata.SeriesQuery{From: time.UnixMilli(r.now - 600_000), To: time.UnixMilli(r.now)}
	if matchers != nil {
		c.Selectors = [][]*labels.Matcher{matchers}
	}
	return c
}

// TestRecordersInPromQL: what rules recorded is found by its own labels, whoever's they are
// elsewhere, at an instant, in a range and among the series alike.
func TestRecordersInPromQL(t *testing.T) {
	r := newRuled(t)
	who := querytest.Principal(t, querytest.Account)
	node := r.nodes[0].String()
	read := parser.NewParser(parser.Options{})
	for _, expr := range []string{
		`{__name__=~".+:.+"}`, `cluster:x`, `cluster:x{cluster="fleet-0"}`,
		`cluster:x{cluster!="fleet-0"}`,
		`cluster:x{cluster="elsewhere"}`, `cluster:x{cluster=~"f.*",of=""}`,
		`cluster:x{cluster=~"f.*",of="all"}`,
		`cluster:pinned`, `cluster:pinned{cluster=""}`, `cluster:pinned{cluster="fleet-0"}`,
		`all:z{cluster=""}`, `all:z{cluster="*"}`, `all:z{node=""}`, `node:y{node="` + node + `"}`,
		`node:y{node!="` + node + `"}`,
		`node:y{node=~".+"}`, `node:y{rack="r9",datacenter="dc0"}`, `node:y{rack=""}`,
		`node:y{le="5"}`, `node:y{le=""}`, `{__name__=~".+:.+",datacenter=""}`,
		`{__name__=~".+:.+",node="` + node + `"}`,
	} {
		matchers, err := read.ParseMetricSelector(expr)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{}
		for _, text := range r.want {
			l, err := read.ParseMetric(text)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
				return !m.Matches(l.Get(m.Name))
			}) {
				want = append(want, text)
			}
		}
		for what, got := range map[string][]string{"instant": r.instant(who, expr),
			"range": r.ranged(who, expr), "series": r.listed(who, matchers)} {
			if !slices.Equal(got, want) {
				t.Errorf("%s %s: %q, want %q", what, expr, got, want)
			}
		}
		names, _, err := r.engine.Lists.LabelNames(t.Context(), who, r.catalogue(matchers))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, text := range want {
			l, _ := read.ParseMetric(text)
			l.Range(func(l labels.Label) { seen[l.Name] = true })
		}
		for _, name := range []string{"cluster", "datacenter", "rack", "node", "le", "of"} {
			if seen[name] != slices.Contains(names, name) {
				t.Errorf("%s: label names %q, want %v", expr, names, seen)
			}
		}
	}
	for name, want := range map[string][]string{
		"cluster": {"elsewhere", "fleet-0", "fleet-1"}, "rack": {"r9"},
	} {
		m := labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, ".+:.+")
		got, _, err := r.engine.Lists.LabelValues(t.Context(), who, name,
			r.catalogue([]*labels.Matcher{m}))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("values of %s: %q %v", name, got, err)
		}
	}
	for name, want := range map[string]metadata.Metadata{
		"cluster:x": {Type: "gauge", Help: "Not described: recorded by a rule of the account."},
		"up": {Type: "gauge",
			Help: "1 while frames of this node come or are a little late, 0 when none " +
				"came for a minute; of a node that is read from outside, 1 if it answered."},
		series.MetricSeen: {Type: "gauge", Unit: "seconds",
			Help: "When this node was last heard of, in seconds since 1970."},
	} {
		if of, err := r.engine.Lists.Metadata(t.Context(), who, name); err != nil ||
			of[name] != want {
			t.Errorf("metadata: %+v %v, want %+v", of, err, want)
		}
	}
}

// TestRecordersAreNoNodes: nobody counts them, and a question about nodes does not read them.
func TestRecordersAreNoNodes(t *testing.T) {
	r := newRuled(t)
	who := querytest.Principal(t, querytest.Account)
	for _, expr := range []string{"up", "ringwatch_node_info",
		"ringwatch_node_last_seen_timestamp_seconds"} {
		if got := r.instant(who, expr); len(got) != len(r.nodes) {
			t.Errorf("%s: %q", expr, got)
		}
		m := labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, expr)
		if got := r.listed(who, []*labels.Matcher{m}); len(got) != len(r.nodes) {
			t.Errorf("series of %s: %q", expr, got)
		}
	}
	for _, c := range []struct {
		expr  string
		nodes int
		reads []uuid.UUID
	}{
		{"node_load1", 4, nil},
		{"cluster:pinned", 0,
			[]uuid.UUID{frame.RecorderID(querytest.Account, "fleet-0", "pinned")}},
		{`cluster:x{cluster="fleet-1"}`, 0,
			[]uuid.UUID{frame.RecorderID(querytest.Account, "fleet-1", "clusters"),
				frame.RecorderID(querytest.Account, frame.EveryCluster, "all")}},
	} {
		clear(r.asked.read)
		if list := r.ranged(who, c.expr); c.nodes > 0 && len(list) != c.nodes {
			t.Errorf("%s: %q", c.expr, list)
		}
		got := map[uuid.UUID]bool{}
		for id := range r.asked.read {
			if frame.IsRecorder(id) {
				got[id] = true
			}
		}
		for _, id := range c.reads {
			if !got[id] {
				t.Errorf("%s does not read %s", c.expr, id)
			}
			delete(got, id)
		}
		if len(got) > 0 {
			t.Errorf("%s reads %d recorders that have nothing of it", c.expr, len(got))
		}
	}
}

// TestRecordersOfOtherClusters: who owns one cluster sees what was recorded of it, and nothing of
// other clusters or of all together.
func TestRecordersOfOtherClusters(t *testing.T) {
	r := newRuled(t)
	who := querytest.Principal(t, querytest.Account, "fleet-1")
	want := slices.DeleteFunc(slices.Clone(r.want), func(text string) bool {
		l, _ := parser.NewParser(parser.Options{}).ParseMetric(text)
		return l.Get("cluster") != "fleet-1"
	})
	if len(want) != 2 {
		t.Fatal(want)
	}
	const expr = `{__name__=~".+:.+"}`
	m := labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, ".+:.+")
	for what, got := range map[string][]string{"instant": r.instant(who, expr),
		"range":  r.ranged(who, expr),
		"series": r.listed(who, []*labels.Matcher{m})} {
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	got, _, err := r.engine.Lists.LabelValues(t.Context(), who, "cluster", r.catalogue(nil))
	if err != nil || !slices.Equal(got, []string{"fleet-1"}) {
		t.Errorf("clusters: %q %v", got, err)
	}
	names, _, err := r.engine.Lists.LabelNames(t.Context(), who, r.catalogue(nil))
	if err != nil || slices.Contains(names, "of") {
		t.Errorf("label names: %q %v", names, err)
	}
}

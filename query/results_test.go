package query_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// lateGrace is how long after its end a window of arriving takes frames without a mark.
const lateGrace = 30_000

// arriving is a store that frames come to as time goes by, some of them late. It implements
// read.Store.
type arriving struct {
	*querytest.Memory
	t       testing.TB
	all     querytest.Frames
	held    map[uuid.UUID]map[int64]bool // frames that come late, by time
	nodes   map[uuid.UUID]bool           // that are there
	release int                          // a fact of all nodes
	left    roster.Roster
	marks   map[string]int64 // by cluster
	ignored bool             // marks are, as a broken reader would
	now     atomic.Int64     // ms
}

func (s *arriving) Nodes(ctx context.Context, a string) ([]window.Node, error) {
	list, err := s.Memory.Nodes(ctx, a)
	for i := range list {
		list[i].Facts = append(slices.Clone(list[i].Facts),
			frame.Fact{Name: "release", Value: fmt.Sprint(s.release)})
	}
	return list, err
}

// leave says that a node has left, a while ago.
func (s *arriving) leave(id uuid.UUID, at int64) {
	nodes, err := s.Nodes(s.t.Context(), querytest.Account)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, n := range nodes {
		if n.ID == id {
			s.left.Take(s.left.Changed(querytest.Account, n.Cluster, id, s.now.Load(),
				func(rec *roster.Record) {
					rec.End = &roster.End{Why: roster.Decommissioned, At: at}
				}))
		}
	}
}

func (s *arriving) clock() time.Time { return time.UnixMilli(s.now.Load()) }

// pass lets time go by, and frames come.
func (s *arriving) pass(to int64) {
	s.now.Store(to)
	frames := querytest.Frames{}
	for id, list := range s.all {
		for _, b := range list {
			h, _, err := frame.Parse(b)
			if err != nil {
				s.t.Fatal(err)
			}
			if s.nodes[id] && h.At <= to && !s.held[id][h.At] {
				frames[id] = append(frames[id], b)
			}
		}
	}
	s.Memory = querytest.NewMemory(s.t, frames)
}

// late brings the frames of a node that were held and lie in a range, and marks their cluster.
func (s *arriving) late(id uuid.UUID, from, to int64) {
	now := s.now.Load()
	for at := range s.held[id] {
		if at < from || at > to || at > now {
			continue
		}
		delete(s.held[id], at)
		if frame.WindowOf(at)+frame.WindowMillis+lateGrace <= now {
			s.marks["any"] = now
		}
	}
	s.pass(now)
}

func (s *arriving) unchanged(_ context.Context, _ string, _ func(string) bool,
	began int64) (bool, error) {
	for _, at := range s.marks {
		if at >= began && !s.ignored {
			return false, nil
		}
	}
	return true, nil
}

func (s *arriving) Rollups(ctx context.Context, a string, node uuid.UUID, level rollup.Level,
	from, to int64,
	facets []blobs.Facet, m ...*labels.Matcher) ([]rollup.Series, []string, error) {
	return s.Memory.Rollups(ctx, a, node, level, from, to, facets, m...)
}

// engine returns an engine that keeps so many bytes, and its metrics.
func (s *arriving) engine(kept int64) (*query.Engine, *prometheus.Registry) {
	s.t.Helper()
	reg := prometheus.NewRegistry()
	r, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Nanosecond,
		Timeout: time.Minute, Clock: s.clock}, read.Sources{Store: s, Rollups: s.Rollups,
		Metrics: reg, Roster: &s.left,
		LastSeen: func(ctx context.Context, a string, n []uuid.UUID) (map[uuid.UUID]int64, error) {
			return s.LastSeen(ctx, a, n)
		},
		Unchanged: s.unchanged, Settles: (frame.WindowMillis + lateGrace) * time.Millisecond})
	if err != nil {
		s.t.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock, c.ResultsBytes, c.NodesTTL = s.clock, kept, time.Nanosecond
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	e, err := query.NewEngine(c, r, nil, p, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	return e, reg
}

func newArriving(t testing.TB, n uint64, span time.Duration, nodes int) *arriving {
	f := querytest.NewFleet(querytest.FleetConfig{Seed: n, From: origin, Span: span,
		Interval: 20 * time.Second, Jitter: 400 * time.Millisecond, Nodes: nodes, Tables: 2})
	s := &arriving{t: t, all: f.Frames, held: map[uuid.UUID]map[int64]bool{},
		nodes: map[uuid.UUID]bool{}, marks: map[string]int64{}}
	for id := range f.Frames {
		s.nodes[id], s.held[id] = true, map[int64]bool{}
	}
	return s
}

// panels are what dashboards ask, with offsets to both sides, and what cannot be kept.
var panels = []string{
	`sum by (cluster) (rate(cassandra_table_reads_total[1m]))`,
	`sum by (node) (increase(cassandra_table_reads_total[7m] offset 3m))`,
	`cassandra_compaction_pending_tasks`,
	`max(node_load1) - min(node_load1 offset -4m)`,
	`avg_over_time(node_temperature_celsius[2m]) > 20`,
	`topk(2, cassandra_table_live_disk_space_bytes)`,
	`count(node_load1) or vector(0)`,
	`absent(node_load1{node="none"})`,
	`histogram_quantile(0.99, sum by (keyspace) (rate(cassandra_table_read_latency_seconds[2m])))`,
	`histogram_count(sum(rate(cassandra_client_request_latency_seconds[3m])))`,
	`changes(node_load1[5m]) + on (node) group_left () resets(node_cpu_seconds_total[5m])`,
	`sum(node_load1 @ end())`, `up`, `{__name__=~"node_.*"}`,
	`max_over_time(sum(node_load1)[5m:1m])`,
	`rate(cassandra_table_read_latency_seconds[2m])`, `rate(node_load1[1m])`, `time()`,
	`timestamp(node_load1) - time()`, `cassandra_table_live_disk_space_bytes{table=~".+_0"}`,
}

// infoPanels look at which nodes there are, and at their facts.
var infoPanels = []string{
	`node_load1 * on (cluster, node) group_left (release) ringwatch_node_info`,
	`sum by (node) (rate(node_cpu_seconds_total[2m])) * on (node) group_left (release) ringwatch_node_info`,
	`ringwatch_node_info`, `count(ringwatch_node_info offset 2m) or vector(0)`,
	`timestamp(ringwatch_node_info)`, `count_over_time(ringwatch_node_info[150s])`,
}

// TestKeptResults moves ranges over a fleet whose frames come in time and late, whose nodes come
// and go, and asks with kept results and without: all values, labels and warnings are equal.
// Where late frames are not told of they are not.
func TestKeptResults(t *testing.T) {
	n := seed(t)
	for _, of := range [][]string{panels[:4], panels, infoPanels} {
		if wrong, hits := keptResults(t, n, false, 300, of); len(wrong) > 0 || hits < 5 {
			t.Errorf("%d wrong answers, %v made of kept results\n%v", len(wrong), hits,
				wrong[:min(3, len(wrong))])
		}
	}
	if wrong, _ := keptResults(t, n, true, 500, panels); len(wrong) == 0 {
		t.Error("late frames that nobody was told of have changed no kept answer")
	}
}

func keptResults(
	t *testing.T, n uint64, ignored bool, questions int, panels []string,
) (wrong []string, hits float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(n, 28))
	span := 3 * time.Hour
	s := newArriving(t, n, span, 3)
	s.ignored = ignored
	var ids []uuid.UUID
	for id, list := range s.all {
		ids = append(ids, id)
		for i, b := range list {
			if h, _, err := frame.Parse(b); err == nil && i > 0 && !h.IsKey() && r.IntN(8) == 0 {
				s.held[id][h.At] = true
			}
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	s.pass(origin + time.Hour.Milliseconds())
	keeps, reg := s.engine(8 << 20)
	without, _ := s.engine(0)
	whos := []account.Principal{querytest.Principal(t, querytest.Account),
		querytest.Principal(t, querytest.Account, "fleet-0"), querytest.Principal(t, "another")}
	type window struct{ span, step time.Duration }
	windows := []window{{time.Hour, 20 * time.Second}, {40 * time.Minute, time.Minute},
		{time.Hour, time.Minute}, {50 * time.Minute, 5 * time.Minute}}
	for i := range questions {
		now := s.now.Load()
		switch r.IntN(12) {
		case 0, 1, 2:
			if now < origin+span.Milliseconds() {
				s.pass(now + int64(1+r.IntN(3))*20_000)
			}
		case 3:
			from := now - int64(r.IntN(3_000_000))
			s.late(ids[r.IntN(len(ids))], from, from+60_000)
		case 4:
			if r.IntN(6) == 0 {
				id := ids[r.IntN(len(ids))]
				s.nodes[id] = !s.nodes[id]
				s.pass(now + 1) // lists of nodes are as old as the clock says
			}
		case 5:
			switch r.IntN(4) {
			case 0:
				s.leave(ids[r.IntN(len(ids))], now-int64(r.IntN(40))*60_000)
			case 1:
				s.release++
				s.pass(now + 1)
			}
		}
		w := windows[r.IntN(len(windows))]
		end := s.now.Load()
		if r.IntN(5) == 0 {
			end -= int64(r.IntN(30)) * 60_000
		}
		to := time.UnixMilli(end - end%w.step.Milliseconds())
		from, expr := to.Add(-w.span), panels[r.IntN(len(panels))]
		who := whos[max(0, r.IntN(6)-3)]
		got, err := keeps.Range(t.Context(), who, expr, from, to, w.step, query.Options{})
		if err != nil {
			t.Fatal(expr, err)
		}
		want, err := without.Range(t.Context(), who, expr, from, to, w.step, query.Options{})
		if err != nil {
			t.Fatal(expr, err)
		}
		d := querytest.Diff(got.Value, want.Value, 0, true)
		if a, b := said(got), said(want); d == "" && !slices.Equal(a, b) {
			d = fmt.Sprintf("said %q, not %q", a, b)
		}
		got.Close()
		want.Close()
		if d != "" {
			wrong = append(wrong, fmt.Sprintf("question %d: %s from %d to %d step %v at %d: %s", i,
				expr, from.UnixMilli(), to.UnixMilli(), w.step, s.now.Load(), d))
			if ignored {
				break
			}
		}
	}
	return wrong, counted(t, reg, "ringwatch_api_results_total", "hit")
}

// said is what an answer says about itself, in order.
func said(a *query.Answer) (list []string) {
	for text := range a.Warnings {
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// counted returns what a counter stands at.
func counted(t testing.TB, reg *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == name && (len(m.Label) == 0 || m.Label[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// TestFreshQuestionsKeepNothing: who wants no kept results, or statistics of each step, gets none
// and leaves none.
func TestFreshQuestionsKeepNothing(t *testing.T) {
	s := newArriving(t, 1, time.Hour, 1)
	s.pass(origin + time.Hour.Milliseconds())
	e, reg := s.engine(1 << 20)
	who := querytest.Principal(t, querytest.Account)
	ask := func(o query.Options) {
		t.Helper()
		to := s.clock()
		a, err := e.Range(t.Context(), who, panels[0], to.Add(-50*time.Minute), to, 20*time.Second,
			o)
		if err != nil {
			t.Fatal(err)
		}
		a.Close()
	}
	for _, o := range []query.Options{{Fresh: true}, {PerStepStats: true}} {
		ask(o)
		if held := counted(t, reg, "ringwatch_api_results_bytes", ""); held > 0 {
			t.Fatalf("%+v leaves %v bytes", o, held)
		}
	}
	ask(query.Options{})
	ask(query.Options{Fresh: true})
	if hits := counted(t, reg, "ringwatch_api_results_total", "hit"); hits != 0 {
		t.Fatal("a fresh answer is of kept results")
	}
	ask(query.Options{})
	if hits := counted(t, reg, "ringwatch_api_results_total", "hit"); hits != 1 {
		t.Fatal("what is asked again is not of kept results")
	}
}

// BenchmarkRefresh compares a panel's refresh with its first computation.
func BenchmarkRefresh(b *testing.B) {
	s := newArriving(b, 1, 7*time.Hour, 10)
	s.pass(origin + (7 * time.Hour).Milliseconds())
	who := querytest.Principal(b, querytest.Account)
	for _, of := range []struct {
		name string
		kept int64
	}{{"first", 0}, {"refresh", 64 << 20}} {
		e, _ := s.engine(of.kept)
		b.Run(of.name, func(b *testing.B) {
			for i := range b.N {
				to := s.clock().Add(time.Duration(i%60-60) * 20 * time.Second)
				a, err := e.Range(b.Context(), who, panels[0], to.Add(-6*time.Hour), to,
					20*time.Second, query.Options{})
				if err != nil {
					b.Fatal(err)
				}
				a.Close()
			}
		})
	}
}

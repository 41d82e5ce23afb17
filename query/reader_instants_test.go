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
	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// heardFleet is a fleet whose frames come to a store and to a real Redis, and which counts what is
// read of single nodes.
type heardFleet struct {
	*arriving
	read.Recent
	account string // of its own, for tests share a Redis
	writer  *recent.Writer
	written map[uuid.UUID]map[int64]bool
	// windows and frames count readings of the store and of Redis.
	windows, frames atomic.Int64
}

var heardFleets atomic.Int64

func newHeardFleet(t testing.TB, n uint64, span time.Duration, nodes int) *heardFleet {
	t.Helper()
	f := &heardFleet{arriving: newArriving(t, n, span, nodes),
		written: map[uuid.UUID]map[int64]bool{},
		account: fmt.Sprintf("heard-%d", heardFleets.Add(1))}
	c := recent.DefaultConfig()
	c.Addresses = []string{engines.SharedRedis(t).Addr()}
	c.Clock, c.ActiveFor = f.clock, 0
	// A crowded machine is no outage.
	c.DialTimeout, c.ReadTimeout, c.WriteTimeout = 10*time.Second, 10*time.Second, 30*time.Second
	var err error
	if f.writer, err = recent.NewWriter(c, nil, prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.writer.Close)
	r, err := recent.NewReader(c, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	f.Recent = r
	return f
}

// come brings the frames of now to Redis, too.
func (f *heardFleet) come() {
	f.t.Helper()
	var list []stream.Record
	for id, times := range f.times(0, f.now.Load()) {
		if f.written[id] == nil {
			f.written[id] = map[int64]bool{}
		}
		for _, b := range f.all[id] {
			h, _, err := frame.Parse(b)
			if err != nil {
				f.t.Fatal(err)
			}
			if !f.written[id][h.At] && slices.Contains(times, h.At) {
				f.written[id][h.At] = true
				list = append(list, stream.Record{Account: f.account, Value: b})
			}
		}
	}
	if err := f.writer.Handle(context.Background(), list); err != nil {
		f.t.Fatal(err)
	}
}

// times returns by node when it sent the frames of a time range that have come, ascending.
func (f *heardFleet) times(from, to int64) map[uuid.UUID][]int64 {
	all := map[uuid.UUID][]int64{}
	for id, list := range f.all {
		if !f.nodes[id] {
			continue
		}
		for _, b := range list {
			h, _, err := frame.Parse(b)
			if err != nil {
				f.t.Fatal(err)
			}
			if h.At <= min(to, f.now.Load()) && h.At >= from && !f.held[id][h.At] {
				all[id] = append(all[id], h.At)
			}
		}
		slices.Sort(all[id])
	}
	return all
}

func (f *heardFleet) Windows(ctx context.Context, account string, node uuid.UUID, from, to int64,
	facets []blobs.Facet, m ...*labels.Matcher) (read.Windows, error) {
	f.windows.Add(1)
	return f.Memory.Windows(ctx, account, node, from, to, facets, m...)
}

func (f *heardFleet) LatestFrames(ctx context.Context, account string,
	node uuid.UUID) ([][]byte, int64, bool, error) {
	return f.Memory.LatestFrames(ctx, account, node)
}

// heardRecent is the fleet's Redis.
type heardRecent struct{ *heardFleet }

func (r heardRecent) Latest(ctx context.Context, account string,
	node uuid.UUID) ([][]byte, int64, error) {
	return r.Recent.Latest(ctx, account, node)
}

func (r heardRecent) LastSeen(ctx context.Context, account string,
	nodes []uuid.UUID) (map[uuid.UUID]int64, error) {
	return r.Recent.LastSeen(ctx, account, nodes)
}

func (r heardRecent) Frames(ctx context.Context, account string, node uuid.UUID,
	from, to int64) ([][]byte, bool, error) {
	r.frames.Add(1)
	return r.Recent.Frames(ctx, account, node, from, to)
}

// asks returns an engine over the fleet. One that keeps nothing asks the store alone, each node
// for the whole range.
func (f *heardFleet) asks(keeps bool) *query.Engine {
	f.t.Helper()
	sources := read.Sources{Store: f, LastSeen: func(ctx context.Context, a string,
		n []uuid.UUID) (map[uuid.UUID]int64, error) {
		return f.Memory.LastSeen(ctx, a, n)
	}}
	c := read.Config{RecentSpan: 15 * time.Minute, NodesTTL: time.Nanosecond,
		Timeout: time.Minute, Clock: f.clock}
	if keeps {
		c.HeardBytes = 1 << 20
		sources.Recent, sources.Miss = heardRecent{f}, recent.ErrMiss
		sources.Unchanged, sources.Settles = f.unchanged, (frame.WindowMillis+lateGrace)*
			time.Millisecond
		sources.Behind = func(context.Context, string, string) (int64, bool) { return 0, false }
	}
	r, err := read.New(c, sources)
	if err != nil {
		f.t.Fatal(err)
	}
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		f.t.Fatal(err)
	}
	of := query.DefaultConfig()
	of.Clock, of.ResultsBytes, of.NodesTTL = f.clock, 0, time.Nanosecond
	e, err := query.NewEngine(of, r, nil, p, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		f.t.Fatal(err)
	}
	return e
}

// hold lets some frames of each node wait, and others never come.
func (f *heardFleet) hold(r *rand.Rand) (ids []uuid.UUID) {
	for id, list := range f.all {
		ids = append(ids, id)
		away := 0
		for i, b := range list {
			if r.IntN(60) == 0 {
				away = r.IntN(40)
			}
			h, _, err := frame.Parse(b)
			if err != nil {
				f.t.Fatal(err)
			}
			away--
			if i > 0 && !h.IsKey() && (away > 0 || r.IntN(20) == 0) {
				f.held[id][h.At] = true
			}
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// TestHeardOverTime asks for nodes' own series over time while frames come, some late and some
// never, and nodes fall silent: what is kept and what Redis knows gives the same as reading each
// node's frames whole. Where nobody tells of late frames it does not.
func TestHeardOverTime(t *testing.T) {
	n := seed(t)
	if wrong := heardOverTime(t, n, false); len(wrong) > 0 {
		t.Errorf("%d wrong answers: %v", len(wrong), wrong[:min(3, len(wrong))])
	}
	if wrong := heardOverTime(t, n, true); len(wrong) == 0 {
		t.Error("late frames that nobody was told of have changed no answer")
	}
}

func heardOverTime(t *testing.T, n uint64, ignored bool) (wrong []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(n, 29))
	span := 4 * time.Hour
	f := newHeardFleet(t, n, span, 4)
	f.ignored = ignored
	ids := f.hold(r)
	f.pass(origin + 2*time.Hour.Milliseconds())
	f.come()
	keeps, without := f.asks(true), f.asks(false)
	who := querytest.Principal(t, f.account)
	exprs := []string{series.MetricUp, series.MetricSeen, series.MetricSeen + " offset 7m",
		"count(" + series.MetricInfo + ")",
		"avg_over_time(up[20m])", "changes(" + series.MetricSeen + "[10m])",
		"time() - " + series.MetricSeen, `{__name__=~"up|ringwatch_node_last_seen.*"}`}
	for i := range 150 {
		now := f.now.Load()
		switch r.IntN(4) {
		case 0, 1:
			if now < origin+span.Milliseconds() {
				f.pass(now + int64(1+r.IntN(12))*20_000)
			}
		case 2:
			from := now - int64(r.IntN(6_000_000))
			f.late(ids[r.IntN(len(ids))], from, from+300_000)
		}
		f.come()
		step := []time.Duration{15 * time.Second, time.Minute, 5 * time.Minute}[r.IntN(3)]
		to := f.clock().Add(-time.Duration(r.IntN(5)*r.IntN(1000)) * time.Second)
		from := to.Add(-time.Duration(1+r.IntN(100)) * time.Minute)
		expr := exprs[r.IntN(len(exprs))]
		got, err := keeps.Range(t.Context(), who, expr, from, to, step, query.Options{})
		if err != nil {
			t.Fatal(expr, err)
		}
		want, err := without.Range(t.Context(), who, expr, from, to, step, query.Options{})
		if err != nil {
			t.Fatal(expr, err)
		}
		d := querytest.Diff(got.Value, want.Value, 0, true)
		if a, b := said(got), said(want); d == "" && !slices.Equal(a, b) {
			d = fmt.Sprintf("said %q, not %q", a, b)
		}
		if d == "" && expr == series.MetricSeen && step == 5*time.Minute {
			d = f.seenWrong(want.Value.(promql.Matrix), from, to, step)
		}
		got.Close()
		want.Close()
		if d != "" {
			wrong = append(wrong, fmt.Sprintf("question %d: %s from %d to %d step %v at %d: %s", i,
				expr, from.UnixMilli(), to.UnixMilli(), step, f.now.Load(), d))
		}
	}
	return wrong
}

// seenWrong compares when nodes were last seen with their frames.
func (f *heardFleet) seenWrong(got promql.Matrix, from, to time.Time, step time.Duration) string {
	lookback := query.DefaultConfig().Lookback.Milliseconds()
	last := f.times(0, f.now.Load())
	for id, times := range f.times(from.UnixMilli()-lookback+1-60_000, to.UnixMilli()) {
		times = append(times, last[id][len(last[id])-1])
		var want []promql.FPoint
		for at := from.UnixMilli(); at <= to.UnixMilli(); at += step.Milliseconds() {
			newest := int64(0)
			for _, t := range times {
				if t <= at {
					newest = max(newest, t)
				}
			}
			if newest > 0 {
				want = append(want, promql.FPoint{T: at, F: float64(newest) / 1000})
			}
		}
		i := slices.IndexFunc(got, func(s promql.Series) bool {
			return s.Metric.Get("node") == id.String()
		})
		var have []promql.FPoint
		if i >= 0 {
			have = got[i].Floats
		}
		if !slices.Equal(have, want) {
			return fmt.Sprintf("of node %s is %v, not %v", id, have, want)
		}
	}
	return ""
}

// steady gives the fleet four nodes whose agents never start anew nor fall silent.
func (f *heardFleet) steady() {
	f.all = querytest.Frames{}
	for i := range 4 {
		n := frametest.New("fleet-0", uint64(i+1), 1)
		n.Interval = 20_000
		for at := int64(origin) - n.Interval/2; at <
			origin+4*time.Hour.Milliseconds(); at += n.Interval {
			n.Step()
			f.all[n.ID] = append(f.all[n.ID], n.Frame(at))
		}
		f.nodes[n.ID] = true
	}
}

// TestMadeSeriesOfEachShape: nodes that send without a break have a point of each made series at
// each step of a question, whatever shape that has, as stored series do.
func TestMadeSeriesOfEachShape(t *testing.T) {
	n := seed(t)
	r := rand.New(rand.NewPCG(n, 21))
	f := newHeardFleet(t, n, 4*time.Hour, 4)
	f.steady()
	f.pass(origin + 3*time.Hour.Milliseconds() + 60_000)
	f.come()
	e, who := f.asks(true), querytest.Principal(t, f.account)
	for i := range 200 {
		back, span, step := r.IntN(3600), r.IntN(700), 1+r.IntN(900)
		switch i {
		case 0, 1: // the step is a second longer than the range, and as long
			back, span, step = 0, 100, 101-i
		case 2:
			span = 0
		}
		to := f.clock().Add(-time.Duration(back) * time.Second)
		from := to.Add(-time.Duration(span) * time.Second)
		for _, name := range []string{series.MetricUp, series.MetricSeen, series.MetricInfo} {
			a, err := e.Range(t.Context(), who, name, from, to, time.Duration(step)*time.Second,
				query.Options{})
			if err != nil {
				t.Fatal(name, err)
			}
			m := a.Value.(promql.Matrix)
			if len(m) != 4 {
				t.Errorf("%s over %d s at steps of %d s has %d series", name, span, step, len(m))
			}
			for _, s := range m {
				if len(s.Floats) != 1+span/step || s.Floats[0].T != from.UnixMilli() {
					t.Errorf("%s over %d s at steps of %d s, %d s ago, is %v", name, span, step,
						back, s.Floats)
				}
			}
			a.Close()
		}
	}
}

// TestHeardReadsNothingTwice: a question that was asked before, of a range that has moved, reads
// no node's frames, neither of the store nor of Redis, and sees those that have come.
func TestHeardReadsNothingTwice(t *testing.T) {
	f := newHeardFleet(t, seed(t), 4*time.Hour, 4)
	f.steady()
	// no window is closed within the next minute
	f.pass(origin + 3*time.Hour.Milliseconds() + 60_000)
	f.come()
	e, who := f.asks(true), querytest.Principal(t, f.account)
	ask := func() (values int) {
		t.Helper()
		a, err := e.Range(t.Context(), who, series.MetricUp, f.clock().Add(-2*time.Hour), f.clock(),
			time.Minute, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for _, s := range a.Value.(promql.Matrix) {
			values += len(s.Floats)
		}
		return values
	}
	if ask() == 0 || f.windows.Load() == 0 {
		t.Fatal("the first question finds nothing, or reads nothing")
	}
	f.windows.Store(0)
	f.frames.Store(0)
	for range 3 {
		f.pass(f.now.Load() + 20_000)
		f.come()
		if ask() == 0 {
			t.Fatal("a later question finds nothing")
		}
	}
	if w, r := f.windows.Load(), f.frames.Load(); w > 0 || r > 0 {
		t.Errorf("later questions read the store %d times and Redis %d times for one node", w, r)
	}
}

// BenchmarkUpOverTime asks for up of 30 nodes over six hours, each minute: with nothing kept, with
// all but the last minute kept, and of single nodes' frames in the store. The store is in memory.
func BenchmarkUpOverTime(b *testing.B) {
	f := newHeardFleet(b, 1, time.Minute, 1)
	f.all = querytest.Frames{}
	for i := range 30 {
		n := frametest.New("fleet-0", uint64(i+1), 10)
		for at := int64(origin); at < origin+6*time.Hour.Milliseconds(); at += n.Interval {
			n.Step()
			f.all[n.ID] = append(f.all[n.ID], n.Frame(at))
		}
		f.nodes[n.ID] = true
	}
	f.pass(origin + 6*time.Hour.Milliseconds() - 1)
	f.come()
	who := querytest.Principal(b, f.account)
	ask := func(e *query.Engine, i int) {
		to := f.clock().Add(-time.Duration(i%20) * time.Second)
		a, err := e.Range(b.Context(), who, series.MetricUp, to.Add(-342*time.Minute), to,
			time.Minute, query.Options{})
		if err != nil {
			b.Fatal(err)
		}
		a.Close()
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			ask(f.asks(true), 0)
		}
	})
	for _, name := range []string{"warm", "store"} {
		b.Run(name, func(b *testing.B) {
			e := f.asks(name == "warm")
			ask(e, 0)
			i := 0
			for b.Loop() {
				i++
				ask(e, i)
			}
		})
	}
}

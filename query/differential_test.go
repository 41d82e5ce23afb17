package query_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/window/rollup"
)

var anySeed = rand.Uint64N(1 << 32)

// usualSeed is make test's: what a landing waits for is the same each time. make test-full looks
// for what nobody has thought of.
const usualSeed = 20261122

// seed returns the number that random tests begin with: RINGWATCH_SEED, or with RINGWATCH_TEST_FULL
// another one in each run. A failure prints it.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := uint64(usualSeed)
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		n = anySeed
	}
	if s := os.Getenv("RINGWATCH_SEED"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal("RINGWATCH_SEED: ", err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat it: RINGWATCH_SEED=%d go test ./query -run '^%s$'", n, t.Name())
		}
	})
	return n
}

// both asks Prometheus and Ringwatch the same.
type both struct {
	*testing.T
	ours   *query.Engine
	who    account.Principal
	theirs *promql.Engine
	tsdb   storage.Queryable
	// lookback is that of both.
	lookback  time.Duration
	tolerance float64
	asked     int
	full      int // answers that are not empty
	refused   int
	wrong     int
	resolved  int // answers with a warning that names a resolution
}

// newBoth returns both of a fleet. now is the instant of the clock, in ms. Without rollups samples
// answer whatever the step is.
func newBoth(t *testing.T, tsdb storage.Queryable, store *querytest.Memory, now int64,
	retention time.Duration, rollups bool) *both {
	t.Helper()
	return newBothKept(t, tsdb, store, now, retention, nil, rollups)
}

// newBothKept is newBoth where levels of rollups are kept for a time only.
func newBothKept(t *testing.T, tsdb storage.Queryable, store *querytest.Memory, now int64,
	retention time.Duration, levels map[rollup.Level]time.Duration, rollups bool) *both {
	t.Helper()
	b := &both{T: t, who: querytest.Principal(t, querytest.Account), tsdb: tsdb,
		lookback: query.DefaultConfig().Lookback,
		ours:     newStoredEngine(t, store, now, retention, levels, rollups)}
	b.theirs = newPromQL()
	t.Cleanup(func() {
		t.Logf("%d questions, %d with an answer that is not empty, "+
			"%d refused by both, %d answers that name a resolution", b.asked, b.full, b.refused,
			b.resolved)
	})
	return b
}

// newPromQL returns Prometheus's engine with the settings of query.NewEngine.
func newPromQL() *promql.Engine {
	c := query.DefaultConfig()
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: c.MaxSamples, Timeout: time.Minute, LookbackDelta: c.Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
		EnableAtModifier:         true, EnableNegativeOffset: true, EnablePerStepStats: true,
		Parser: parser.NewParser(parser.Options{EnableExperimentalFunctions: true}),
	})
}

// span is what an expression is asked for: an instant if there is no step.
type span struct {
	from, to time.Time
	step     time.Duration
}

func instant(ms int64) span { return span{from: time.UnixMilli(ms), to: time.UnixMilli(ms)} }

func (s span) String() string {
	if s.step == 0 {
		return fmt.Sprintf("at %d", s.from.UnixMilli())
	}
	return fmt.Sprintf("from %d to %d step %v", s.from.UnixMilli(), s.to.UnixMilli(), s.step)
}

// warningsOf returns what annotations say, sorted, and whether one of them names a resolution.
func warningsOf(list annotations.Annotations, expr string) (all []string, resolution bool) {
	warnings, infos := list.AsStrings(expr, 0, 0)
	for _, text := range slices.Concat(warnings, infos) {
		switch {
		case strings.Contains(text, "values are rollups of"):
			resolution = true
		case strings.Contains(text, "conflicting counter resets during histogram"):
			// Depends on what samples say of resets, see querytest.Diff.
		default:
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), resolution
}

// askOurs asks Ringwatch.
func (b *both) askOurs(expr string, s span) (*query.Answer, error) {
	o := query.Options{Lookback: b.lookback}
	if s.step == 0 {
		return b.ours.Instant(b.Context(), b.who, expr, s.from, o)
	}
	return b.ours.Range(b.Context(), b.who, expr, s.from, s.to, s.step, o)
}

// askTheirs asks Prometheus.
func (b *both) askTheirs(expr string, s span) (*promql.Result, func()) {
	opts := promql.NewPrometheusQueryOpts(false, b.lookback)
	var q promql.Query
	var err error
	if s.step == 0 {
		q, err = b.theirs.NewInstantQuery(b.Context(), b.tsdb, opts, expr, s.from)
	} else {
		q, err = b.theirs.NewRangeQuery(b.Context(), b.tsdb, opts, expr, s.from, s.to, s.step)
	}
	if err != nil {
		return &promql.Result{Err: err}, func() {}
	}
	return q.Exec(context.Background()), q.Close
}

// maxWrong is how many differences are shown.
const maxWrong = 15

// same asks both and reports a difference. It returns whether Ringwatch's answer names a
// resolution.
func (b *both) same(expr string, s span) (resolution bool) {
	b.Helper()
	b.asked++
	want, done := b.askTheirs(expr, s)
	defer done()
	got, err := b.askOurs(expr, s)
	if err == nil {
		defer got.Close()
	}
	say := func(format string, args ...any) {
		b.Helper()
		if b.wrong++; b.wrong <= maxWrong {
			b.Errorf("%s\n   %s\n   %s", expr, s, fmt.Sprintf(format, args...))
		}
	}
	switch {
	case err != nil && want.Err != nil:
		b.refused++
		return false
	case err != nil:
		say("refused: %v", err)
		return false
	case want.Err != nil:
		say("not refused: %v", want.Err)
		return false
	}
	if rows(want.Value) > 0 {
		b.full++
	}
	if d := querytest.Diff(got.Value, want.Value, b.tolerance,
		strings.HasPrefix(expr, "sort")); d != "" {
		say("%s", d)
	}
	gotWarnings, resolution := warningsOf(got.Warnings, expr)
	wantWarnings, _ := warningsOf(want.Warnings, expr)
	if !slices.Equal(gotWarnings, wantWarnings) {
		say("warnings %q, want %q", gotWarnings, wantWarnings)
	}
	if resolution {
		b.resolved++
	}
	return resolution
}

func rows(v parser.Value) int {
	switch v := v.(type) {
	case promql.Vector:
		return len(v)
	case promql.Matrix:
		return len(v)
	}
	return 1
}

// origin is when the invented fleets begin: 2026-01-01, the begin of a day and so of every period.
const origin = 1_767_225_600_000

// TestDifferential asks Prometheus and Ringwatch the same of samples, and wants the same to the
// last bit.
func TestDifferential(t *testing.T) {
	n := seed(t)
	f := querytest.NewFleet(querytest.FleetConfig{Seed: n, From: origin, Span: 2 * time.Hour,
		Interval: 20 * time.Second,
		Jitter:   400 * time.Millisecond, Nodes: 6, Tables: 4, Classic: true})
	now := f.End() + time.Minute.Milliseconds()
	tsdb, store := f.TSDB(t), querytest.NewMemory(t, f.Frames)
	fine := newBoth(t, tsdb, store, now, 14*24*time.Hour, true)
	// As long as there are no rollups, samples answer every step.
	wide := newBoth(t, tsdb, store, now, 14*24*time.Hour, false)
	e := querytest.NewExpressions(f, n)
	list := slices.Clone(expressions)
	for range 330 {
		list = append(list, e.Next())
	}
	for _, expr := range list {
		for range 2 {
			if fine.same(expr, instant(e.Time())) {
				fine.Errorf("%s: samples answer, and a resolution is named", expr)
			}
		}
		step := []time.Duration{time.Second, 7 * time.Second, 15 * time.Second, 20 * time.Second,
			time.Minute, 2*time.Minute + 13*time.Millisecond, 299 * time.Second}[e.IntN(7)]
		from := time.UnixMilli(e.Time())
		s := span{from, from.Add(time.Duration(e.IntN(80)) * step), step}
		if fine.same(expr, s) {
			fine.Errorf("%s %s: samples answer, and a resolution is named", expr, s)
		}
		step = []time.Duration{5 * time.Minute, 11 * time.Minute, time.Hour,
			24 * time.Hour}[e.IntN(4)]
		s = span{from, from.Add(time.Duration(cmp.Or(e.IntN(20), 1)) * step), step}
		wide.same(expr, s)
	}
}

// newStoredEngine answers from a store alone at an instant (ms), with samples kept for retention
// and levels of rollups for theirs.
func newStoredEngine(t testing.TB, store *querytest.Memory, now int64, retention time.Duration,
	levels map[rollup.Level]time.Duration, rollups bool) *query.Engine {
	t.Helper()
	store.RawFrom, store.RollupFrom = now-retention.Milliseconds(), map[rollup.Level]int64{}
	for l, kept := range levels {
		store.RollupFrom[l] = now - kept.Milliseconds()
	}
	clock := func() time.Time { return time.UnixMilli(now) }
	sources := read.Sources{Store: store, LastSeen: store.LastSeen}
	if rollups {
		sources.Rollups = store.Rollups
	}
	r, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Hour,
		Timeout: time.Minute, Clock: clock}, sources)
	if err != nil {
		t.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock, c.RawRetention, c.RollupRetention = clock, retention, levels
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	e, err := query.NewEngine(c, r, store.Index(), p, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

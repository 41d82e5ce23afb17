package kernel_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/query/kernel"
)

// rows are series of Prometheus's engine: number i has the label i. They are what it selects,
// whatever is asked for.
type rows struct {
	storage.LabelQuerier
	list  [][]float64
	steps kernel.Steps
	at    int
}

// Querier implements storage.Queryable.
func (r *rows) Querier(int64, int64) (storage.Querier, error) { return r, nil }

// Close implements storage.Querier.
func (r *rows) Close() error { return nil }

// Select implements storage.Querier.
func (r *rows) Select(
	context.Context, bool, *storage.SelectHints, ...*labels.Matcher,
) storage.SeriesSet {
	return &rows{list: r.list, steps: r.steps, at: -1}
}

// Next implements storage.SeriesSet.
func (r *rows) Next() bool { r.at++; return r.at < len(r.list) }

// At implements storage.SeriesSet.
func (r *rows) At() storage.Series {
	s := promql.Series{Metric: labels.FromStrings("i", fmt.Sprint(r.at))}
	for i, v := range r.list[r.at] {
		s.Floats = append(s.Floats, promql.FPoint{T: r.steps.At(i), F: v})
	}
	return promql.NewStorageSeries(s)
}

// Err implements storage.SeriesSet.
func (r *rows) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (r *rows) Warnings() annotations.Annotations { return nil }

// TestOperations aggregates rows of equal numbers, NaN, infinities and zeros of both signs as
// Prometheus's engine does: to the last bit, with the same one of equals first, in the same order.
func TestOperations(t *testing.T) {
	e := promql.NewEngine(promql.EngineOpts{MaxSamples: 1 << 30, Timeout: time.Minute})
	random := rand.New(rand.NewPCG(20261122, 1))
	for range 300 {
		r := &rows{steps: kernel.Steps{First: 1000, Every: 1000, N: 1 + random.IntN(3)}}
		for range random.IntN(60) {
			r.list = append(r.list, hostile(random, r.steps.N))
		}
		for _, name := range []string{"sum", "avg", "min", "max", "count", "group", "stddev",
			"stdvar"} {
			agrees(t, e, r, name, 0)
		}
		agrees(t, e, r, "quantile", random.Float64())
		agrees(t, e, r, "quantile", float64(random.IntN(2)))
		agrees(t, e, r, "topk", 1+float64(random.IntN(25)))
		agrees(t, e, r, "bottomk", 1.5+float64(random.IntN(25)))
	}
}

// hostile returns numbers that rules are made of, and others between them.
func hostile(random *rand.Rand, n int) []float64 {
	list := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1),
		kernel.Missing, kernel.Missing, 1, 1, 2, 3, math.MaxFloat64, 1e-300, 0.1}
	row := make([]float64, n)
	for i := range row {
		row[i] = list[random.IntN(len(list))]
		if random.IntN(3) == 0 {
			row[i] = random.NormFloat64()
		}
	}
	return row
}

// agrees compares what an operation makes of rows with what the engine does.
func agrees(t *testing.T, e *promql.Engine, r *rows, name string, param float64) {
	t.Helper()
	expr := fmt.Sprintf("%s(x)", name)
	if param != 0 || name == "quantile" {
		expr = fmt.Sprintf("%s(%v, x)", name, param)
	}
	want := asked(t, e, r, expr)
	got, ok := aggregated(t, r, name, param)
	if ok && !slices.Equal(got, want) {
		t.Errorf("%s of %v:\n%q, want\n%q", expr, r.list, got, want)
	}
}

// asked is what the engine answers, step by step: of one step in its order, else by text.
func asked(t *testing.T, e *promql.Engine, r *rows, expr string) (list []string) {
	t.Helper()
	opts := promql.NewPrometheusQueryOpts(false, time.Second)
	from, to := time.UnixMilli(r.steps.First), time.UnixMilli(r.steps.At(r.steps.N-1))
	q, err := e.NewRangeQuery(t.Context(), r, opts, expr, from, to, time.Second)
	if r.steps.N == 1 {
		q, err = e.NewInstantQuery(t.Context(), r, opts, expr, from)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	switch v := q.Exec(t.Context()).Value.(type) {
	case promql.Vector:
		for _, s := range v {
			list = append(list, textOf(0, s.Metric.Get("i"), s.F))
		}
	case promql.Matrix:
		for _, s := range v {
			for _, p := range s.Floats {
				list = append(list, textOf(int(p.T-r.steps.First)/1000, s.Metric.Get("i"), p.F))
			}
		}
		slices.Sort(list)
	default:
		t.Fatalf("%s is %v", expr, v)
	}
	return list
}

func textOf(step int, series string, v float64) string {
	if math.IsNaN(v) {
		return fmt.Sprintf("%d %s NaN", step, series)
	}
	return fmt.Sprintf("%d %s %x", step, series, math.Float64bits(v))
}

// aggregated is what asked says of an operation; false if it is only the engine's.
func aggregated(t *testing.T, r *rows, name string, param float64) (list []string, ok bool) {
	t.Helper()
	o, is := kernel.NewOperation(name, param)
	if !is {
		t.Fatal("no kernel knows", name)
	}
	if o.IsTopK() {
		return ranked(r, o), true
	}
	g := o.NewGroup(r.steps.N)
	for _, row := range r.list {
		if !g.Add(row) {
			return nil, false
		}
	}
	row, err := g.Row(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range row {
		if !kernel.IsMissing(v) {
			list = append(list, textOf(i, "", v))
		}
	}
	return list, true
}

// ranked is what asked says of topk and bottomk.
func ranked(r *rows, o kernel.Operation) (list []string) {
	g := o.NewTopK(r.steps.N)
	for i, row := range r.list {
		if g.GrownBytes() > 0 {
			g.Grow()
		}
		g.Add(row, int32(i), func(int32) {})
	}
	for i := range r.steps.N {
		values, series := g.At(i, r.steps.N == 1)
		for j, v := range values {
			list = append(list, textOf(i, fmt.Sprint(series[j]), v))
		}
	}
	if r.steps.N > 1 {
		slices.Sort(list)
	}
	return list
}

package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/query/kernel"
)

// TestEdges looks at samples that lie just at the ends of windows and of the lookback: the later
// end counts, the earlier does not.
func TestEdges(t *testing.T) {
	c := kernel.Columns{Times: []int64{1000, 2000, 3000}, Values: []float64{1, 2, 4}}
	steps := kernel.Steps{First: 3000, Every: 1000, N: 4}
	row := make([]float64, steps.N)
	same := func(what string, want ...float64) {
		t.Helper()
		for i, v := range want {
			if math.IsNaN(v) != kernel.IsMissing(row[i]) || !math.IsNaN(v) && row[i] != v {
				t.Errorf("%s: step %d has %v, want %v", what, i, row[i], v)
			}
		}
	}
	none := math.NaN()
	kernel.Lookback(c, steps, 2000, 0, row)
	same("lookback", 4, 4, none, none)
	kernel.Lookback(c, steps, 2000, 1000, row)
	same("lookback with an offset", 2, 4, 4, none)
	ended := kernel.Columns{Times: []int64{3000, 4000}, Values: []float64{4, kernel.Missing}}
	kernel.Lookback(ended, steps, 2000, 0, row)
	same("a series that ended", 4, none, none, none)
	for name, want := range map[string][]float64{
		"count_over_time": {2, 1, none, none}, "sum_over_time": {6, 4, none, none},
		"irate": {2, none, none, none}, "min_over_time": {2, 4, none, none},
	} {
		s := kernel.Slider{Func: kernel.Function(name), Steps: steps, Width: 2000}
		if _, err := s.Slide(t.Context(), c, row); err != nil {
			t.Fatal(err)
		}
		same(name, want...)
	}
}

// TestFunctions slides windows of any width over equal numbers, NaN, infinities and zeros of both
// signs, at steps that are shorter and longer than the windows: to the last bit as the engine.
func TestFunctions(t *testing.T) {
	e := promql.NewEngine(promql.EngineOpts{MaxSamples: 1 << 30, Timeout: time.Minute})
	random := rand.New(rand.NewPCG(20261122, 2))
	for range 200 {
		r := &rows{steps: kernel.Steps{First: 1000, Every: 1000, N: random.IntN(80)}}
		r.list = [][]float64{hostile(random, r.steps.N)}
		steps := kernel.Steps{First: int64(random.IntN(30_000)),
			Every: 1 + int64(random.IntN(12_000)), N: 1 + random.IntN(20)}
		width := time.Duration(1+random.IntN(30)) * time.Second
		for _, name := range []string{"min_over_time", "max_over_time", "changes", "resets",
			"sum_over_time", "avg_over_time", "count_over_time", "last_over_time",
			"first_over_time",
			"present_over_time", "rate", "increase", "delta", "irate", "idelta"} {
			slides(t, e, r, name, steps, width)
		}
	}
}

// slides compares a function of windows with what the engine makes of them.
func slides(
	t *testing.T, e *promql.Engine, r *rows, name string, steps kernel.Steps, width time.Duration,
) {
	t.Helper()
	expr := fmt.Sprintf("%s(x[%v])", name, width)
	q, err := e.NewRangeQuery(t.Context(), r, nil, expr, time.UnixMilli(steps.First),
		time.UnixMilli(steps.At(steps.N-1)), time.Duration(steps.Every)*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	m, err := q.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatal(err)
	}
	want := make([]string, steps.N)
	for _, s := range m {
		for _, p := range s.Floats {
			i := int((p.T - steps.First) / steps.Every)
			want[i] = textOf(i, "", p.F)
		}
	}
	s := kernel.Slider{Func: kernel.Function(name), Steps: steps, Width: width.Milliseconds()}
	var c kernel.Columns
	for i, v := range r.list[0] {
		if !kernel.IsMissing(v) {
			c.Times, c.Values = append(c.Times, r.steps.At(i)), append(c.Values, v)
		}
	}
	row := make([]float64, steps.N)
	for range 2 { // what a series leaves is nothing to the next one
		if _, err := s.Slide(t.Context(), c, row); err != nil {
			t.Fatal(err)
		}
		for i, v := range row {
			got := ""
			if !kernel.IsMissing(v) {
				got = textOf(i, "", v)
			}
			if got != want[i] {
				t.Fatalf("%s of %v, step %d of %v: %q, want %q", expr, r.list[0], i, steps,
					got, want[i])
			}
		}
	}
}

package payload

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// plainQuantile is PromQL's histogram_quantile over cumulative buckets, written the slow way.
func plainQuantile(q float64, counts []int64, bounds []float64) float64 {
	var total float64
	for _, n := range counts {
		total += float64(n)
	}
	rank, below := q*total, 0.0
	for i, n := range counts {
		if below+float64(n) < rank || n == 0 {
			below += float64(n)
			continue
		}
		switch {
		case i == len(bounds):
			return bounds[len(bounds)-1]
		case i == 0 && bounds[0] <= 0:
			return bounds[0]
		case i == 0:
			return bounds[0] * (rank - below) / float64(n)
		}
		return bounds[i-1] + (bounds[i]-bounds[i-1])*(rank-below)/float64(n)
	}
	return bounds[len(bounds)-1]
}

func TestQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := frame.Bounds{Exponent: rapid.IntRange(-9, 3).Draw(t, "exponent")}
		upper := rapid.Int64Range(-3, 3).Draw(t, "first")
		var scaled []float64
		for range rapid.IntRange(1, 30).Draw(t, "bounds") {
			b.Upper = append(b.Upper, upper)
			scaled = append(scaled, frame.Scale(upper, b.Exponent))
			upper += rapid.Int64Range(1, 1000).Draw(t, "step")
		}
		counts := rapid.SliceOfN(rapid.Int64Range(0, 50), len(b.Upper)+1, len(b.Upper)+1).Draw(t,
			"counts")
		h := window.NewHistogram(counts, 0)
		if h.Count() == 0 {
			return
		}
		previous := math.Inf(-1)
		for _, q := range quantiles {
			got, want := quantile(q.q, &h, h.Count(), &b), plainQuantile(q.q, counts, scaled)
			if math.Abs(got-want) > 1e-12*math.Abs(want) || got < previous {
				t.Fatalf("%s is %v, want %v, after %v", q.name, got, want, previous)
			}
			previous = got
		}
	})
}

func TestDifferenceAfterRestart(t *testing.T) {
	before, after := new(window.NewHistogram([]int64{5, 3}, 40)),
		new(window.NewHistogram([]int64{6, 1}, 9))
	if d := difference(before, after); !slices.Equal(d.Dense(nil), []int64{6, 1}) || d.Sum != 9 {
		t.Error(d)
	}
	after = new(window.NewHistogram([]int64{6, 3}, 44))
	if d := difference(before, after); !slices.Equal(d.Dense(nil), []int64{1, 0}) || d.Sum != 4 {
		t.Error(d)
	}
}

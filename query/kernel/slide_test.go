package kernel_test

import (
	"math"
	"testing"

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
	kernel.Look(c, steps, 2000, 0, row)
	same("lookback", 4, 4, none, none)
	kernel.Look(c, steps, 2000, 1000, row)
	same("lookback with an offset", 2, 4, 4, none)
	ended := kernel.Columns{Times: []int64{3000, 4000}, Values: []float64{4, kernel.Missing}}
	kernel.Look(ended, steps, 2000, 0, row)
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

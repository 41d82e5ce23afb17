package selection

import (
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// TestRolledSamplesAreEven holds that a window shorter than two periods has two samples of a
// counter wherever it lies, as far apart as all others: rate() takes what is uneven for missing.
func TestRolledSamplesAreEven(t *testing.T) {
	level := rollup.FiveMinutes
	s := rollup.Series{Metric: &window.Metric{Name: "a_total", Kind: frame.Counter}, Level: level}
	for i := range int64(4) {
		s.Append(&rollup.Point{
			Start: i * level.Millis, Count: 60, First: 600 * i, Last: 600 * (i + 1), Increase: 600,
		})
	}
	for _, r := range []time.Duration{time.Minute, 5 * time.Minute, 320 * time.Second,
		599 * time.Second} {
		of := rollupSamples(&s, series.View{}, &plan.Windows{Ranged: true, Width: r.Milliseconds(),
			Function: "rate"},
			4*level.Millis, 10*level.Millis, nil)
		apart := of.Time(1) - of.Time(0)
		if 2*apart > r.Milliseconds() {
			t.Errorf("%s: samples are %d ms apart", r, apart)
		}
		for i := range of.Len() {
			if i > 0 {
				if d := of.Time(i) - of.Time(i-1); d < apart-2 || d > apart+2 {
					t.Errorf("%s: sample %d comes %d ms after the one before, the others %d", r, i,
						d, apart)
				}
			}
			if want := 0.002 * float64(of.Time(i)); of.Value(i) < want-0.01 ||
				of.Value(i) > want+0.01 {
				t.Errorf("%s: at %d the value is %g, want %g", r, of.Time(i), of.Value(i), want)
			}
		}
	}
}

// TestRolledBeginsWithinALife holds that for rate and increase the first period of an answer shows
// its own increase, which began with the sample before the period, and not all that was counted
// before.
func TestRolledBeginsWithinALife(t *testing.T) {
	level := rollup.FiveMinutes
	ask := &plan.Windows{Ranged: true, Width: level.Millis, Function: "increase"}
	rolled := func(m *window.Metric, list ...rollup.Point) *rollup.Series {
		s := &rollup.Series{Metric: m, Level: level}
		for i := range list {
			s.Append(&list[i])
		}
		return s
	}
	counter := &window.Metric{Name: "a_total", Kind: frame.Counter}
	s := rolled(counter,
		rollup.Point{Start: level.Millis, Count: 60, First: 1002, Last: 1600, Increase: 600},
		rollup.Point{Start: 2 * level.Millis, Count: 60, First: 1602, Last: 2200, Increase: 600})
	rises(t, "a counter", rollupSamples(s, series.View{}, ask, 3*level.Millis, 10*level.Millis,
		nil),
		1000, 1200)
	s = rolled(counter,
		rollup.Point{Start: level.Millis, Count: 60, First: 5000, Last: 100, Increase: 700},
		rollup.Point{Start: 2 * level.Millis, Count: 60, First: 102, Last: 700, Increase: 600})
	rises(t, "a counter that began anew", rollupSamples(s, series.View{}, ask, 3*level.Millis,
		10*level.Millis, nil),
		-600, 1300)

	bounds := &frame.Bounds{Upper: []int64{1}}
	s = rolled(&window.Metric{Name: "b", Kind: frame.Histogram, Bounds: bounds, HasSum: true},
		rollup.Point{Start: level.Millis, Count: 60, First: 52, Last: 80, Increase: 30,
			FirstCounts: []int64{101, 11}, LastCounts: []int64{150, 20},
			Increases: []int64{50, 10}},
		rollup.Point{Start: 2 * level.Millis, Count: 60, First: 81, Last: 90, Increase: 10,
			FirstCounts: []int64{151, 21}, LastCounts: []int64{155, 20}, Increases: []int64{5, 0}})
	of := rollupSamples(s, series.View{}, ask, 3*level.Millis, 10*level.Millis,
		nil).Samples.(*series.Points)
	if h := of.Native[0]; h.Count != 110 || h.Sum != 50 {
		t.Errorf("the histogram begins with %v", h)
	}
	for i := range of.Len() - 1 {
		if of.Native[i+1].Count < of.Native[i].Count {
			t.Errorf("the histogram falls from %v to %v", of.Native[i], of.Native[i+1])
		}
	}
	rises(t, "its count", rollupSamples(s, series.View{Suffix: series.SuffixCount}, ask,
		3*level.Millis,
		10*level.Millis, nil),
		110, 65)
	rises(t, "its sum", rollupSamples(s, series.View{Suffix: series.SuffixSum}, ask, 3*level.Millis,
		10*level.Millis, nil), 50,
		40)
}

// rises checks with what value samples begin and how much they rise in all, as rate() counts it.
func rises(t *testing.T, what string, of series.Segment, first, want float64) {
	t.Helper()
	if of.Value(0) != first {
		t.Errorf("%s begins with %g, want %g", what, of.Value(0), first)
	}
	sum := 0.0
	for i := range of.Len() - 1 {
		if d := of.Value(i+1) - of.Value(i); d >= 0 {
			sum += d
		} else {
			sum += of.Value(i + 1)
		}
	}
	if sum != want {
		t.Errorf("%s rises by %g, want %g", what, sum, want)
	}
}

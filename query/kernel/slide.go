package kernel

import (
	"context"
	"math"

	"github.com/prometheus/prometheus/util/kahansum"
)

// Columns are the samples of a series in ascending order of time, in ms.
type Columns struct {
	Times  []int64
	Values []float64
}

// Window is what a function looks at: the samples after From and until To, in ms. None is stale,
// and there is one at least.
type Window struct {
	Columns
	From, To int64
	// resets are the window's samples that are lower than the one before: the counter was reset.
	resets []reset
	// place is where in the series the window's first sample is. state is shared by the windows of
	// one series.
	place int
	state *slidingState
}

// reset is a sample that is lower than the one before, as after a counter reset.
type reset struct {
	place  int // in the series
	before float64
}

// Func computes a function of a window; false if it has no value there. width is the range, in s.
type Func func(w *Window, width float64) (float64, bool)

// functions are all that this package computes, by their names in PromQL.
var functions = map[string]Func{
	"rate": func(w *Window, width float64) (float64, bool) {
		return extrapolated(w, width, true, true)
	},
	"increase": func(w *Window, width float64) (float64, bool) {
		return extrapolated(w, width, true, false)
	},
	"delta": func(w *Window, width float64) (float64, bool) {
		return extrapolated(w, width, false, false)
	},
	"irate":         func(w *Window, _ float64) (float64, bool) { return lastTwo(w, true) },
	"idelta":        func(w *Window, _ float64) (float64, bool) { return lastTwo(w, false) },
	"sum_over_time": sum,
	"avg_over_time": mean,
	"min_over_time": func(w *Window, _ float64) (float64, bool) {
		return w.state.least.find(w), true
	},
	"max_over_time": func(w *Window, _ float64) (float64, bool) {
		return w.state.greatest.find(w), true
	},
	"count_over_time": func(w *Window, _ float64) (float64, bool) {
		return float64(len(w.Values)), true
	},
	"present_over_time": func(*Window, float64) (float64, bool) { return 1, true },
	"last_over_time": func(w *Window, _ float64) (float64, bool) {
		return w.Values[len(w.Values)-1], true
	},
	"first_over_time": func(w *Window, _ float64) (float64, bool) { return w.Values[0], true },
	"resets": func(w *Window, _ float64) (float64, bool) {
		return float64(len(w.resets)), true
	},
	"changes": func(w *Window, _ float64) (float64, bool) {
		return w.state.changes.in(w), true
	},
}

// Function returns a function of range vectors by its name in PromQL; nil if only the engine has
// it.
func Function(name string) Func { return functions[name] }

// Slider computes one function over series after series. Its scratch is used again.
type Slider struct {
	Func  Func
	Steps Steps
	// Width is the range, and Offset how long before each instant it ends, in ms.
	Width, Offset int64

	resets []reset
	state  slidingState
}

// Slide writes the function's value at each step into row, or Missing, and reports whether there is
// any. It looks at each sample once to find the windows. The error is the context's.
func (s *Slider) Slide(ctx context.Context, c Columns, row []float64) (bool, error) {
	s.resets = s.resets[:0]
	for i := 1; i < len(c.Values); i++ {
		if c.Values[i] < c.Values[i-1] {
			s.resets = append(s.resets, reset{i, c.Values[i-1]})
		}
	}
	any, looked := false, 0
	from, to, fallsFrom, fallsTo := 0, 0, 0, 0
	s.state.begin(c.Values)
	w := Window{state: &s.state}
	width := float64(s.Width) / 1000
	for i := range row {
		w.To = s.Steps.At(i) - s.Offset
		w.From = w.To - s.Width
		for to < len(c.Times) && c.Times[to] <= w.To {
			to++
		}
		for from < to && c.Times[from] <= w.From {
			from++
		}
		row[i] = Missing
		if looked += to - from; looked >= checkEvery {
			if looked = 0; ctx.Err() != nil {
				return false, ctx.Err()
			}
		}
		if from == to {
			continue
		}
		for fallsTo < len(s.resets) && s.resets[fallsTo].place < to {
			fallsTo++
		}
		for fallsFrom < fallsTo && s.resets[fallsFrom].place <= from {
			fallsFrom++
		}
		w.Times, w.Values = c.Times[from:to], c.Values[from:to]
		w.resets, w.place = s.resets[fallsFrom:fallsTo], from
		if v, is := s.Func(&w, width); is {
			row[i], any = v, true
		}
	}
	return any, nil
}

// checkEvery is after how many samples of windows the context is asked: 1 ms, or a few of them.
const checkEvery = 1 << 18

// Lookback writes the newest value of each step's lookback into row, or Missing, and reports
// whether there is any. Among the values are stale markers, after which a series has none.
func Lookback(c Columns, steps Steps, lookback, offset int64, row []float64) bool {
	any, to := false, 0
	for i := range row {
		at := steps.At(i) - offset
		for to < len(c.Times) && c.Times[to] <= at {
			to++
		}
		row[i] = Missing
		if to > 0 && c.Times[to-1] > at-lookback && !IsMissing(c.Values[to-1]) {
			row[i], any = c.Values[to-1], true
		}
	}
	return any
}

// extrapolated is rate, increase or delta. The values before resets are added in the engine's
// order.
func extrapolated(w *Window, width float64, counter, rate bool) (float64, bool) {
	n := len(w.Values) - 1
	if n == 0 {
		return 0, false
	}
	rise := w.Values[n] - w.Values[0]
	if counter {
		for _, f := range w.resets {
			rise += f.before
		}
	}
	e := extrapolation{first: w.Times[0], last: w.Times[n], n: n, from: w.From, to: w.To}
	return rise * e.factor(counter, w.Values[0], rise, width, rate), true
}

// extrapolation extends an increase from a window's first and last sample to the window's ends. n
// is the number of samples less one.
type extrapolation struct {
	first, last int64
	n           int
	from, to    int64
}

// factor returns what the increase from the first sample to the last is multiplied by. It is
// extended to each of the window's ends, or by half the mean distance of samples where that end is
// far.
func (e *extrapolation) factor(counter bool, first, rise, width float64, rate bool) float64 {
	toStart := float64(e.first-e.from) / 1000
	toEnd := float64(e.to-e.last) / 1000
	sampled := float64(e.last-e.first) / 1000
	apart := sampled / float64(e.n)
	threshold := apart * 1.1
	if toStart >= threshold {
		toStart = apart / 2
	}
	if counter && rise > 0 && first >= 0 {
		// A counter is never below 0: the series began no earlier than the slope says.
		if toZero := sampled * (first / rise); toZero < toStart {
			toStart = toZero
		}
	}
	if toEnd >= threshold {
		toEnd = apart / 2
	}
	factor := 1.0
	if sampled != 0 {
		factor = (sampled + toStart + toEnd) / sampled
	}
	if rate {
		factor /= width
	}
	return factor
}

// lastTwo is irate or idelta.
func lastTwo(w *Window, rate bool) (float64, bool) {
	n := len(w.Values)
	if n < 2 {
		return 0, false
	}
	before, last := w.Values[n-2], w.Values[n-1]
	v := last
	if !rate || !(last < before) {
		v = last - before
	}
	if rate {
		v /= float64(w.Times[n-1]-w.Times[n-2]) / 1000
	}
	return v, true
}

func sum(w *Window, _ float64) (float64, bool) {
	var total, rest float64
	for _, v := range w.Values {
		total, rest = kahansum.Inc(v, total, rest)
	}
	if math.IsInf(total, 0) {
		return total, true
	}
	return total + rest, true
}

// mean adds up, and goes on with means where that would overflow.
func mean(w *Window, _ float64) (float64, bool) {
	m := runningMean{total: w.Values[0], n: 1}
	for _, v := range w.Values[1:] {
		m.add(v)
	}
	return m.mean(), true
}

// runningMean is a mean of what has come so far.
type runningMean struct {
	total, rest, n float64
	of             float64 // the mean, once the total would overflow
	means          bool
}

func (r *runningMean) add(v float64) {
	r.n++
	if !r.means {
		total, rest := kahansum.Inc(v, r.total, r.rest)
		if !math.IsInf(total, 0) {
			r.total, r.rest = total, rest
			return
		}
		r.means = true
		r.of = r.total / (r.n - 1)
		r.rest /= r.n - 1
	}
	q := (r.n - 1) / r.n
	r.of, r.rest = kahansum.Inc(v/r.n, q*r.of, q*r.rest)
}

func (r *runningMean) mean() float64 {
	if r.means {
		return r.of + r.rest
	}
	return r.total/r.n + r.rest/r.n
}

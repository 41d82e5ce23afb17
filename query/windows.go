package query

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// longInstant is the range, in ms, from which on rollups answer a function of one instant.
const longInstant = 24 * 60 * 60_000

// A window that does not begin and end with a period of a rollup has less than a period too much
// or too little at an end. That is to be at most a hundredth of it; a tenth for a rate, which is
// spread over the window anyway.
const (
	partOfWindow = 100
	partOfRate   = 10
)

// precision says how well rollups answer a function of range vectors, beside samples.
type precision int

const (
	// it looks at single samples: between two periods' ends all may have happened
	none        precision = iota
	approximate           // as a Prometheus does that scrapes once a period
	exact                 // if windows are whole periods
)

// precisionOf returns it for a function, and for a kind of metric or the classic series of a
// histogram kind.
func precisionOf(function string, k frame.Kind, classic bool) precision {
	gauge := !classic && (k == frame.Gauge || k == frame.GaugeDouble || k == frame.GaugeHistogram)
	switch function {
	case "rate", "increase":
		if k == frame.Counter || k == frame.Histogram {
			return exact
		}
	case "max_over_time", "min_over_time", "avg_over_time":
		if gauge {
			return exact
		}
		return approximate
	case "sum_over_time":
		if gauge {
			return exact
		}
	case "last_over_time", "present_over_time", "absent_over_time":
		return exact
	case "first_over_time", "delta", "deriv", "predict_linear":
		return approximate
	}
	return none
}

// windows are what a selector looks at: each ends at an instant of its evaluation, less its offset,
// and reaches back over a range vector's range, or over the lookback. Times are in ms.
type windows struct {
	ranged    bool   // a range vector
	function  string // that the range vector is for
	precision precision
	width     int64
	step      int64 // from one to the next; 0: there is one
	end       int64 // where one of them ends
	known     bool  // end is known
}

// newWindows returns what a selector looks at that has a lookback, in ms, and belongs to a query
// with these selectors in subqueries; nil: to none. A subquery is evaluated at multiples of its
// step, whatever it begins with; a selector with @ at one instant.
func newWindows(
	h *storage.SelectHints, matchers []*labels.Matcher, lookback int64,
	within expression.SubqueryOffsets,
) windows {
	w := windows{ranged: h.Range > 0, width: h.Range, step: h.Step}
	if w.ranged {
		w.function = h.Func
	} else {
		w.width = lookback
	}
	w.end = h.Start - 1 + w.width
	var offset int64
	subquery := false
	if len(matchers) > 0 {
		offset, subquery = within[matchers[0]]
	}
	switch {
	case h.Step == 0 || w.end >= h.End || !subquery && w.end+h.Step > h.End && within != nil:
		w.step, w.known = 0, true
	case subquery:
		w.end, w.known = -offset, true
	default:
		w.known = within != nil
	}
	return w
}

// level returns the coarsest rollup that fits; false if only samples do.
func (w *windows) level() (rollup.Level, bool) {
	for _, l := range slices.Backward(rollup.Levels) {
		if w.fit(l) {
			return l, true
		}
	}
	return rollup.Level{}, false
}

// fit reports whether a rollup may answer although there are samples: it is no wider than the step
// and the window, and what windows are is what their periods are, or nearly.
func (w *windows) fit(l rollup.Level) bool {
	if w.ranged && w.precision == none {
		return false
	}
	if w.step == 0 { // mostly of now, where no period ends
		return w.ranged && w.width >= longInstant && partOfWindow*l.Millis <= w.width
	}
	if l.Millis > w.width || l.Millis > w.step {
		return false
	}
	aligned := w.aligned(l)
	if !w.ranged { // what is seen is less than a period older than it might be
		return aligned || l == rollup.FiveMinutes || partOfRate*l.Millis <= w.step
	}
	edge, part := l.Millis, int64(partOfWindow)
	switch {
	case w.precision == exact && aligned && w.width%l.Millis == 0:
		return true
	case w.isIncrease() && aligned:
		// what came before the first period that is whole is not looked at
		edge, part = w.width%l.Millis, partOfRate
	case w.isIncrease():
		part = partOfRate
	}
	return edge*part <= w.width
}

// aligned reports whether windows end where periods end.
func (w *windows) aligned(l rollup.Level) bool {
	return w.known && w.step%l.Millis == 0 && l.Start(w.end) == w.end
}

// asked notes what the windows are looked at for.
func (w *windows) asked(p *plan, known map[string]frame.Kind) {
	if !w.ranged {
		return
	}
	w.precision = max(precisionOf(w.function, frame.Counter, false),
		precisionOf(w.function, frame.Gauge, false))
	p.kinds(known, func(k frame.Kind, classic bool) {
		w.precision = min(w.precision, precisionOf(w.function, k, classic))
	})
}

// isIncrease reports whether the windows are for a function that adds up increases.
func (w *windows) isIncrease() bool {
	return w.ranged && (w.function == "rate" || w.function == "increase")
}

// apart reports whether no two windows have an instant in common.
func (w *windows) apart() bool { return w.known && w.step >= w.width }

// visibleFrom returns the first instant from at on that a window may see.
func (w *windows) visibleFrom(at int64) int64 {
	if w.step == 0 || !w.apart() {
		return at
	}
	if until := mod(w.end-at, w.step); until >= w.width {
		return at + until - w.width + 1
	}
	return at
}

// mod is a modulo n, never negative.
func mod(a, n int64) int64 { return (a%n + n) % n }

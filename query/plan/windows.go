package plan

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
	PartOfWindow = 100
	PartOfRate   = 10
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

// Windows are what a selector looks at: each ends at an instant of its evaluation, less its offset,
// and reaches back over a range vector's range, or over the lookback. Times are in ms.
type Windows struct {
	Ranged    bool   // a range vector
	Function  string // that the range vector is for
	precision precision
	Width     int64
	Step      int64 // from one to the next; 0: there is one
	End       int64 // where one of them ends
	Known     bool  // end is known
}

// NewWindows returns what a selector looks at that has a lookback, in ms, and belongs to a query
// with these selectors in subqueries; nil: to none. A subquery is evaluated at multiples of its
// step, whatever it begins with; a selector with @ at one instant.
func NewWindows(
	h *storage.SelectHints, matchers []*labels.Matcher, lookback int64,
	within expression.SubqueryOffsets,
) Windows {
	w := Windows{Ranged: h.Range > 0, Width: h.Range, Step: h.Step}
	if w.Ranged {
		w.Function = h.Func
	} else {
		w.Width = lookback
	}
	w.End = h.Start - 1 + w.Width
	var offset int64
	subquery := false
	if len(matchers) > 0 {
		offset, subquery = within[matchers[0]]
	}
	switch {
	case h.Step == 0 || w.End >= h.End || !subquery && w.End+h.Step > h.End && within != nil:
		w.Step, w.Known = 0, true
	case subquery:
		w.End, w.Known = -offset, true
	default:
		w.Known = within != nil
	}
	return w
}

// level returns the coarsest rollup that fits; false if only samples do.
func (w *Windows) level() (rollup.Level, bool) {
	for _, l := range slices.Backward(rollup.Levels) {
		if w.fit(l) {
			return l, true
		}
	}
	return rollup.Level{}, false
}

// fit reports whether a rollup may answer although there are samples: it is no wider than the step
// and the window, and what windows are is what their periods are, or nearly.
func (w *Windows) fit(l rollup.Level) bool {
	if w.Ranged && w.precision == none {
		return false
	}
	if w.Step == 0 { // mostly of now, where no period ends
		return w.Ranged && w.Width >= longInstant && PartOfWindow*l.Millis <= w.Width
	}
	if l.Millis > w.Width || l.Millis > w.Step {
		return false
	}
	aligned := w.Aligned(l)
	if !w.Ranged { // what is seen is less than a period older than it might be
		return aligned || l == rollup.FiveMinutes || PartOfRate*l.Millis <= w.Step
	}
	edge, part := l.Millis, int64(PartOfWindow)
	switch {
	case w.precision == exact && aligned && w.Width%l.Millis == 0:
		return true
	case w.IsIncrease() && aligned:
		// what came before the first period that is whole is not looked at
		edge, part = w.Width%l.Millis, PartOfRate
	case w.IsIncrease():
		part = PartOfRate
	}
	return edge*part <= w.Width
}

// Aligned reports whether windows end where periods end.
func (w *Windows) Aligned(l rollup.Level) bool {
	return w.Known && w.Step%l.Millis == 0 && l.Start(w.End) == w.End
}

// Asked notes what the windows are looked at for.
func (w *Windows) Asked(p *Plan, known map[string]frame.Kind) {
	if !w.Ranged {
		return
	}
	w.precision = max(precisionOf(w.Function, frame.Counter, false),
		precisionOf(w.Function, frame.Gauge, false))
	p.Kinds(known, func(k frame.Kind, classic bool) {
		w.precision = min(w.precision, precisionOf(w.Function, k, classic))
	})
}

// IsIncrease reports whether the windows are for a function that adds up increases.
func (w *Windows) IsIncrease() bool {
	return w.Ranged && (w.Function == "rate" || w.Function == "increase")
}

// apart reports whether no two windows have an instant in common.
func (w *Windows) apart() bool { return w.Known && w.Step >= w.Width }

// VisibleFrom returns the first instant from at on that a window may see.
func (w *Windows) VisibleFrom(at int64) int64 {
	if w.Step == 0 || !w.apart() {
		return at
	}
	if until := Mod(w.End-at, w.Step); until >= w.Width {
		return at + until - w.Width + 1
	}
	return at
}

// Mod is a modulo n, never negative.
func Mod(a, n int64) int64 { return (a%n + n) % n }

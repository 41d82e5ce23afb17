// Package live is for who holds stored series in memory, as package rules does: a Selector knows
// which of them it means, and a View is one of them as PromQL sees it.
//
// It may import frame, window, query/plan and query/series.
package live

import (
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// Selector is a selector of PromQL for who holds stored series in memory: package rules. It knows
// which of them it means, and as what series PromQL sees them.
type Selector struct {
	plan *plan.Plan

	mu    sync.Mutex
	upper map[*frame.Bounds][]float64
}

// NewSelector returns the Selector of matchers, the metric's name among them.
func NewSelector(matchers []*labels.Matcher) *Selector {
	none := func() map[string]frame.Kind { return nil }
	return &Selector{plan: plan.New(matchers, none), upper: map[*frame.Bounds][]float64{}}
}

// Wants reports whether a stored metric of the name may have series that are meant: itself, or one
// of a histogram's classic ones.
func (s *Selector) Wants(metric string) bool {
	return s.plan.Named(metric) || slices.ContainsFunc(series.Suffixes[:],
		func(suffix string) bool { return s.plan.Named(metric + suffix) })
}

// View is a stored series whose values come and go, as one Selector sees it. It implements nothing
// itself: its Series do.
type View struct {
	of    *window.Series
	plan  *plan.Plan
	views []*series.Series
}

// Live returns what the Selector sees of a series; nil if nothing. The series' labels and metric
// are fixed; its values may change as long as nobody reads them meanwhile.
func (s *Selector) Live(of *window.Series) *View {
	l := &View{of: of, plan: s.plan}
	if of.Metric.Kind == frame.String {
		if !s.plan.Named(of.Metric.Name) || !s.mayMean(of.Labels) {
			return nil
		}
		return l
	}
	s.plan.Views(of.Labels, of.Metric, func(ls labels.Labels, v series.View) {
		l.views = append(l.views,
			&series.Series{Metric: ls, Segments: []series.Segment{{Samples: s.samples(of, v)}}})
	})
	if len(l.views) == 0 {
		return nil
	}
	return l
}

// mayMean reports whether a text of a series may be meant: all but the label of the text fits.
func (s *Selector) mayMean(l labels.Labels) bool {
	text := series.TextLabel(l)
	return !slices.ContainsFunc(s.plan.All, func(m *labels.Matcher) bool {
		return m.Name != text && !m.Matches(l.Get(m.Name))
	})
}

func (s *Selector) samples(of *window.Series, v series.View) series.Samples {
	s.mu.Lock()
	defer s.mu.Unlock()
	var upper []float64
	if b := of.Metric.Bounds; b != nil {
		if upper = s.upper[b]; upper == nil {
			upper = series.UpperBounds(b)
			s.upper[b] = upper
		}
	}
	return series.SamplesOf(of, v, upper)
}

// Append appends the series to a list. ends are the instants, ascending and none of them a value's,
// at which the series was found to be there no more. What is appended is valid until the values
// change.
func (l *View) Append(list []storage.Series, ends []int64) []storage.Series {
	if l.of.Metric.Kind == frame.String {
		l.views = l.views[:0]
		l.plan.Texts(l.of, func(ls labels.Labels, at []int64) {
			l.views = append(l.views, &series.Series{Metric: ls,
				Segments: []series.Segment{{Samples: series.Presence(at),
					Ends: textEnds(at, l.of.At, ends)}}})
		})
	}
	for _, one := range l.views {
		if l.of.Metric.Kind != frame.String {
			one.Segments[0].Ends = ends
		}
		list = append(list, one)
	}
	return list
}

// textEnds returns when a text that a series had at some of its instants ended: when the series had
// another one, or when the series did.
func textEnds(at, all, ends []int64) []int64 {
	var list []int64
	for i, t := range at {
		next, _ := slices.BinarySearch(all, t+1)
		end, _ := slices.BinarySearch(ends, t+1)
		switch {
		case i+1 < len(at) && next < len(all) && all[next] == at[i+1]:
			if end < len(ends) && ends[end] < at[i+1] {
				list = append(list, ends[end])
			}
		case end < len(ends) && (next == len(all) || ends[end] < all[next]):
			list = append(list, ends[end])
		case next < len(all):
			list = append(list, all[next])
		}
	}
	return list
}

// EngineBytes estimates what PromQL's engine keeps of a series while it evaluates an expression at
// so many instants: the series itself, and its values as an operand and in a result. walked is what
// it needs beside that to walk over all values of the series' range, which it uses again for the
// next series.
func EngineBytes(of storage.Series, steps int64) (kept, walked int64) {
	value, values := int64(series.SampleCost), int64(1)
	if s, is := of.(*series.Series); is {
		values = 0
		for i := range s.Segments {
			values += int64(s.Segments[i].Len())
		}
		if n := len(s.Segments); n > 0 && s.Segments[n-1].IsHistogram() &&
			s.Segments[n-1].Len() > 0 {
			value = engineHist + engineFilled*int64(filledOf(s.Segments[n-1].Samples))
		}
	}
	return series.SeriesCost + 2*steps*value, values * value
}

// What a histogram takes as the engine has it, and each of its buckets: a count, and the half of a
// span.
const (
	engineHist   = 200
	engineFilled = 12
)

// filledOf returns how many buckets the newest of histograms has, or may have.
func filledOf(s series.Samples) int {
	if of, is := s.(series.Histograms); is {
		return len(of.Histograms[len(of.Histograms)-1].Filled)
	}
	return rolledFilled
}

// rolledFilled is how many buckets a histogram of a rollup is taken to have: latencies fill fewer.
const rolledFilled = 64

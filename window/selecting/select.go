// Package selecting reads windows. Start with Select, which gives the series that somebody asked
// for, of one window, and Join, which joins those of several. Lines gives series over several
// windows that are read when they are wanted; Cells walks all values of a metric, for rollups.
package selecting

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// Select returns the series that match and have values at instants from ≤ at ≤ to (milliseconds
// since the Unix epoch), sorted by labels. Matchers may name __name__, cluster, datacenter, rack,
// node (the host id) and the labels of entities; a label that a series does not have is empty.
//
// Two series have equal labels only if a metric changed its definition within the window.
func Select(w *window.Window, from, to int64, matchers ...*labels.Matcher) []window.Series {
	list, _ := SelectWithin(context.Background(), w, nil, from, to, matchers...)
	return list
}

// SelectWithin is Select until ctx ends, and within the memory that the allowance gives (nil:
// any), which is asked as the answer grows. Then it returns ctx's or the allowance's error soon,
// however long matching would take.
func SelectWithin(ctx context.Context, w *window.Window, allow window.Allowance, from, to int64,
	matchers ...*labels.Matcher) ([]window.Series, error) {
	first := sort.Search(len(w.Times), func(i int) bool { return w.Times[i] >= from })
	end := sort.Search(len(w.Times), func(i int) bool { return w.Times[i] > to })
	if first >= end {
		return nil, ctx.Err()
	}
	s := search{allow: allow, times: w.Times, first: int32(first), end: int32(end)}
	for _, t := range w.Types {
		metrics := t.MatchMetrics(ctx, matchers...)
		if len(metrics) == 0 {
			continue
		}
		rows := t.MatchRows(ctx, matchers...)
		for _, m := range metrics {
			if t.Columns[m] == columns.Unread || ctx.Err() != nil {
				continue
			}
			if err := s.add(t, m, rows); err != nil {
				return nil, err
			}
		}
	}
	if err := cmp.Or(ctx.Err(), s.ask()); err != nil {
		return nil, err
	}
	sortSeries(s.out)
	return joinSorted(s.out), nil
}

// Latest returns what Select does for the newest instant alone: the series whose entity is there
// and has a value, one point each. For a node's present state a window built from its newest
// frame and that frame's key frame is enough.
func Latest(w *window.Window, matchers ...*labels.Matcher) []window.Series {
	list, _ := LatestWithin(context.Background(), w, nil, matchers...)
	return list
}

// LatestWithin is Latest until ctx ends, as SelectContext is Select.
func LatestWithin(ctx context.Context, w *window.Window, allow window.Allowance,
	matchers ...*labels.Matcher) ([]window.Series, error) {
	if len(w.Times) == 0 {
		return nil, ctx.Err()
	}
	newest := w.Times[len(w.Times)-1]
	return SelectWithin(ctx, w, allow, newest, newest, matchers...)
}

// search is a Select under way.
type search struct {
	allow      window.Allowance
	times      []int64
	first, end int32
	out        []window.Series
	owed       int64 // bytes that are taken and not asked for yet
}

// askEvery is how many bytes are taken before an allowance is asked.
const askEvery = 256 << 10

// ask asks for what is owed.
func (s *search) ask() error {
	owed := s.owed
	if s.owed = 0; s.allow == nil {
		return nil
	}
	return s.allow.Take(owed)
}

// add adds the series of one metric of some rows that have values.
func (s *search) add(t *window.Type, metric int, rows []int32) error {
	b := labels.NewScratchBuilder(5 + len(t.Labels))
	node := t.Node.String()
	m := &t.Metrics[metric]
	c := newCursor(t, metric, int32(len(s.times)))
	for _, row := range rows {
		one := window.Series{Metric: m}
		c.row(row)
		for c.next(s.first, s.end) {
			c.appendTo(&one, s.times[c.instant])
		}
		if len(one.At) == 0 {
			continue
		}
		one.Labels = t.LabelsOf(&b, node, metric, row)
		if s.owed += one.Bytes(); s.owed > askEvery {
			if err := s.ask(); err != nil {
				return err
			}
		}
		s.out = append(s.out, one)
	}
	return nil
}

func sortSeries(list []window.Series) {
	slices.SortStableFunc(list, func(a, b window.Series) int {
		return labels.Compare(a.Labels, b.Labels)
	})
}

package selection

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// collector gathers one node's series.
type collector struct {
	selection *Selection
	node      *window.Node
	lease     *memory.Lease // of the values
	list      []*series.Series
	byLabels  map[uint64][]*series.Series
	bounds    map[*frame.Bounds][]float64
}

// addLatest answers from a node's newest state if that is what the instant sees.
func (c *collector) addLatest(
	ctx context.Context, state *read.LatestSeries,
) (done bool, err error) {
	lists, done, err := c.selection.Newest(ctx, c.node, state)
	for _, list := range lists {
		for i := range list {
			if err := c.add(&list[i], nil, nil); err != nil {
				return false, err
			}
		}
	}
	return done, err
}

// Newest returns what the instant sees of a node's newest state, which may be known. It is done if
// no newer state can be meant, and the node is not silent.
func (s *Selection) Newest(
	ctx context.Context, n *window.Node, state *read.LatestSeries,
) (lists [][]window.Series, done bool, err error) {
	at := s.Hints.End
	if at < s.now-s.Query.Lookback {
		return nil, false, nil
	}
	if state == nil {
		if state, err = s.Query.Source.Reader.LatestSeries(ctx, s.question, n); err != nil {
			return nil, false, err
		}
	}
	s.addMissing(state.Missing)
	t := state.At
	switch {
	case t == 0:
		return nil, true, nil
	case t > at:
		return nil, false, nil // the instant lies before it
	case t < s.Hints.Start:
		return nil, true, nil // nothing lives on
	case t+series.MissedIntervals*max(state.Interval, n.Interval) <= at:
		return nil, false, nil // it may be silent: that depends on the frame before, too
	}
	return state.Lists, true, nil
}

// span reads one span of the time range.
func (c *collector) span(ctx context.Context, p *plan.Span) error {
	if !p.Raw() {
		list, missing, err := c.selection.Query.Source.Reader.Rollups(ctx,
			c.selection.Query.Who.Account, c.node, p.Level, p.From, p.To,
			c.selection.Plan.Rollups())
		if err != nil {
			return err
		}
		c.selection.addMissing(missing)
		for i := range list {
			if err := c.addRolled(&list[i], p); err != nil {
				return err
			}
		}
		return nil
	}
	from := p.From
	if c.selection.Hints.Range == 0 { // range windows do not see ends
		from -= series.Lead(max(c.selection.Query.Lookback,
			c.selection.Query.Source.Limits.Lookback.Milliseconds()))
	}
	windows, err := c.selection.Query.Source.Reader.Windows(ctx, c.selection.Query.Who.Account,
		c.node, from, p.To, c.selection.Plan.Facets,
		c.selection.Plan.Once)
	if err != nil {
		return err
	}
	c.selection.addMissing(windows.Missing)
	silent := series.GapsIn(windows.Instants, c.node.Interval, from, p.To)
	if c.selection.streamed && len(c.selection.spans) == 1 && len(c.selection.Plan.Once) == 1 {
		return c.addLazy(ctx, &windows, silent, p)
	}
	list, err := windows.Series(ctx, from, p.To, c.selection.Plan.Once)
	if err != nil {
		return err
	}
	for i := range list {
		s := since(list[i], p.From)
		if err := c.add(&s, windows.Instants, silent); err != nil {
			return err
		}
	}
	return nil
}

// addLazy takes the views of the series that stand in windows and are asked for, without their
// values.
func (c *collector) addLazy(
	ctx context.Context, w *read.Windows, silent []series.Gap, p *plan.Span,
) error {
	list, err := selecting.Lines(ctx, c.lease, w.List, c.selection.Plan.Once[0]...)
	if err != nil {
		return err
	}
	// The engine adds up in this order.
	if err := series.SortStable(ctx, list, func(a, b selecting.Line) int {
		return labels.Compare(a.Labels, b.Labels)
	}); err != nil {
		return err
	}
	from := max(p.From, w.From)
	for i := range list {
		l := &list[i]
		if l.Metric.Kind == frame.String {
			if err := c.add(l.Series(from, p.To), w.Instants, silent); err != nil {
				return err
			}
			continue
		}
		c.selection.Plan.Views(l.Labels, l.Metric, func(of labels.Labels, v series.View) {
			if err != nil {
				return
			}
			one := &series.Lazy{Line: l, View: v, From: from, To: p.To, Instants: w.Instants,
				Gaps: silent}
			if one.IsHistogram() {
				one.Upper = c.upper(l.Metric.Bounds)
			}
			err = c.put(of, series.Segment{Samples: one}, 0)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// since returns a series' values from an instant on, in ms.
func since(s window.Series, from int64) window.Series {
	n, _ := slices.BinarySearch(s.At, from)
	if n == 0 {
		return s
	}
	s.At = s.At[n:]
	s.Ints, s.Doubles = s.Ints[min(n, len(s.Ints)):], s.Doubles[min(n, len(s.Doubles)):]
	s.Histograms = s.Histograms[min(n, len(s.Histograms)):]
	s.Strings = s.Strings[min(n, len(s.Strings)):]
	return s
}

// add takes the views of a stored series that are asked for.
func (c *collector) add(s *window.Series, instants []int64, silent []series.Gap) error {
	if s.Metric.Kind == frame.String {
		var failed error
		c.selection.Plan.Texts(s, func(l labels.Labels, at []int64) {
			if failed == nil {
				failed = c.put(l, series.Segment{Samples: series.Presence(at),
					Ends: series.EndsOf(at, instants, silent)},
					int64(len(at))*8)
			}
		})
		return failed
	}
	ends := series.EndsOf(s.At, instants, silent)
	cost := int64(len(s.At)) * series.SampleCost
	for i := range s.Histograms {
		cost += series.HistogramCost + series.FilledCost*int64(len(s.Histograms[i].Filled))
	}
	var failed error
	c.selection.Plan.Views(s.Labels, s.Metric, func(l labels.Labels, v series.View) {
		if failed != nil {
			return
		}
		var upper []float64
		if s.Metric.Kind.IsHistogram() {
			upper = c.upper(s.Metric.Bounds)
		}
		of := series.Segment{Samples: series.SamplesOf(s, v, upper), Ends: ends}
		failed = c.put(l, of, cost)
		cost = 0 // the views share the values
	})
	return failed
}

// addRolled takes the views of a series of rollups that are asked for.
func (c *collector) addRolled(s *rollup.Series, p *plan.Span) error {
	var failed error
	c.selection.Plan.Views(s.Labels, s.Metric, func(l labels.Labels, v series.View) {
		if failed != nil {
			return
		}
		of := rollupSamples(s, v, &c.selection.windows, p.To, c.selection.now, c.after(l, p.To))
		cost := int64(of.Len()) * series.SampleCost
		for _, h := range of.Samples.(*series.Points).Native {
			cost += series.HistogramCost + 16*int64(len(h.PositiveBuckets))
		}
		failed = c.put(l, of, cost)
	})
	return failed
}

func (c *collector) upper(b *frame.Bounds) []float64 {
	if list := c.bounds[b]; list != nil {
		return list
	}
	if c.bounds == nil {
		c.bounds = map[*frame.Bounds][]float64{}
	}
	list := series.UpperBounds(b)
	c.bounds[b] = list
	return list
}

// after returns what follows an instant of the series with the labels; nil if nothing is known.
func (c *collector) after(l labels.Labels, at int64) *series.Segment {
	for _, known := range c.byLabels[l.Hash()] {
		if labels.Equal(known.Metric, l) && known.Segments[0].Time(0) > at {
			return &known.Segments[0]
		}
	}
	return nil
}

// put adds a part to the series with the labels. Its memory is the query's until that ends.
func (c *collector) put(l labels.Labels, of series.Segment, cost int64) error {
	if _, is := of.Samples.(*series.Lazy); !is && of.Len() == 0 {
		return nil
	}
	if err := c.lease.Take(cost + series.SeriesCost); err != nil {
		return err
	}
	hash := l.Hash()
	for _, known := range c.byLabels[hash] {
		if labels.Equal(known.Metric, l) {
			known.Segments = append(known.Segments, of)
			slices.SortStableFunc(known.Segments, func(a, b series.Segment) int {
				return int(a.Time(0) - b.Time(0))
			})
			return nil
		}
	}
	one := &series.Series{Metric: l, Segments: []series.Segment{of}, Context: c.selection.Query.Ctx}
	c.byLabels[hash] = append(c.byLabels[hash], one)
	c.list = append(c.list, one)
	if c.selection.streamed {
		return nil
	}
	return c.selection.tooMany(c.selection.Query.Series.Add(1))
}

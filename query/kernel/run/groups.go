package run

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// group is a series of a kernel's answer, as far as it has come.
type group struct {
	labels labels.Labels
	of     *kernel.Group
	row    []float64    // of a question that does not aggregate
	topK   *kernel.TopK // of topk and bottomk, whose series stand in topKSeries
	// histograms are those of a group that has them, and bounds theirs.
	histograms *kernel.HistogramGroup
	bounds     []float64
}

// groups are what has come so far of an answer: rows are added to them one after the other.
type groups struct {
	k      *question
	steps  kernel.Steps
	budget *budget

	byKey    map[uint64]*group
	order    []*group
	buf      []byte
	warnings annotations.Annotations
	warned   map[string]bool // names of metrics
	top      topKSeries      // of topk and bottomk
}

// newGroups returns the groups of a question at some steps; there is none yet.
func newGroups(k *question, steps kernel.Steps, b *budget) *groups {
	return &groups{k: k, steps: steps, budget: b, byKey: map[uint64]*group{},
		warned: map[string]bool{}, top: topKSeries{budget: b}}
}

// addRow adds a series to its group.
func (s *groups) addRow(one *row) error {
	l := one.labels
	if one.values != nil && (s.k.function == "rate" || s.k.function == "increase") {
		s.warn(l.Get(labels.MetricName))
	}
	if s.k.dropsName() {
		l = l.DropReserved(schema.IsMetadataLabel)
	}
	if !s.k.aggregates {
		s.order = append(s.order, &group{labels: l, row: one.values})
		return s.budget.hold(int64(8 * s.steps.N))
	}
	var key uint64
	switch {
	case s.k.without:
		key, s.buf = l.HashWithoutLabels(s.buf, s.k.grouping...)
	case len(s.k.grouping) > 0:
		key, s.buf = l.HashForLabels(s.buf, s.k.grouping...)
	}
	g := s.byKey[key]
	if g == nil {
		var err error
		if g, err = s.begin(l, one); err != nil {
			return err
		}
		s.byKey[key] = g
	}
	switch {
	case g.topK != nil:
		return s.top.addRow(g.topK, l, one.values)
	case g.histograms == nil && one.histograms == nil:
		if s.k.operation.KeepsRows() {
			if err := s.budget.take(rowCost + int64(8*s.steps.N)); err != nil {
				return err
			}
		}
		if g.of.Add(one.values) {
			return nil
		}
	case g.histograms != nil && one.histograms != nil && slices.Equal(g.bounds, one.bounds):
		if g.histograms.Add(one.histograms) {
			return nil
		}
	}
	return errUseEngine
}

// begin begins a group with its first series.
func (s *groups) begin(l labels.Labels, one *row) (*group, error) {
	g := &group{}
	s.order = append(s.order, g)
	if s.k.operation.IsTopK() {
		if err := s.budget.take(s.k.operation.TopKBytes(s.steps.N)); err != nil {
			return nil, err
		}
		g.topK = s.k.operation.NewTopK(s.steps.N)
		return g, nil
	}
	g.labels = s.groupLabels(l)
	if one.histograms == nil {
		if err := s.budget.hold(int64(8 * s.steps.N * s.k.operation.Columns)); err != nil {
			return nil, err
		}
		g.of = s.k.operation.NewGroup(s.steps.N)
		return g, nil
	}
	buckets := 0
	if !s.k.counts {
		g.bounds, buckets = one.bounds, len(one.bounds)+1
	}
	if err := s.budget.hold(kernel.HistogramBytes(s.steps.N, buckets)); err != nil {
		return nil, err
	}
	g.histograms = s.k.operation.NewHistogramGroup(s.steps.N, buckets)
	return g, nil
}

func (s *groups) groupLabels(l labels.Labels) labels.Labels {
	b := labels.NewBuilder(l)
	if s.k.without {
		return b.Del(s.k.grouping...).Del(labels.MetricName).Labels()
	}
	return b.Keep(s.k.grouping...).Labels()
}

// warn says of a metric that it may be no counter, in the engine's words.
func (s *groups) warn(name string) {
	if name == "" || s.warned[name] {
		return
	}
	s.warned[name] = true
	for _, suffix := range []string{"_total", "_sum", "_count", "_bucket"} {
		if strings.HasSuffix(name, suffix) {
			return
		}
	}
	s.warnings.Add(annotations.NewPossibleNonCounterInfo(name, s.k.argument.PositionRange()))
}

// series returns the groups as series with a value at each step; where a value is missing, the
// series has ended.
func (s *groups) series() ([]*series.Series, error) {
	all := make([]int64, s.steps.N)
	for i := range all {
		all[i] = s.steps.At(i)
	}
	if s.k.operation.IsTopK() {
		return s.top.series(s.budget.query.Ctx, s.order, all)
	}
	list := make([]*series.Series, len(s.order))
	for i, g := range s.order {
		var of series.Segment
		var err error
		switch {
		case g.histograms != nil:
			of, err = s.histogramSegment(g, all)
		case g.of != nil:
			var row []float64
			if row, err = g.of.Row(s.budget.query.Ctx); err == nil {
				of, err = s.numberSegment(row, all)
			}
		default:
			of, err = s.numberSegment(g.row, all)
		}
		if err != nil {
			return nil, err
		}
		list[i] = &series.Series{Metric: g.labels, Segments: []series.Segment{of},
			Context: s.budget.query.Ctx}
	}
	return list, nil
}

func (s *groups) numberSegment(row []float64, all []int64) (series.Segment, error) {
	if !slices.ContainsFunc(row, kernel.IsMissing) {
		return series.Segment{Samples: &series.Points{Times: all, Values: row}}, nil
	}
	of := &series.Points{}
	var ends []int64
	for i, v := range row {
		switch {
		case !kernel.IsMissing(v):
			of.Times, of.Values = append(of.Times, all[i]), append(of.Values, v)
		case i > 0 && !kernel.IsMissing(row[i-1]):
			ends = append(ends, all[i])
		}
	}
	return series.Segment{Samples: of,
		Ends: ends}, s.budget.take(int64(16*len(of.Times) + 8*len(ends)))
}

// groupMetric is the metric of what an aggregation gives: such histograms do not count.
var groupMetric = &window.Metric{Kind: frame.GaugeHistogram}

func (s *groups) histogramSegment(one *group, all []int64) (series.Segment, error) {
	of := &series.Points{}
	var ends []int64
	there := false
	for i, at := range all {
		count, sum, buckets, is := one.histograms.At(i)
		if is {
			h := series.NativeDense(groupMetric, one.bounds, buckets, sum)
			h.Count = count
			bytes := series.HistogramCost + 16*int64(len(h.PositiveBuckets))
			if err := s.budget.take(bytes); err != nil {
				return series.Segment{}, err
			}
			of.Times, of.Native = append(of.Times, at), append(of.Native, h)
		} else if there {
			ends = append(ends, at)
		}
		there = is
	}
	return series.Segment{Samples: of, Ends: ends}, nil
}

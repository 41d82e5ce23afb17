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
	topK   *kernel.TopK // of topk and bottomk, whose series stand in aggregation
	// histograms are those of a group that has them, and bounds theirs.
	histograms *kernel.HistogramGroup
	bounds     []float64
}

// addRow adds a series to its group.
func (r *aggregation) addRow(one *row) error {
	l := one.labels
	if one.values != nil && (r.k.function == "rate" || r.k.function == "increase") {
		r.warn(l.Get(labels.MetricName))
	}
	if r.k.dropsName() {
		l = l.DropReserved(schema.IsMetadataLabel)
	}
	if !r.k.aggregates {
		r.order = append(r.order, &group{labels: l, row: one.values})
		return r.hold(int64(8 * r.steps.N))
	}
	var key uint64
	switch {
	case r.k.without:
		key, r.buf = l.HashWithoutLabels(r.buf, r.k.grouping...)
	case len(r.k.grouping) > 0:
		key, r.buf = l.HashForLabels(r.buf, r.k.grouping...)
	}
	g := r.groups[key]
	if g == nil {
		var err error
		if g, err = r.begin(l, one); err != nil {
			return err
		}
		r.groups[key] = g
	}
	switch {
	case g.topK != nil:
		return r.addTopK(g.topK, l, one.values)
	case g.histograms == nil && one.histograms == nil:
		if r.k.operation.KeepsRows() {
			if err := r.take(rowCost + int64(8*r.steps.N)); err != nil {
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

// rowCost is what a row that is kept takes beside its numbers, in bytes.
const rowCost = 24

// begin begins a group with its first series.
func (r *aggregation) begin(l labels.Labels, one *row) (*group, error) {
	g := &group{}
	r.order = append(r.order, g)
	if r.k.operation.IsTopK() {
		if err := r.take(r.k.operation.TopKBytes(r.steps.N)); err != nil {
			return nil, err
		}
		g.topK = r.k.operation.NewTopK(r.steps.N)
		return g, nil
	}
	g.labels = r.groupLabels(l)
	if one.histograms == nil {
		if err := r.hold(int64(8 * r.steps.N * r.k.operation.Columns)); err != nil {
			return nil, err
		}
		g.of = r.k.operation.NewGroup(r.steps.N)
		return g, nil
	}
	buckets := 0
	if !r.k.counts {
		g.bounds, buckets = one.bounds, len(one.bounds)+1
	}
	if err := r.hold(kernel.HistogramBytes(r.steps.N, buckets)); err != nil {
		return nil, err
	}
	g.histograms = r.k.operation.NewHistogramGroup(r.steps.N, buckets)
	return g, nil
}

// hold takes the memory of a series of the answer.
func (r *aggregation) hold(bytes int64) error {
	err := r.take(bytes + series.SeriesCost)
	if err != nil {
		return err
	}
	r.counted++
	return r.selection.Query.Source.TooManySeries(r.selection.Query.Series.Add(1))
}

func (r *aggregation) take(bytes int64) error {
	if err := r.selection.Lease.Take(bytes); err != nil {
		return err
	}
	r.held += bytes
	return nil
}

// give gives back what the answer does not need any more.
func (r *aggregation) give(bytes int64) {
	r.selection.Lease.Give(bytes)
	r.held -= bytes
}

// drop gives back what the answer took: the engine is to answer.
func (r *aggregation) drop() {
	r.selection.Lease.Give(r.held)
	r.selection.Query.Series.Add(-r.counted)
}

func (r *aggregation) groupLabels(l labels.Labels) labels.Labels {
	b := labels.NewBuilder(l)
	if r.k.without {
		return b.Del(r.k.grouping...).Del(labels.MetricName).Labels()
	}
	return b.Keep(r.k.grouping...).Labels()
}

// warn says of a metric that it may be no counter, in the engine's words.
func (r *aggregation) warn(name string) {
	if name == "" || r.warned[name] {
		return
	}
	r.warned[name] = true
	for _, suffix := range []string{"_total", "_sum", "_count", "_bucket"} {
		if strings.HasSuffix(name, suffix) {
			return
		}
	}
	r.warnings.Add(annotations.NewPossibleNonCounterInfo(name, r.k.argument.PositionRange()))
}

// answer returns the groups as series with a value at each step; where a value is missing, the
// series has ended.
func (r *aggregation) answer() ([]*series.Series, error) {
	all := make([]int64, r.steps.N)
	for i := range all {
		all[i] = r.steps.At(i)
	}
	if r.k.operation.IsTopK() {
		return r.topKAnswer(all)
	}
	list := make([]*series.Series, len(r.order))
	for i, g := range r.order {
		var of series.Segment
		var err error
		switch {
		case g.histograms != nil:
			of, err = r.histogramPart(g, all)
		case g.of != nil:
			var row []float64
			if row, err = g.of.Row(r.selection.Query.Ctx); err == nil {
				of, err = r.numberPart(row, all)
			}
		default:
			of, err = r.numberPart(g.row, all)
		}
		if err != nil {
			return nil, err
		}
		list[i] = &series.Series{Metric: g.labels, Segments: []series.Segment{of}, Context: r.selection.Query.Ctx}
	}
	return list, nil
}

func (r *aggregation) numberPart(row []float64, all []int64) (series.Segment, error) {
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
	return series.Segment{Samples: of, Ends: ends}, r.take(int64(16*len(of.Times) + 8*len(ends)))
}

// ofGroups is the metric of what an aggregation gives: such histograms do not count.
var ofGroups = &window.Metric{Kind: frame.GaugeHistogram}

func (r *aggregation) histogramPart(g *group, all []int64) (series.Segment, error) {
	of := &series.Points{}
	var ends []int64
	there := false
	for i, at := range all {
		count, sum, buckets, is := g.histograms.At(i)
		if is {
			h := series.NativeDense(ofGroups, g.bounds, buckets, sum)
			h.Count = count
			if err := r.take(series.HistogramCost + 16*int64(len(h.PositiveBuckets))); err != nil {
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

package rollup

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Columns are the series of successive rollups of one node and level, the values of each side by
// side: what a question shows of them is a part of these lists. They have histograms' buckets only
// if these were asked for. They are immutable; what Extend makes of them shares what did not
// change.
type Columns struct {
	level     Level
	noBuckets bool            // of histograms only the counts of all buckets
	series    []*columnSeries // by labels, type and metric
}

// columnSeries is one series of Columns. Each list has an entry per period that has a sample.
type columnSeries struct {
	typ    string // of its entity
	labels labels.Labels
	metric *window.Metric

	start []int64
	count []uint32
	increases
	min, max []int64
	sum      []Int128 // gauges: of doubles, the bits in Lo
	// indexes of the periods, ascending, before whose first sample the counter started again
	restarts []int32

	hist        []*buckets // histograms, unless only counted
	allBuckets  *increases // histograms that are only counted: all buckets
	lastBuckets sparse     // and their last sample's buckets
}

// increases is what a counter, or a histogram's sum or count, says of each period.
type increases struct {
	first, last []int64
	rise        []int64 // from the first sample to the last; nil: last − first
}

// within returns the increase from a period's first sample to its last.
func (r *increases) increase(i int) int64 {
	if r.rise != nil {
		return r.rise[i]
	}
	return r.last[i] - r.first[i]
}

func (r *increases) add(first, last, rise int64) {
	if r.rise == nil && rise != last-first {
		r.rise = make([]int64, len(r.first), cap(r.first))
		for i := range r.rise {
			r.rise[i] = r.last[i] - r.first[i]
		}
	}
	r.first, r.last = append(r.first, first), append(r.last, last)
	if r.rise != nil {
		r.rise = append(r.rise, rise)
	}
}

// NewColumns returns columns of nothing. facets are what is needed of histograms, as SelectContext
// has them.
func NewColumns(facets []blobs.Facet) *Columns {
	return &Columns{noBuckets: len(facets) > 0 && !slices.Contains(facets, blobs.Buckets)}
}

// Extend returns the columns with what rollups of later periods, in any order, each period once,
// say of the series that match; of the others it has what there was. The memory comes from the
// allowance; the error is its or ctx's.
func (c *Columns) Extend(
	ctx context.Context, allow window.Allowance, rollups []*Rollup, matchers ...*labels.Matcher,
) (*Columns, error) {
	if len(rollups) == 0 {
		return c, nil
	}
	if !slices.IsSortedFunc(rollups, byStart) {
		rollups = slices.SortedFunc(slices.Values(rollups), byStart)
	}
	out := &Columns{level: rollups[0].Level, noBuckets: c.noBuckets, series: slices.Clone(c.series)}
	known := map[uint64][]int{} // indexes in out.series, by the labels' hash
	for i, l := range out.series {
		hash := l.labels.Hash()
		known[hash] = append(known[hash], i)
	}
	for _, g := range unite(dictionariesOf(rollups)) {
		metrics := g.MatchMetrics(ctx, matchers...)
		if len(metrics) == 0 {
			continue
		}
		e := extender{ctx: ctx, group: g, rollups: rollups,
			batchedAllowance: batchedAllowance{allow: allow}, out: out,
			known: known}
		rows := g.MatchRows(ctx, matchers...)
		for _, m := range metrics {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if e.metric(m, rows); e.err != nil {
				return nil, e.err
			}
		}
	}
	slices.SortStableFunc(out.series, bySeries)
	return out, ctx.Err()
}

func bySeries(a, b *columnSeries) int {
	if c := labels.Compare(a.labels, b.labels); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(a.typ, b.typ), compareMetrics(*a.metric, *b.metric))
}

// extender is one Extend, with one group of dictionaries.
type extender struct {
	batchedAllowance
	*group
	ctx     context.Context
	rollups []*Rollup
	out     *Columns
	known   map[uint64][]int
	now     []metricSource // the metric at hand in all rollups that know it
	labels  labels.ScratchBuilder
}

// find collects what the rollups have of a metric. metricSource.slot is the rollup's number.
func (e *extender) find(metric int) {
	e.now = e.now[:0]
	for i, r := range e.rollups {
		for _, t := range r.Types {
			to := e.maps[t.Dictionary]
			if to == nil {
				continue
			}
			own := to.metricOf(metric)
			if own < 0 {
				continue
			}
			c := t.column(own)
			if c == unknown || t.run != nil && c == t.run.absent {
				continue
			}
			e.now = append(e.now, metricSource{i, to, t.counts(c), rowWalk{column: c}})
		}
	}
}

// metric adds a metric of some rows.
func (e *extender) metric(metric int, rows []int32) {
	e.find(metric)
	for _, row := range rows {
		n := e.each(row, nil)
		if n == 0 {
			continue
		}
		if e.ctx.Err() != nil || e.err != nil {
			return // who calls it asks ctx
		}
		l := e.seriesOf(metric, row, n)
		lasts := l.lastOf()
		e.each(row, func(r *Rollup, c *cell, n uint32) {
			if len(l.start) > 0 && l.restarted(lasts, c) {
				l.restarts = append(l.restarts, int32(len(l.start)))
			}
			l.add(r.Start, n, c)
			lasts = c.lasts()
		})
		if l.allBuckets != nil {
			l.lastBuckets = lasts
		}
	}
}

// each calls visit, which may be nil, with the cells of a row in order of time and with how many
// samples they are of, and returns their number.
func (e *extender) each(row int32, visit func(r *Rollup, c *cell, n uint32)) (n int) {
	// The rollup that had a value: another type with one could only be of a rollup that is being
	// written again.
	had := -1
	for i := range e.now {
		l := &e.now[i]
		own := l.rowOf(row)
		if own < 0 || l.counts[own] == 0 || l.slot == had {
			continue
		}
		had = l.slot
		n++
		if visit == nil {
			continue
		}
		c := l.cell(own)
		if c == nil {
			c = &zeroCell
		}
		visit(e.rollups[had], c, l.counts[own])
	}
	return n
}

// seriesOf returns a copy of the series of a metric and a row, with room for so many periods more.
func (e *extender) seriesOf(metric int, row int32, more int) *columnSeries {
	m, l := &e.Metrics[metric], e.SeriesLabels(&e.labels, metric, row)
	hash := l.Hash()
	for _, i := range e.known[hash] {
		of := e.out.series[i]
		if of.typ == e.Type && of.metric.Equal(m) && labels.Equal(of.labels, l) {
			e.take((len(of.start) + more) * pointBytes)
			e.out.series[i] = of.extended(more)
			return e.out.series[i]
		}
	}
	e.take(seriesBytes + more*pointBytes)
	of := &columnSeries{typ: e.Type, labels: l, metric: m}
	if e.out.noBuckets && m.Kind.IsHistogram() {
		of.allBuckets = &increases{}
	}
	e.known[hash] = append(e.known[hash], len(e.out.series))
	e.out.series = append(e.out.series, of.extended(more))
	return e.out.series[len(e.out.series)-1]
}

// extended returns a copy whose lists have room for so many periods more.
func (l *columnSeries) extended(more int) *columnSeries {
	out := *l
	out.start, out.count = room(l.start, more), room(l.count, more)
	out.increases = l.increases.extended(more)
	out.restarts = slices.Clip(l.restarts)
	switch kind := l.metric.Kind; {
	case kind == frame.Gauge || kind == frame.GaugeDouble:
		out.min, out.max, out.sum = room(l.min, more), room(l.max, more), room(l.sum, more)
	case l.allBuckets != nil:
		r := l.allBuckets.extended(more)
		out.allBuckets = &r
	case kind.IsHistogram():
		out.hist = room(l.hist, more)
	}
	return &out
}

func (r *increases) extended(more int) increases {
	out := increases{first: room(r.first, more), last: room(r.last, more)}
	if r.rise != nil {
		out.rise = room(r.rise, more)
	}
	return out
}

// room returns a copy with room for some more.
func room[T any](list []T, more int) []T {
	return append(make([]T, 0, len(list)+more), list...)
}

// lastOf returns the buckets of the last sample.
func (l *columnSeries) lastOf() sparse {
	if n := len(l.hist); n > 0 {
		return l.hist[n-1].lasts()
	}
	return l.lastBuckets
}

// restarted reports whether the series started again between its last sample, which had these
// buckets, and the first sample of a cell.
func (l *columnSeries) restarted(lasts sparse, c *cell) bool {
	switch l.metric.Kind {
	case frame.Counter:
		return c.first < l.last[len(l.last)-1]
	case frame.Histogram:
		return lasts.above(c.firsts())
	}
	return false
}

// add adds a period's cell of n samples.
func (l *columnSeries) add(start int64, n uint32, c *cell) {
	l.start, l.count = append(l.start, start), append(l.count, n)
	switch kind := l.metric.Kind; {
	case kind == frame.Gauge || kind == frame.GaugeDouble:
		l.first, l.last = append(l.first, c.first), append(l.last, c.last)
		l.min, l.max, l.sum = append(l.min, c.min), append(l.max, c.max), append(l.sum,
			c.total.bits)
		return
	case l.allBuckets != nil:
		l.allBuckets.add(c.firsts().sum(), c.lasts().sum(), c.totals().sum())
	case kind.IsHistogram():
		l.hist = append(l.hist, c.hist)
	}
	l.increases.add(c.first, c.last, c.total.word())
}

// matches reports whether the series' labels match.
func (l *columnSeries) matches(matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(l.labels.Get(m.Name)) {
			return false
		}
	}
	return true
}

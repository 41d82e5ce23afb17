package rollup

import (
	"context"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Series is one series' rollups of one level, in ascending order of time.
type Series struct {
	Labels labels.Labels // as window.Series has them
	Metric *window.Metric
	Level  Level
	Points []Point
}

// Point is one period of one series in which it has at least one sample. What is set follows from
// Metric.Kind; integers stand for v × 10^Metric.Exponent.
type Point struct {
	Start int64 // of the period, milliseconds since the Unix epoch
	Count int64 // samples

	// Integers. In histograms First and Last are of the sum.
	First, Last int64
	Min, Max    int64  // gauges
	Sum         Int128 // gauges
	// Increase is a counter's, or that of a histogram's sum, from the sample before the period to
	// the period's last; from its first if the answer knows none before. In gauge histograms it is
	// the sum of the sums.
	Increase int64

	FirstDouble, LastDouble, MinDouble, MaxDouble, SumDouble float64

	// Histograms: counts by bucket, not cumulative over buckets, or the one of all buckets if that
	// is all that was asked for. Increases are from the sample before the period, as Increase; in
	// gauge histograms they are the sums over all samples.
	FirstCounts, LastCounts, Increases []int64
}

// Select returns the series that match from rollups of one level, in any order, each period once,
// with points of periods from ≤ Start ≤ to. Rollups of periods before from are only asked what the
// last sample before it was. It is sorted by labels. Series with equal labels whose metrics differ
// follow each other.
func Select(rollups []*Rollup, from, to int64, matchers ...*labels.Matcher) []Series {
	list, _ := SelectContext(context.Background(), nil, nil, rollups, from, to, matchers...)
	return list
}

// SelectContext is Select until ctx ends, and within the memory that the allowance gives (nil: any),
// which is asked as the answer grows. Then it returns ctx's or the allowance's error soon, however
// long matching would take. facets are what is needed of histograms: without window.Buckets their
// counts are those of all buckets; none: all.
func SelectContext(
	ctx context.Context, allow window.Allowance, facets []window.Facet, rollups []*Rollup,
	from, to int64, matchers ...*labels.Matcher,
) ([]Series, error) {
	if !slices.IsSortedFunc(rollups, byStart) {
		rollups = slices.SortedFunc(slices.Values(rollups), byStart)
	}
	var out []Series
	for _, g := range unite(dictionariesOf(rollups)) {
		metrics := g.MatchMetrics(ctx, matchers...)
		if len(metrics) == 0 {
			continue
		}
		s := selector{ctx: ctx, group: g, rollups: rollups, from: from, to: to, owes: owes{allow: allow},
			totals: len(facets) > 0 && !slices.Contains(facets, window.Buckets)}
		rows := g.MatchRows(ctx, matchers...)
		for _, m := range metrics {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if out = s.append(out, m, rows); s.err != nil {
				return nil, s.err
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Series) int { return labels.Compare(a.Labels, b.Labels) })
	return out, ctx.Err()
}

type selector struct {
	owes
	*group
	ctx      context.Context
	rollups  []*Rollup
	from, to int64
	totals   bool     // of histograms only the counts of all buckets
	now      []lookup // the metric at hand in all rollups that know it
	labels   labels.ScratchBuilder
}

// What series take, in bytes. A list that grows has as much again.
const (
	seriesBytes = 2*128 + 256 // its labels among them
	pointBytes  = 208         // without its buckets
)

// find collects what the rollups have of a metric. lookup.slot is the rollup's number.
func (s *selector) find(metric int) {
	s.now = s.now[:0]
	for i, r := range s.rollups {
		for _, t := range r.Types {
			to := s.maps[t.Dictionary]
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
			s.now = append(s.now, lookup{i, to, t.counts(c), rowWalk{column: c}})
		}
	}
}

func (s *selector) append(out []Series, metric int, rows []int32) []Series {
	m := &s.Metrics[metric]
	s.find(metric)
	for _, row := range rows {
		n := s.count(row)
		if n == 0 {
			continue
		}
		if s.ctx.Err() != nil {
			return out // who calls it asks ctx
		}
		if s.take(seriesBytes + n*pointBytes); s.err != nil {
			return nil
		}
		series := Series{Labels: s.SeriesLabels(&s.labels, metric, row), Metric: m, Points: make([]Point, 0, n)}
		var before *cell
		d := dense{owes: &s.owes, totals: s.totals}
		had := -1 // the rollup that had a value: another type with one could only be of a rollup that is being written again
		for i := range s.now {
			l := &s.now[i]
			own := l.rowOf(row)
			if own < 0 || l.counts[own] == 0 || l.slot == had {
				continue
			}
			had = l.slot
			c := l.cell(own)
			if c == nil {
				c = &zeroCell
			}
			if r := s.rollups[had]; r.Start >= s.from && r.Start <= s.to {
				series.Level = r.Level
				series.Points = append(series.Points, c.point(r.Start, m, l.counts[own], before, &d))
			}
			before = c
		}
		out = append(out, series)
	}
	return out
}

// count returns how many points a row has.
func (s *selector) count(row int32) (n int) {
	had := -1
	for i := range s.now {
		l := &s.now[i]
		own := l.rowOf(row)
		if own < 0 || l.counts[own] == 0 || l.slot == had {
			continue
		}
		had = l.slot
		if r := s.rollups[had]; r.Start >= s.from && r.Start <= s.to {
			n++
		}
	}
	return n
}

// point returns a cell as a point; before is the cell of the samples before it, or nil.
func (c *cell) point(start int64, m *window.Metric, n uint32, before *cell, d *dense) Point {
	p := Point{Start: start, Count: int64(n)}
	switch m.Kind {
	case frame.GaugeDouble:
		p.FirstDouble, p.LastDouble, p.MinDouble, p.MaxDouble = double(c.first), double(c.last), double(c.min), double(c.max)
		p.SumDouble = math.Float64frombits(c.total.Lo)
		return p
	case frame.Gauge:
		p.Min, p.Max, p.Sum = c.min, c.max, c.total
	case frame.Counter:
		p.Increase = int64(c.total.Lo)
		if before != nil {
			p.Increase += increase(before.last, c.first)
		}
	default:
		p.Increase = int64(c.total.Lo)
		d.counts(&p, m, c, before)
	}
	p.First, p.Last = c.first, c.last
	return p
}

// dense makes the counts by bucket of a series' points. Those that follow each other and are the
// same share them.
type dense struct {
	owes        *owes
	totals      bool // all buckets are one
	first, last counted
	zero        []int64
}

// counted is a list and its counts by bucket.
type counted struct {
	sparse
	counts []int64
}

// counts sets a point's counts to those of a cell.
func (d *dense) counts(p *Point, m *window.Metric, c, before *cell) {
	size := m.Buckets()
	if d.totals {
		d.totalCounts(p, m, c, before)
		return
	}
	d.first = d.of(size, c.firsts(), d.last, d.first)
	d.last = d.of(size, c.lasts(), d.first, d.last)
	p.FirstCounts, p.LastCounts = d.first.counts, d.last.counts
	total := c.totals()
	between := m.Kind == frame.Histogram && before != nil && (c.first != before.last || !c.firsts().equal(before.lasts()))
	if !between && len(total.index) == 0 {
		p.Increases = d.none(size)
		return
	}
	p.Increases = d.make(size)
	addTo(p.Increases, total, 1)
	if between {
		p.Increase += c.between(before, p.Increases)
	}
}

// totalCounts is counts with all buckets as one.
func (d *dense) totalCounts(p *Point, m *window.Metric, c, before *cell) {
	counts := d.make(3)
	counts[0], counts[1], counts[2] = c.firsts().sum(), c.lasts().sum(), c.totals().sum()
	p.FirstCounts, p.LastCounts, p.Increases = counts[:1:1], counts[1:2:2], counts[2:]
	if m.Kind != frame.Histogram || before == nil {
		return
	}
	if before.lasts().above(c.firsts()) { // it started again
		counts[2] += counts[0]
		p.Increase += c.first
		return
	}
	counts[2] += counts[0] - before.lasts().sum()
	p.Increase += c.first - before.last
}

// of returns the counts of a list; those of another list if it is the same.
func (d *dense) of(size int, s sparse, others ...counted) counted {
	for _, o := range others {
		if o.counts != nil && o.equal(s) {
			return counted{s, o.counts}
		}
	}
	if len(s.index) == 0 {
		return counted{s, d.none(size)}
	}
	c := counted{s, d.make(size)}
	addTo(c.counts, s, 1)
	return c
}

func (d *dense) none(size int) []int64 {
	if d.zero == nil {
		d.zero = d.make(size)
	}
	return d.zero
}

func (d *dense) make(size int) []int64 {
	d.owes.take(8 * size)
	return make([]int64, size)
}

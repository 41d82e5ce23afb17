package rollup

import (
	"context"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Select returns the series that match from rollups of one level, in any order, each period once,
// with periods from ≤ Start ≤ to. Rollups of periods before from are only asked what the last
// sample before it was. It is sorted by labels. Series with equal labels whose metrics differ
// follow each other.
func Select(rollups []*Rollup, from, to int64, matchers ...*labels.Matcher) []Series {
	list, _ := SelectContext(context.Background(), nil, nil, rollups, from, to, matchers...)
	return list
}

// SelectContext is Select until ctx ends, and within the memory that the allowance gives (nil:
// any), which is asked as the answer grows. Then it returns ctx's or the allowance's error soon,
// however long matching would take. facets are what is needed of histograms: without
// window.Buckets their counts are those of all buckets; none: all.
func SelectContext(
	ctx context.Context, allow window.Allowance, facets []window.Facet, rollups []*Rollup,
	from, to int64, matchers ...*labels.Matcher,
) ([]Series, error) {
	c, err := NewColumns(facets).Extend(ctx, allow, rollups, matchers...)
	if err != nil {
		return nil, err
	}
	return c.Select(ctx, allow, math.MinInt64, from, to, matchers...)
}

// Select returns the series that match, as the function Select does, of periods from ≤ Start ≤ to.
// Samples of periods before since, milliseconds, are not known: an increase from one of them is
// that from the period's first sample.
func (c *Columns) Select(
	ctx context.Context, allow window.Allowance, since, from, to int64, matchers ...*labels.Matcher,
) ([]Series, error) {
	cut := cutter{owes: owes{allow: allow}, level: c.level, since: since}
	var out []Series
	for _, l := range c.lines {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		first, _ := slices.BinarySearch(l.start, from)
		end, is := slices.BinarySearch(l.start, to)
		if is {
			end++
		}
		if first >= end || !l.matches(matchers) {
			continue
		}
		out = append(out, cut.series(l, first, end))
		if cut.err != nil {
			return nil, cut.err
		}
	}
	return out, ctx.Err()
}

// What series take, in bytes. A list that grows has as much again.
const (
	seriesBytes = 2*400 + 256 // its labels among them
	pointBytes  = 76          // of a line, without its buckets
	riseBytes   = 8
	countsBytes = 72 // the three lists of a period, without their buckets
)

// cutter makes series of lines.
type cutter struct {
	owes
	level Level
	since int64
}

// series returns some periods of a line.
func (c *cutter) series(l *line, first, end int) Series {
	s := Series{Labels: l.labels, Metric: l.metric, Level: c.level,
		Start: l.start[first:end:end], Count: l.count[first:end:end],
		First: l.first[first:end:end], Last: l.last[first:end:end]}
	c.take(seriesBytes)
	switch kind := l.metric.Kind; {
	case kind == frame.Gauge || kind == frame.GaugeDouble:
		s.Min, s.Max, s.Sum = l.min[first:end:end], l.max[first:end:end], l.sum[first:end:end]
		return s
	case l.counted != nil:
		s.FirstCount, s.LastCount = l.counted.first[first:end:end], l.counted.last[first:end:end]
		s.CountIncrease = c.rises(l, l.counted, first, end)
	case kind.IsHistogram():
		c.buckets(l, &s, first, end)
	}
	s.Increase = c.rises(l, &l.rising, first, end)
	return s
}

// knows reports whether the last sample before period number i of a line is known.
func (c *cutter) knows(l *line, i int) bool { return i > 0 && l.start[i-1] >= c.since }

// rises returns the increases of some periods.
func (c *cutter) rises(l *line, r *rising, first, end int) []int64 {
	c.take(riseBytes * (end - first))
	list := make([]int64, end-first)
	for i := range list {
		list[i] = r.within(first + i)
	}
	if l.metric.Kind == frame.GaugeHistogram {
		return list
	}
	again := l.again
	for i := range list {
		at := first + i
		if !c.knows(l, at) {
			continue
		}
		for len(again) > 0 && int(again[0]) < at {
			again = again[1:]
		}
		list[i] += r.first[at]
		if len(again) == 0 || int(again[0]) != at {
			list[i] -= r.last[at-1]
		}
	}
	return list
}

// buckets sets the counts by bucket of a histogram's periods.
func (c *cutter) buckets(l *line, s *Series, first, end int) {
	c.take(countsBytes * (end - first))
	lists := make([][]int64, 3*(end-first))
	n := end - first
	s.FirstCounts, s.LastCounts, s.Increases = lists[:n:n], lists[n:2*n:2*n], lists[2*n:]
	d := dense{owes: &c.owes, size: l.metric.Buckets()}
	for i := range n {
		at := first + i
		d.first = d.of(l.hist[at].firsts(), d.last, d.first)
		d.last = d.of(l.hist[at].lasts(), d.first, d.last)
		s.FirstCounts[i], s.LastCounts[i] = d.first.counts, d.last.counts
		between := l.metric.Kind == frame.Histogram && c.knows(l, at)
		_, again := slices.BinarySearch(l.again, int32(at))
		if between && !again {
			between = !l.hist[at].firsts().equal(l.hist[at-1].lasts())
		}
		total := l.hist[at].totals()
		if !between && len(total.index) == 0 {
			s.Increases[i] = d.none()
			continue
		}
		s.Increases[i] = d.make()
		addTo(s.Increases[i], total, 1)
		if !between {
			continue
		}
		addTo(s.Increases[i], l.hist[at].firsts(), 1)
		if !again {
			addTo(s.Increases[i], l.hist[at-1].lasts(), -1)
		}
	}
}

// dense makes the counts by bucket of a series' periods. Those that follow each other and are the
// same share them.
type dense struct {
	owes        *owes
	size        int
	first, last counted
	zero        []int64
}

// counted is a list and its counts by bucket.
type counted struct {
	sparse
	counts []int64
}

// of returns the counts of a list; those of another list if it is the same.
func (d *dense) of(s sparse, others ...counted) counted {
	for _, o := range others {
		if o.counts != nil && o.equal(s) {
			return counted{s, o.counts}
		}
	}
	if len(s.index) == 0 {
		return counted{s, d.none()}
	}
	c := counted{s, d.make()}
	addTo(c.counts, s, 1)
	return c
}

func (d *dense) none() []int64 {
	if d.zero == nil {
		d.zero = d.make()
	}
	return d.zero
}

func (d *dense) make() []int64 {
	d.owes.take(8 * d.size)
	return make([]int64, d.size)
}

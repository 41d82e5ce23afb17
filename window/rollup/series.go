package rollup

import (
	"context"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
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
// blobs.Buckets their counts are those of all buckets; none: all.
func SelectContext(
	ctx context.Context, allow window.Allowance, facets []blobs.Facet, rollups []*Rollup,
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
	cut := cutter{batchedAllowance: batchedAllowance{allow: allow}, level: c.level, since: since}
	var out []Series
	for _, l := range c.series {
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
	pointBytes  = 76          // of a series, without its buckets
	riseBytes   = 8
	countsBytes = 72 // the three lists of a period, without their buckets
)

// cutter cuts what is asked for out of Columns.
type cutter struct {
	batchedAllowance
	level Level
	since int64
}

// series returns some periods of a series.
func (c *cutter) series(l *columnSeries, first, end int) Series {
	s := Series{Labels: l.labels, Metric: l.metric, Level: c.level,
		Start: l.start[first:end:end], Count: l.count[first:end:end],
		First: l.first[first:end:end], Last: l.last[first:end:end]}
	c.take(seriesBytes)
	switch kind := l.metric.Kind; {
	case kind == frame.Gauge || kind == frame.GaugeDouble:
		s.Min, s.Max, s.Sum = l.min[first:end:end], l.max[first:end:end], l.sum[first:end:end]
		return s
	case l.allBuckets != nil:
		s.FirstCount, s.LastCount = l.allBuckets.first[first:end:end],
			l.allBuckets.last[first:end:end]
		s.CountIncrease = c.rises(l, l.allBuckets, first, end)
	case kind.IsHistogram():
		c.buckets(l, &s, first, end)
	}
	s.Increase = c.rises(l, &l.increases, first, end)
	return s
}

// knowsBefore reports whether the last sample before period number i of a series is known.
func (c *cutter) knowsBefore(l *columnSeries, i int) bool {
	return i > 0 && l.start[i-1] >= c.since
}

// rises returns the increases of some periods.
func (c *cutter) rises(l *columnSeries, r *increases, first, end int) []int64 {
	c.take(riseBytes * (end - first))
	list := make([]int64, end-first)
	for i := range list {
		list[i] = r.increase(first + i)
	}
	if l.metric.Kind == frame.GaugeHistogram {
		return list
	}
	restarts := l.restarts
	for i := range list {
		at := first + i
		if !c.knowsBefore(l, at) {
			continue
		}
		for len(restarts) > 0 && int(restarts[0]) < at {
			restarts = restarts[1:]
		}
		list[i] += r.first[at]
		if len(restarts) == 0 || int(restarts[0]) != at {
			list[i] -= r.last[at-1]
		}
	}
	return list
}

// buckets sets the counts by bucket of a histogram's periods.
func (c *cutter) buckets(l *columnSeries, s *Series, first, end int) {
	c.take(countsBytes * (end - first))
	lists := make([][]int64, 3*(end-first))
	n := end - first
	s.FirstCounts, s.LastCounts, s.Increases = lists[:n:n], lists[n:2*n:2*n], lists[2*n:]
	d := expander{allow: &c.batchedAllowance, size: l.metric.Buckets()}
	for i := range n {
		at := first + i
		d.first = d.of(l.hist[at].firsts(), d.last, d.first)
		d.last = d.of(l.hist[at].lasts(), d.first, d.last)
		s.FirstCounts[i], s.LastCounts[i] = d.first.counts, d.last.counts
		between := l.metric.Kind == frame.Histogram && c.knowsBefore(l, at)
		_, restarted := slices.BinarySearch(l.restarts, int32(at))
		if between && !restarted {
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
		if !restarted {
			addTo(s.Increases[i], l.hist[at-1].lasts(), -1)
		}
	}
}

// expander makes the counts by bucket of a series' periods. Periods that follow each other and have
// the same counts share them.
type expander struct {
	allow       *batchedAllowance
	size        int
	first, last denseCounts
	zero        []int64
}

// denseCounts is a list and its counts by bucket.
type denseCounts struct {
	sparse
	counts []int64
}

// of returns the counts of a list; those of another list if it is the same.
func (d *expander) of(s sparse, others ...denseCounts) denseCounts {
	for _, o := range others {
		if o.counts != nil && o.equal(s) {
			return denseCounts{s, o.counts}
		}
	}
	if len(s.index) == 0 {
		return denseCounts{s, d.none()}
	}
	c := denseCounts{s, d.make()}
	addTo(c.counts, s, 1)
	return c
}

func (d *expander) none() []int64 {
	if d.zero == nil {
		d.zero = d.make()
	}
	return d.zero
}

func (d *expander) make() []int64 {
	d.allow.take(8 * d.size)
	return make([]int64, d.size)
}

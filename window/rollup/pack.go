package rollup

import (
	"slices"

	"github.com/ringwatch/ringwatch/window"
)

// From returns the columns without the periods before an instant, milliseconds, in memory of their
// own.
func (c *Columns) From(start int64) *Columns {
	out := &Columns{level: c.level, noBuckets: c.noBuckets}
	for _, l := range c.series {
		n, _ := slices.BinarySearch(l.start, start)
		switch {
		case n == 0:
			out.series = append(out.series, l)
		case n < len(l.start):
			out.series = append(out.series, l.from(n))
		}
	}
	return out
}

func (l *columnSeries) from(n int) *columnSeries {
	out := *l
	out.start, out.count = after(l.start, n), after(l.count, n)
	out.increases = l.increases.from(n)
	out.min, out.max, out.sum, out.hist = after(l.min, n), after(l.max, n), after(l.sum,
		n), after(l.hist, n)
	if l.allBuckets != nil {
		r := l.allBuckets.from(n)
		out.allBuckets = &r
	}
	out.restarts = nil
	for _, i := range l.restarts {
		if i >= int32(n) {
			out.restarts = append(out.restarts, i-int32(n))
		}
	}
	return &out
}

// after returns a copy of a list without its first n entries; nil if there is no list.
func after[T any](list []T, n int) []T {
	if list == nil {
		return nil
	}
	return slices.Clone(list[n:])
}

func (r *increases) from(n int) increases {
	return increases{after(r.first, n), after(r.last, n), after(r.rise, n)}
}

// ByName returns the columns of each metric's name.
func (c *Columns) ByName() map[string]*Columns {
	list := map[string]*Columns{}
	for _, l := range c.series {
		of := list[l.metric.Name]
		if of == nil {
			of = &Columns{level: c.level, noBuckets: c.noBuckets}
			list[l.metric.Name] = of
		}
		of.series = append(of.series, l)
	}
	return list
}

// Join returns what the columns and others of other names and the same periods have together.
func (c *Columns) Join(list ...*Columns) *Columns {
	out := &Columns{level: c.level, noBuckets: c.noBuckets, series: slices.Clone(c.series)}
	for _, of := range list {
		out.level = of.level
		out.series = append(out.series, of.series...)
	}
	slices.SortStableFunc(out.series, bySeries)
	return out
}

// Pack returns the columns for who keeps them, and about how many bytes they take: lists that are
// the same are one, and of runs that they were made of only the buckets of histograms are held.
func (c *Columns) Pack() (packed *Columns, bytes int64) {
	p := packer{bytes: 100}
	out := &Columns{level: c.level, noBuckets: c.noBuckets,
		series: make([]*columnSeries, len(c.series))}
	for i, l := range c.series {
		out.series[i] = p.series(l)
	}
	return out, p.bytes
}

// packer is one Pack.
type packer struct {
	bytes int64
	last  *columnSeries // that was packed
	zeros []int64
	of    *window.Metric // of the last series, and its copy, which holds no dictionary in memory
	own   *window.Metric
}

// packedSeriesBytes is what a series takes beside its lists and its labels' bytes.
const packedSeriesBytes = 500

func (p *packer) series(l *columnSeries) *columnSeries {
	out := *l
	if l.metric != p.of {
		m := *l.metric
		p.of, p.own = l.metric, &m
	}
	out.metric = p.own
	p.bytes += packedSeriesBytes + int64(l.labels.ByteSize())
	if p.last != nil && slices.Equal(l.start, p.last.start) {
		out.start = p.last.start
	} else {
		p.bytes += 8 * int64(cap(l.start))
	}
	if p.last != nil && slices.Equal(l.count, p.last.count) {
		out.count = p.last.count
	} else {
		p.bytes += 4 * int64(cap(l.count))
	}
	out.increases = p.increases(&l.increases)
	out.min, out.max = p.list(l.min, out.first), p.list(l.max, out.last)
	p.bytes += 16*int64(cap(l.sum)) + 4*int64(cap(l.restarts))
	if l.allBuckets != nil {
		r := p.increases(l.allBuckets)
		out.allBuckets = &r
	}
	out.lastBuckets = sparse{slices.Clone(l.lastBuckets.index), slices.Clone(l.lastBuckets.count)}
	p.bytes += 10 * int64(len(l.lastBuckets.index))
	for i, h := range l.hist {
		if p.bytes += 8; h != nil && (i == 0 || l.hist[i-1] != h) {
			p.bytes += 144 + 10*int64(len(h.first.index)+len(h.last.index)+len(h.total.index))
		}
	}
	p.last = &out
	return &out
}

func (p *packer) increases(r *increases) increases {
	out := increases{first: p.list(r.first, nil), rise: p.list(r.rise, nil)}
	out.last = p.list(r.last, out.first)
	return out
}

// list returns a list, or another one that is the same.
func (p *packer) list(list, like []int64) []int64 {
	switch {
	case len(list) == 0:
		return nil
	case slices.Equal(list, like):
		return like
	case !slices.ContainsFunc(list, func(v int64) bool { return v != 0 }):
		if len(p.zeros) < len(list) {
			p.zeros = make([]int64, len(list))
			p.bytes += 8 * int64(len(list))
		}
		return p.zeros[:len(list):len(list)]
	}
	p.bytes += 8 * int64(cap(list))
	return list
}

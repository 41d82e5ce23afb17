package rollup

import (
	"slices"

	"github.com/ringwatch/ringwatch/window"
)

// From returns the columns without the periods before an instant, milliseconds, in memory of their
// own.
func (c *Columns) From(start int64) *Columns {
	out := &Columns{level: c.level, totals: c.totals}
	for _, l := range c.lines {
		n, _ := slices.BinarySearch(l.start, start)
		switch {
		case n == 0:
			out.lines = append(out.lines, l)
		case n < len(l.start):
			out.lines = append(out.lines, l.from(n))
		}
	}
	return out
}

func (l *line) from(n int) *line {
	out := *l
	out.start, out.count = after(l.start, n), after(l.count, n)
	out.rising = l.rising.from(n)
	out.min, out.max, out.sum, out.hist = after(l.min, n), after(l.max, n), after(l.sum,
		n), after(l.hist, n)
	if l.counted != nil {
		r := l.counted.from(n)
		out.counted = &r
	}
	out.again = nil
	for _, i := range l.again {
		if i >= int32(n) {
			out.again = append(out.again, i-int32(n))
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

func (r *rising) from(n int) rising {
	return rising{after(r.first, n), after(r.last, n), after(r.rise, n)}
}

// ByName returns the columns of each metric's name.
func (c *Columns) ByName() map[string]*Columns {
	list := map[string]*Columns{}
	for _, l := range c.lines {
		of := list[l.metric.Name]
		if of == nil {
			of = &Columns{level: c.level, totals: c.totals}
			list[l.metric.Name] = of
		}
		of.lines = append(of.lines, l)
	}
	return list
}

// Join returns what the columns and others of other names and the same periods have together.
func (c *Columns) Join(list ...*Columns) *Columns {
	out := &Columns{level: c.level, totals: c.totals, lines: slices.Clone(c.lines)}
	for _, of := range list {
		out.level = of.level
		out.lines = append(out.lines, of.lines...)
	}
	slices.SortStableFunc(out.lines, byLine)
	return out
}

// Pack returns the columns for who keeps them, and about how many bytes they take: lists that are
// the same are one, and of runs that they were made of only the buckets of histograms are held.
func (c *Columns) Pack() (packed *Columns, bytes int64) {
	p := packer{bytes: 100}
	out := &Columns{level: c.level, totals: c.totals, lines: make([]*line, len(c.lines))}
	for i, l := range c.lines {
		out.lines[i] = p.line(l)
	}
	return out, p.bytes
}

// packer is one Pack.
type packer struct {
	bytes int64
	last  *line // that was packed
	zeros []int64
	of    *window.Metric // of the last line, and its copy: a dictionary has others
	own   *window.Metric
}

// lineBytes is what a line takes beside its lists and its labels' bytes.
const lineBytes = 500

func (p *packer) line(l *line) *line {
	out := *l
	if l.metric != p.of {
		m := *l.metric
		p.of, p.own = l.metric, &m
	}
	out.metric = p.own
	p.bytes += lineBytes + int64(l.labels.ByteSize())
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
	out.rising = p.rising(&l.rising)
	out.min, out.max = p.list(l.min, out.first), p.list(l.max, out.last)
	p.bytes += 16*int64(cap(l.sum)) + 4*int64(cap(l.again))
	if l.counted != nil {
		r := p.rising(l.counted)
		out.counted = &r
	}
	out.ended = sparse{slices.Clone(l.ended.index), slices.Clone(l.ended.count)}
	p.bytes += 10 * int64(len(l.ended.index))
	for i, h := range l.hist {
		if p.bytes += 8; h != nil && (i == 0 || l.hist[i-1] != h) {
			p.bytes += 144 + 10*int64(len(h.first.index)+len(h.last.index)+len(h.total.index))
		}
	}
	p.last = &out
	return &out
}

func (p *packer) rising(r *rising) rising {
	out := rising{first: p.list(r.first, nil), rise: p.list(r.rise, nil)}
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

package building

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
	"github.com/ringwatch/ringwatch/window/numbering"
)

// histogramCells is the cells of a histogram. A row's value is the sum of two parts as the frames
// hold them, so that what a pass changed costs what it says and not a copy of all buckets.
type histogramCells struct {
	keyValues []*frame.Buckets // by entity of the key frame; empty: all zero
	col       *frame.Column
	// by row: the value at the last instant where the cell was present: key frame's part and
	// difference
	now   [][2]*frame.Buckets
	diff  []int64 // scratch by bucket, zero between calls
	out   columns.Changes
	extra int64 // bytes of detached values
}

func newHistogramCells(m *window.Metric) *histogramCells {
	return &histogramCells{diff: make([]int64, m.Buckets()), out: columns.Changes{Hist: true}}
}

func (c *histogramCells) useKeyFrame(col *frame.Column, r *numbering.Entities) {
	c.keyValues = c.keyValues[:0]
	if col == nil {
		return
	}
	c.keyValues = append(c.keyValues, make([]*frame.Buckets, r.KeyEntities)...)
	for i, e := range r.Selected(col) {
		c.keyValues[e] = &col.Histograms[i]
	}
}

func (c *histogramCells) useValues(col *frame.Column) { c.col = col }

func (c *histogramCells) grow(rows int) { c.now = columns.Grown(c.now, rows) }

// detach copies the value of a row that goes away. It is needed when the row comes back, and must
// not hold a whole frame in memory until then.
func (c *histogramCells) detach(row int32) {
	for i, b := range c.now[row] {
		if b != nil {
			c.now[row][i] = &frame.Buckets{Sum: b.Sum, Index: slices.Clone(b.Index),
				Count: slices.Clone(b.Count)}
			c.extra += 64 + 12*int64(len(b.Index))
		}
	}
}

func (c *histogramCells) bytes() int64 {
	return 8*int64(cap(c.keyValues)+2*cap(c.now)+len(c.diff)) + c.extra + c.out.Bytes()
}

func (c *histogramCells) set(row, at, entity, i int32) {
	var v [2]*frame.Buckets
	if entity >= 0 && len(c.keyValues) > 0 {
		v[0] = c.keyValues[entity]
	}
	if i >= 0 {
		v[1] = &c.col.Histograms[i]
	}
	old := c.now[row]
	if v == old {
		return
	}
	c.now[row] = v
	var sum int64
	from, to := len(c.diff), 0
	add := func(b *frame.Buckets, sign int64) {
		if b == nil {
			return
		}
		sum += sign * b.Sum
		if len(b.Index) == 0 {
			return
		}
		from, to = min(from, int(b.Index[0])), max(to, int(b.Index[len(b.Index)-1])+1)
		for j, bucket := range b.Index {
			c.diff[bucket] += sign * b.Count[j]
		}
	}
	if v[0] != old[0] {
		add(v[0], 1)
		add(old[0], -1)
	}
	add(v[1], 1)
	add(old[1], -1)
	c.out.Histogram(row, at, sum, c.diff, from, to)
}

func (c *histogramCells) column(order []int32) *columns.Column { return c.out.Sorted(order) }

package window

import (
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// scalarCells is the cells of a metric whose value is one word.
type scalarCells struct {
	kind      frame.Kind
	keyValues []int64 // by entity of the key frame; empty: all zero
	col       *frame.Column
	now       []int64 // by row: the word at the last instant where the cell was present
	out       changes
	texts     map[string]int64
	list      []string
	extra     int64 // bytes of texts
}

// textBytes is what a text takes among those of a column, without its bytes.
const textBytes = 96

func newScalarCells(m *Metric) *scalarCells {
	c := &scalarCells{kind: m.Kind}
	if m.Kind == frame.String {
		c.texts, c.list = map[string]int64{"": 0}, []string{""}
	}
	return c
}

// word returns entry i of a column: a difference in integers, else the value.
func (c *scalarCells) word(col *frame.Column, i int32) int64 {
	switch c.kind {
	case frame.GaugeDouble:
		return int64(math.Float64bits(col.Doubles[i]))
	case frame.String:
		s := col.Strings[i]
		n, found := c.texts[s]
		if !found {
			n = int64(len(c.list))
			c.texts[s], c.list = n, append(c.list, s)
			c.extra += textBytes + int64(len(s))
		}
		return n
	default:
		return col.Ints[i]
	}
}

func (c *scalarCells) useKeyFrame(col *frame.Column, r *entityMap) {
	c.keyValues = c.keyValues[:0]
	if col == nil {
		return
	}
	c.keyValues = append(c.keyValues, make([]int64, r.keyEntities)...)
	for i, e := range r.selected(col) {
		c.keyValues[e] = c.word(col, int32(i))
	}
}

func (c *scalarCells) useValues(col *frame.Column) { c.col = col }

func (c *scalarCells) grow(rows int) { c.now = grown(c.now, rows) }

func (c *scalarCells) detach(int32) {}

func (c *scalarCells) bytes() int64 {
	return 8*int64(cap(c.keyValues)+cap(c.now)) + c.extra + c.out.bytes()
}

func (c *scalarCells) set(row, at, entity, i int32) {
	var v int64
	if entity >= 0 && len(c.keyValues) > 0 {
		v = c.keyValues[entity]
	}
	if i >= 0 {
		if w := c.word(c.col, i); c.kind == frame.Counter || c.kind == frame.Gauge {
			v += w
		} else {
			v = w
		}
	}
	if v != c.now[row] {
		c.now[row] = v
		c.out.scalar(row, at, v)
	}
}

func (c *scalarCells) column(order []int32) *column {
	out := c.out.sorted(order)
	if out != nil {
		out.texts = c.list
	}
	return out
}

// histogramCells is the cells of a histogram. A row's value is the sum of two parts as the frames
// hold them, so that what a pass changed costs what it says and not a copy of all buckets.
type histogramCells struct {
	keyValues []*frame.Buckets // by entity of the key frame; empty: all zero
	col       *frame.Column
	// by row: the value at the last instant where the cell was present: key frame's part and
	// difference
	now   [][2]*frame.Buckets
	diff  []int64 // scratch by bucket, zero between calls
	out   changes
	extra int64 // bytes of detached values
}

func newHistogramCells(m *Metric) *histogramCells {
	return &histogramCells{diff: make([]int64, m.Buckets()), out: changes{hist: true}}
}

func (c *histogramCells) useKeyFrame(col *frame.Column, r *entityMap) {
	c.keyValues = c.keyValues[:0]
	if col == nil {
		return
	}
	c.keyValues = append(c.keyValues, make([]*frame.Buckets, r.keyEntities)...)
	for i, e := range r.selected(col) {
		c.keyValues[e] = &col.Histograms[i]
	}
}

func (c *histogramCells) useValues(col *frame.Column) { c.col = col }

func (c *histogramCells) grow(rows int) { c.now = grown(c.now, rows) }

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
	return 8*int64(cap(c.keyValues)+2*cap(c.now)+len(c.diff)) + c.extra + c.out.bytes()
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
	c.out.histogram(row, at, sum, c.diff, from, to)
}

func (c *histogramCells) column(order []int32) *column { return c.out.sorted(order) }

// grown returns a list that is at least so long, with zeros at its end.
func grown[T any](list []T, size int) []T {
	if len(list) < size {
		list = append(list, make([]T, size-len(list))...)
	}
	return list
}

package building

import (
	"math"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
	"github.com/ringwatch/ringwatch/window/numbering"
)

// scalarCells is the cells of a metric whose value is one word.
type scalarCells struct {
	kind      frame.Kind
	keyValues []int64 // by entity of the key frame; empty: all zero
	col       *frame.Column
	now       []int64 // by row: the word at the last instant where the cell was present
	out       columns.Changes
	texts     map[string]int64
	list      []string
	extra     int64 // bytes of texts
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

func (c *scalarCells) useKeyFrame(col *frame.Column, r *numbering.Entities) {
	c.keyValues = c.keyValues[:0]
	if col == nil {
		return
	}
	c.keyValues = append(c.keyValues, make([]int64, r.KeyEntities)...)
	for i, e := range r.Selected(col) {
		c.keyValues[e] = c.word(col, int32(i))
	}
}

func (c *scalarCells) useValues(col *frame.Column) { c.col = col }

func (c *scalarCells) grow(rows int) { c.now = columns.Grown(c.now, rows) }

func (c *scalarCells) detach(int32) {}

func (c *scalarCells) bytes() int64 {
	return 8*int64(cap(c.keyValues)+cap(c.now)) + c.extra + c.out.Bytes()
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
		c.out.Scalar(row, at, v)
	}
}

func (c *scalarCells) column(order []int32) *columns.Column {
	out := c.out.Sorted(order)
	if out != nil {
		out.Texts = c.list
	}
	return out
}

// textBytes is what a text takes among those of a column, without its bytes.
const textBytes = 96

func newScalarCells(m *window.Metric) *scalarCells {
	c := &scalarCells{kind: m.Kind}
	if m.Kind == frame.String {
		c.texts, c.list = map[string]int64{"": 0}, []string{""}
	}
	return c
}

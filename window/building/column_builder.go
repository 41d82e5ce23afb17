package building

import (
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window/columns"
	"github.com/ringwatch/ringwatch/window/numbering"
)

// columnBuilder makes one column.
type columnBuilder struct {
	values          cells
	comings         columns.Comings
	now             []bool  // by row: present in the last pass
	lookedAt        []int32 // by row: the instant at which a sparse step looked at it
	touched         []int32 // rows that the last pass gave a value
	absent          []bool  // by entity of the key frame
	key             *numbering.Pass
	entities        *numbering.Entities
	presenceChanged bool // the last pass changed presence
}

// cells is the values of one metric: scalars or histograms.
type cells interface {
	// grow makes room for so many rows.
	grow(rows int)
	// useKeyFrame takes the key frame's values; nil if it has none.
	useKeyFrame(c *frame.Column, r *numbering.Entities)
	// useValues takes the frame's entries, which set refers to; nil if there are none.
	useValues(c *frame.Column)
	// set sets a row's value at an instant: the key frame's of an entity (−1: zero) and, on top of
	// it, entry i of the frame's (−1: none).
	set(row, at, entity, i int32)
	// detach copies a row's value, so that it holds no frame in memory.
	detach(row int32)
	// column returns the changes; order is the final number of each row.
	column(order []int32) *columns.Column
	// bytes returns what all this takes.
	bytes() int64
}

func (c *columnBuilder) bytes() int64 {
	return c.values.bytes() + int64(cap(c.now)+cap(c.absent)) +
		4*int64(cap(c.lookedAt)+cap(c.touched)) + 8*int64(2*cap(c.comings.Row))
}

// absentIn says by entity of the key frame whether it has no value there.
func absentIn(absent []bool, c *frame.Column, r *numbering.Entities) []bool {
	absent = absent[:0]
	if r == nil {
		return absent
	}
	absent = append(absent, make([]bool, r.KeyEntities)...)
	if c != nil {
		for _, e := range r.Selected(c) {
			absent[e] = true
		}
	}
	return absent
}

// sparseStep looks at the rows that this pass or the one before says something of.
func (c *columnBuilder) sparseStep(t int32, r *numbering.Entities, values *frame.Column) {
	before := len(c.touched)
	if values != nil {
		for i, entity := range r.Selected(values) {
			row := r.Rows[entity]
			c.values.set(row, t, r.KeyEntity(row), int32(i))
			c.lookedAt[row] = t
			c.touched = append(c.touched, row)
		}
	}
	for _, row := range c.touched[:before] {
		if c.lookedAt[row] != t {
			c.values.set(row, t, r.KeyEntity(row), -1)
		}
	}
	c.touched = append(c.touched[:0], c.touched[before:]...)
}

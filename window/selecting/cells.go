package selecting

import (
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// Cells walks the values of one metric of a type: Row, then Next until it returns false, for any
// rows in any order. It copies nothing, so it is what a whole window is read by; Select is for
// the series somebody asked for.
type Cells struct {
	at      *cursor
	times   []int64
	changed bool
}

// CellsOf returns a walk over metric number m of a type of a window, or nil if the column was not
// read, or a histogram's was without its buckets.
func CellsOf(w *window.Window, t *window.Type, m int) *Cells {
	if t.Columns[m] == columns.Unread || t.Columns[m].LacksBuckets() {
		return nil
	}
	return &Cells{at: newCursor(t, m, int32(len(w.Times))), times: w.Times}
}

// Zero reports whether every value of the column is zero (no text, no counts), and there is one
// wherever the entity is live.
func (c *Cells) Zero() bool { return c.at.column == nil }

// Row goes before the first value of a row. It returns at how many instants the row has a value,
// and whether all of these are zero.
func (c *Cells) Row(row int) (instants int, zero bool) {
	c.at.row(int32(row))
	return c.at.live.Instants(int32(row), c.at.instants), c.at.change == c.at.last
}

// Next goes to the row's next value in time and reports whether there is one.
func (c *Cells) Next() bool {
	before := c.at.change
	there := c.at.next(0, c.at.instants)
	c.changed = c.at.change > before
	return there
}

// At returns the value's time, milliseconds since the Unix epoch.
func (c *Cells) At() int64 { return c.times[c.at.instant] }

// Word returns the value: an integer, a double's bits, or a histogram's sum. Texts have none.
func (c *Cells) Word() int64 { return c.at.word }

// Changed reports whether the value differs from the row's value before; before the first one it
// is zero.
func (c *Cells) Changed() bool { return c.changed }

// Counts returns a histogram's counts by bucket, until the next call of Next or Row.
func (c *Cells) Counts() []int64 { return c.at.counts }

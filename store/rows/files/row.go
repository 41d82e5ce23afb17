package files

import (
	"bytes"
	"slices"
)

// cell is one value of a row with its write time. Each row also has a cell that says that it is
// there, of column marker: a row may have no other.
type cell struct {
	column  int   // marker, or 1 + the number of a value column
	stamp   int64 // write time, µs since the Unix epoch
	expires int64 // seconds since the Unix epoch; 0: never
	value   []byte
}

const marker = 0

// dead reports whether a cell has expired. now is in seconds since the Unix epoch.
func (c *cell) dead(now int64) bool { return c.expires != 0 && c.expires <= now }

// beats reports whether a cell is read instead of another one of the same value. Of two with one
// write time that is the same in whichever order they came.
func (c *cell) beats(o *cell) bool {
	switch {
	case c.stamp != o.stamp:
		return c.stamp > o.stamp
	case c.expires != o.expires:
		return c.expires > o.expires
	}
	return bytes.Compare(c.value, o.value) > 0
}

// mergeCells returns the cells of a row that was written twice. Neither list is changed; both are
// in the order of columns.
func mergeCells(a, b []cell) []cell {
	out := make([]cell, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].column < b[0].column:
			out, a = append(out, a[0]), a[1:]
		case a[0].column > b[0].column:
			out, b = append(out, b[0]), b[1:]
		default:
			if b[0].beats(&a[0]) {
				out = append(out, b[0])
			} else {
				out = append(out, a[0])
			}
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// alive returns the cells that have not expired. The list is not changed.
func alive(cells []cell, now int64) []cell {
	dead := func(c cell) bool { return c.dead(now) }
	if !slices.ContainsFunc(cells, dead) {
		return cells
	}
	return slices.DeleteFunc(slices.Clone(cells), dead)
}

// lastExpiry returns when the last of a row's cells expires; 0: one never does.
func lastExpiry(cells []cell) int64 {
	last := int64(0)
	for i := range cells {
		if cells[i].expires == 0 {
			return 0
		}
		last = max(last, cells[i].expires)
	}
	return last
}

// span is what is known of many cells without looking at them.
type span struct {
	First   int64 `json:"first"`   // the earliest write time; meaningless without rows
	Last    int64 `json:"last"`    // the latest
	Expires int64 `json:"expires"` // when the last of them expires, seconds; 0: never
	Rows    int   `json:"rows"`
}

func (s *span) add(cells []cell) {
	last := lastExpiry(cells)
	switch {
	case s.Rows == 0:
		s.First, s.Last, s.Expires = cells[0].stamp, cells[0].stamp, last
	case last == 0 || s.Expires == 0:
		s.Expires = 0
	default:
		s.Expires = max(s.Expires, last)
	}
	s.Rows++
	for i := range cells {
		s.First, s.Last = min(s.First, cells[i].stamp), max(s.Last, cells[i].stamp)
	}
}

// dead reports whether all of it has expired.
func (s *span) dead(now int64) bool { return s.Rows == 0 || s.Expires != 0 && s.Expires <= now }

// hidden reports whether a cell with this write time may hide something of the span, so that to
// forget the cell would let it be read again.
func (s *span) hidden(stamp, now int64) bool { return !s.dead(now) && s.First < stamp }

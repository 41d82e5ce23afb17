// Package cells has what a row is made of: values with their write times, which of two counts, and
// rows of several places as one. It imports none of our packages.
package cells

import (
	"bytes"
	"slices"
)

// Cell is one value of a row with its write time. Each row also has a cell that says that it is
// there, of column Marker: a row may have no other.
type Cell struct {
	Column  int   // Marker, or 1 + the number of a value column
	Stamp   int64 // write time, µs since the Unix epoch
	Expires int64 // seconds since the Unix epoch; 0: never
	Value   []byte
}

// Marker is the column of the cell that says that a row is there.
const Marker = 0

// Dead reports whether a cell has expired. now is in seconds since the Unix epoch.
func (c *Cell) Dead(now int64) bool { return c.Expires != 0 && c.Expires <= now }

// Beats reports whether a cell is read instead of another one of the same value. Of two with one
// write time that is the same in whichever order they came.
func (c *Cell) Beats(o *Cell) bool {
	switch {
	case c.Stamp != o.Stamp:
		return c.Stamp > o.Stamp
	case c.Expires != o.Expires:
		return c.Expires > o.Expires
	}
	return bytes.Compare(c.Value, o.Value) > 0
}

// Merge returns the cells of a row that was written twice. Neither list is changed; both are
// in the order of columns.
func Merge(a, b []Cell) []Cell {
	out := make([]Cell, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Column < b[0].Column:
			out, a = append(out, a[0]), a[1:]
		case a[0].Column > b[0].Column:
			out, b = append(out, b[0]), b[1:]
		default:
			if b[0].Beats(&a[0]) {
				out = append(out, b[0])
			} else {
				out = append(out, a[0])
			}
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Alive returns the cells that have not expired. The list is not changed.
func Alive(cells []Cell, now int64) []Cell {
	dead := func(c Cell) bool { return c.Dead(now) }
	if !slices.ContainsFunc(cells, dead) {
		return cells
	}
	return slices.DeleteFunc(slices.Clone(cells), dead)
}

// LastExpiry returns when the last of a row's cells expires; 0: one never does.
func LastExpiry(cells []Cell) int64 {
	last := int64(0)
	for i := range cells {
		if cells[i].Expires == 0 {
			return 0
		}
		last = max(last, cells[i].Expires)
	}
	return last
}

// Row is a row with its key within the partition.
type Row struct {
	Key   string
	Cells []Cell
}

// Package columns holds one metric of all entities of a type, by changes. Start with Column, and
// Presence, which says when an entity was there. Changes, Comings and Assembler collect both. Only
// the rooms beside it look into a Column: who reads a window asks package selecting.
package columns

import "slices"

// Column holds one metric of all entities of a type. A row (entity) without changes is zero at
// every instant where it is present.
//
// A change says which value a row has from an instant on. Changes are only at instants where the
// cell is present and only where the value differs from that of the last instant where it was,
// zero before the first: so a column has one form, and what stands still has one entry.
type Column struct {
	Present *Presence // nil: present wherever the entity is live
	Rows    []int32   // rows with changes, ascending
	// by index in rows: where its changes end; they begin where those of the row before end
	End []int32
	At  []int32 // instant of each change, as index in Window.Times, ascending in a row
	// value of each change: integer, double's bits or index in texts. In histograms the
	// difference of the sum
	Words []int64
	Texts []string // strings only; texts[0] is ""

	// Histograms only: how the counts differ from those before the change.
	BucketEnd []int32 // by change
	Bucket    []uint16
	Count     []int64

	Totals  []int64 // histograms whose buckets were not read: how the count differs, by change
	Partial bool    // pieces were not read: their rows are never there
}

// Unread stands for a column that was not read. It has no values, and it is not written.
var Unread = &Column{}

// Whole reports whether all of the column is known. One that is not is not written.
func (c *Column) Whole() bool { return c != Unread && (c == nil || c.Totals == nil && !c.Partial) }

// LacksBuckets reports whether the column is a histogram's that was read without its buckets.
func (c *Column) LacksBuckets() bool { return c != nil && c.Totals != nil }

// ChangesOf returns the range of changes of a row that is number i in c.rows.
func (c *Column) ChangesOf(i int) (from, to int) {
	if i > 0 {
		from = int(c.End[i-1])
	}
	return from, int(c.End[i])
}

// Find returns where a row stands in c.rows.
func (c *Column) Find(row int32) (int, bool) { return slices.BinarySearch(c.Rows, row) }

// BucketsOf returns the range of bucket differences of a change.
func (c *Column) BucketsOf(change int) (from, to int) {
	if change > 0 {
		from = int(c.BucketEnd[change-1])
	}
	return from, int(c.BucketEnd[change])
}

// TotalOf returns how the count of a histogram differs from that before the change.
func (c *Column) TotalOf(change int) (n int64) {
	if c.Totals != nil {
		return c.Totals[change]
	}
	from, to := c.BucketsOf(change)
	for _, d := range c.Count[from:to] {
		n += d
	}
	return n
}

func (c *Column) Bytes() int64 {
	if c == nil || c == Unread {
		return 0
	}
	n := 250 + 4*int64(cap(c.Rows)+cap(c.End)+cap(c.At)+cap(c.BucketEnd)) + c.Present.Bytes() +
		8*int64(cap(c.Words)+cap(c.Count)+cap(c.Totals)) + 2*int64(cap(c.Bucket))
	for _, text := range c.Texts {
		n += 16 + int64(len(text))
	}
	return n
}

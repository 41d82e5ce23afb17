package window

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// MaxInstants is how many instants a window may have. It bounds what a few hostile bytes can make
// a decoder allocate; at one frame a second a window has 300.
const MaxInstants = 1 << 15

// HourMillis is the length of an hour. Five minutes are frame.WindowMillis.
const HourMillis = 60 * 60_000

// Window is what one node said in five minutes or in an hour, by columns. It is immutable once
// made, so it may be read from many goroutines.
type Window struct {
	Node   Node    // as the newest key frame describes it
	Start  int64   // milliseconds since the Unix epoch
	Length int64   // milliseconds
	Times  []int64 // the instants of all frames, ascending, milliseconds since the Unix epoch
	Types  []*Type // by ascending Dictionary.Key
}

// Type is all that a window holds of one entity type.
type Type struct {
	*Dictionary
	live    *presence // when each entity was there
	columns []*column // by number of metric; nil is a column whose every live cell is zero
}

// column holds one metric of all entities of a type. A row (entity) without changes is zero at
// every instant where it is present.
//
// A change says which value a row has from an instant on. Changes are only at instants where the
// cell is present and only where the value differs from that of the last instant where it was,
// zero before the first: so a column has one form, and what stands still has one entry.
type column struct {
	present *presence // nil: present wherever the entity is live
	rows    []int32   // rows with changes, ascending
	// by index in rows: where its changes end; they begin where those of the row before end
	end []int32
	at  []int32 // instant of each change, as index in Window.Times, ascending in a row
	// value of each change: integer, double's bits or index in texts. In histograms the
	// difference of the sum
	words []int64
	texts []string // strings only; texts[0] is ""

	// Histograms only: how the counts differ from those before the change.
	bucketEnd []int32 // by change
	bucket    []uint16
	count     []int64

	totals  []int64 // histograms whose buckets were not read: how the count differs, by change
	partial bool    // pieces were not read: their rows are never there
}

// unknown stands for a column that was not read. It has no values, and it is not written.
var unknown = &column{}

// whole reports whether all of the column is known. One that is not is not written.
func (c *column) whole() bool { return c != unknown && (c == nil || c.totals == nil && !c.partial) }

// noBuckets reports whether the column is a histogram's that was read without its buckets.
func (c *column) noBuckets() bool { return c != nil && c.totals != nil }

// total returns how the count of a histogram differs from that before the change.
func (c *column) total(change int) (n int64) {
	if c.totals != nil {
		return c.totals[change]
	}
	from, to := c.buckets(change)
	for _, d := range c.count[from:to] {
		n += d
	}
	return n
}

// changes returns the range of changes of a row that is number i in c.rows.
func (c *column) changes(i int) (from, to int) {
	if i > 0 {
		from = int(c.end[i-1])
	}
	return from, int(c.end[i])
}

// buckets returns the range of bucket differences of a change.
func (c *column) buckets(change int) (from, to int) {
	if change > 0 {
		from = int(c.bucketEnd[change-1])
	}
	return from, int(c.bucketEnd[change])
}

// find returns where a row stands in c.rows.
func (c *column) find(row int32) (int, bool) { return slices.BinarySearch(c.rows, row) }

// presenceOf returns the column's presence, which is the type's if it has none of its own.
func (t *Type) presenceOf(c *column) *presence {
	if c == nil || c.present == nil {
		return t.live
	}
	return c.present
}

// Same reports whether values of the two metrics can stand in one series: name, kind, unit,
// exponent and bounds are the same.
func (m *Metric) Same(o *Metric) bool {
	if m == o {
		return true
	}
	return m.Name == o.Name && m.Kind == o.Kind && m.Unit == o.Unit && m.Exponent == o.Exponent &&
		m.HasSum == o.HasSum && equalBounds(m.Bounds, o.Bounds)
}

func equalBounds(a, b *frame.Bounds) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return a.Exponent == b.Exponent && slices.Equal(a.Upper, b.Upper)
}

// Buckets returns how many buckets a value has; 0 if it is no histogram.
func (m *Metric) Buckets() int {
	if m.Bounds == nil {
		return 0
	}
	return len(m.Bounds.Upper) + 1
}

// Package rollup computes what is kept of a node's series for years. Start with Rollup: one period
// of one node, of five minutes, an hour or a day. Per series it has
//
//	gauges        count, first, last, min, max, sum
//	counters      count, first, last, increase
//	histograms    count, first, last, increase by bucket and of the sum
//	gauge histograms  count, first, last, sum by bucket and of the sum
//
// Texts have no rollups.
//
//	Window ──FromWindow──▶ Rollup 5m ──Merge──▶ 1h ──Merge──▶ 1d
//	                       each: ──EncodeRun──▶ stored run (FORMAT.md) ──FromRun──▶ Rollup
//	                             ──Select─────▶ Series
//
// It has no clock and no I/O, and of our packages it imports window, frame and frame/codec alone.
//
// What it promises: a coarser rollup equals, bit for bit, what its samples give directly, whichever
// finer rollups it was made from.
//
//   - Integers stay integers. Sums of gauges have 128 bits; increases, and what histograms count,
//     are modulo 2^64.
//   - A counter that is lower than before started again: the increase is the new value. A histogram
//     started again if any bucket is lower than before.
//   - An increase is from sample to sample. Each rollup holds the increase from its first sample to
//     its last; what lies between two periods follows from the last of the one and the first of the
//     other whenever they are read or merged, and belongs to the later period. So an hour is the
//     sum of its five minutes, however long the series was away in between, and a corrected period
//     never makes its neighbours wrong.
//   - Doubles are added in order of time within five minutes, and then the sums in order of time,
//     as Merge does: the rounding of that order is part of the definition. -0 and 0 are equal and
//     the earlier stands. NaN is no value (frame/FORMAT.md), but the sum of both infinities is.
//
// A series is its labels and its metric's definition, as in package window: an entity that went and
// came back is one series.
package rollup

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Level is a length of periods, aligned to the clock in UTC.
type Level struct {
	Name   string
	Millis int64
}

// The levels, finest first. Each is made of the one before, the first of windows.
var (
	FiveMinutes = Level{"5m", frame.WindowMillis}
	Hour        = Level{"1h", 60 * 60_000}
	Day         = Level{"1d", 24 * 60 * 60_000}
	Levels      = []Level{FiveMinutes, Hour, Day}
)

// Start returns the beginning of the period that an instant is in; both in milliseconds since the
// Unix epoch.
func (l Level) Start(at int64) int64 {
	into := at % l.Millis
	if into < 0 {
		into += l.Millis
	}
	return at - into
}

// Finer returns the level that this one is made of; false for the finest.
func (l Level) Finer() (Level, bool) {
	i := slices.Index(Levels, l)
	if i < 1 {
		return Level{}, false
	}
	return Levels[i-1], true
}

// Rollup is one period of one node. It is immutable once made.
type Rollup struct {
	Level
	Start    int64 // milliseconds since the Unix epoch
	Instants int   // frames of the period
	Parts    []Part
	// by ascending Dictionary.Key; one for each entity type, or several if the node changed its
	// cluster, datacenter or rack
	Types []*Type
}

// Part says what a coarser rollup was made of: a period of the next finer level and its Instants. A
// period only ever gains instants, so equal parts mean an equal rollup.
type Part struct {
	Start    int64
	Instants int
}

// Type is what a rollup holds of one entity type.
type Type struct {
	*window.Dictionary
	live []uint32 // by row: at how many instants the entity was there
	// by metric; nil: every live entity has a value wherever it is there, and that is zero
	columns []*column
	run     *openType // has the columns of types that were read from a run; columns is nil then
	period  int       // of the run's
}

// column holds one metric of all entities of a type.
type column struct {
	counts []uint32 // by row: how many values; 0: none. nil: as live
	rows   []int32  // rows with a cell, ascending; others with values have zeros only
	cells  []*cell  // of these rows; where the row has no value it says nothing
}

// unknown stands for a column that was not read.
var unknown = &column{}

// column returns metric number m.
func (t *Type) column(m int) *column {
	if t.run != nil {
		return t.run.column(m, t.period)
	}
	return t.columns[m]
}

func (t *Type) counts(c *column) []uint32 {
	if c == nil || c.counts == nil {
		return t.live
	}
	return c.counts
}

// cell returns a row's cell; nil if all its values are zero.
func (c *column) cell(row int32) *cell {
	if c == nil {
		return nil
	}
	if i, found := slices.BinarySearch(c.rows, row); found {
		return c.cells[i]
	}
	return nil
}

// cell is one series in one period. Words are integers or doubles' bits; in histograms they are of
// the sum.
type cell struct {
	first, last int64
	min, max    int64 // gauges
	total       total
	hist        *buckets // histograms; nil: no counts
}

// buckets are the counts of a histogram's cell: of its first and its last sample, and by how much
// they increased in between; of gauge histograms, the sum over all samples. Cells share them where
// they are equal; they never change.
type buckets struct{ first, last, total sparse }

// sparse is counts by bucket without the zeros.
type sparse struct {
	index []uint16 // ascending
	count []int64
}

var zeroCell = cell{}

func (c *cell) zero() bool {
	return c.first == 0 && c.last == 0 && c.min == 0 && c.max == 0 && c.total == total{} &&
		c.hist == nil
}

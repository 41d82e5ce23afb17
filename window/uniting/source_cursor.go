package uniting

import (
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/window/columns"
)

// sourceCursor is where a joiner stands in one source's column.
type sourceCursor struct {
	has      bool // the source has the metric
	column   *columns.Column
	live     *columns.Presence // of the column
	rows     []int32
	byRow    []int32
	nextRow  int   // in column.rows
	nextLive int   // in live.rows
	pending  int32 // the union's row that nextRow is

	// The row at hand.
	there       bool // the source has it
	full        bool // it is there at all instants
	edges       []int32
	passed      int // edges that are passed
	change, end int // changes that are ahead
	word, total int64
	texts       []int64 // number of a text → that of the union, −1: not known yet
	counts      []int64 // histograms of sources that have several runs
}

// setPending sets pending.
func (r *sourceCursor) setPending() {
	r.pending = noRow
	if r.column != nil && r.nextRow < len(r.column.Rows) {
		if r.pending = r.column.Rows[r.nextRow]; r.rows != nil {
			r.pending = r.rows[r.pending]
		}
	}
}

// seek goes to a row of the union. Rows come in ascending order.
func (r *sourceCursor) seek(row int32) {
	if r.there = r.has; !r.has {
		return
	}
	if r.byRow != nil {
		if row = r.byRow[row]; row < 0 {
			r.there = false
			return
		}
	}
	r.full, r.passed = true, 0
	if p := r.live; p != nil {
		for r.nextLive < len(p.Rows) && p.Rows[r.nextLive] < row {
			r.nextLive++
		}
		if r.nextLive < len(p.Rows) && p.Rows[r.nextLive] == row {
			r.full, r.edges = false, p.EdgesAt(r.nextLive)
		}
	}
}

// seekChanges goes to a row of the union and to its changes.
func (r *sourceCursor) seekChanges(row int32) {
	r.word, r.total, r.change, r.end = 0, 0, 0, 0
	r.seek(row)
	if r.has && r.pending == row {
		r.change, r.end = r.column.ChangesOf(r.nextRow)
		r.nextRow++
		r.setPending()
	}
}

// first returns the first instant of from … to−1 at which the row is there, to if there is none.
// from does not fall from call to call.
func (r *sourceCursor) first(from, to int32) int32 {
	if r.full {
		return from
	}
	for r.passed < len(r.edges) && r.edges[r.passed] <= from {
		r.passed++
	}
	switch {
	case r.passed%2 == 1:
		return from
	case r.passed < len(r.edges):
		return min(r.edges[r.passed], to)
	}
	return to
}

// until returns the first of the changes from … that is after an instant.
func (r *sourceCursor) until(from int, instant int32) int {
	if from == r.end || r.column.At[from] > instant {
		return from
	}
	if from++; from == r.end || r.column.At[from] > instant { // the usual case
		return from
	}
	n, found := slices.BinarySearch(r.column.At[from:r.end], instant)
	if found {
		n++
	}
	return from + n
}

// copyAt appends the instants of the changes from … that are in a run and returns where they end.
func (r *sourceCursor) copyAt(o *columns.Changes, u *run, from int) (end int) {
	at := r.column.At[from:r.end]
	if at[len(at)-1] >= u.to {
		n, _ := slices.BinarySearch(at, u.to)
		at = at[:n]
	}
	before := len(o.At)
	o.At = append(o.At, at...)
	for i := range o.At[before:] {
		o.At[before+i] += u.shift
	}
	return from + len(at)
}

// advance applies a change to sum and count.
func (r *sourceCursor) advance() {
	r.word += r.column.Words[r.change]
	r.total += r.column.TotalOf(r.change)
	r.change++
}

// noRow is above all rows.
const noRow = math.MaxInt32

package blobs

import (
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// How the instants of a row's changes are written: COLUMNS.md §4.
const (
	changesAlways = 0 // at every instant after the first
	changesBitmap = 1
	changesListed = 2 // this and above: the number of changes, plus 1
)

// partEncoder writes the parts of one column.
type partEncoder struct {
	typ      *window.Type
	column   *columns.Column
	m        *window.Metric
	presence *columns.Presence // the column's, or the type's
	instants int32
	numbers  []int64 // strings only: number of each text in the part
	unit     int64   // integers only: what the differences after the first instants are counted in
	scratch  []byte
}

func newPartEncoder(t *window.Type, metric int, instants int32) *partEncoder {
	c := t.Columns[metric]
	return &partEncoder{typ: t, column: c, m: &t.Metrics[metric], presence: t.PresenceOf(c),
		instants: instants}
}

// cut returns the range of a piece's rows among the column's.
func (e *partEncoder) cut(p piece) (from, to int) {
	from, _ = slices.BinarySearch(e.column.Rows, p.from)
	to, _ = slices.BinarySearch(e.column.Rows, p.to)
	return from, to
}

// appendValues appends the Values of a piece.
func (e *partEncoder) appendValues(dst []byte, p piece) []byte {
	if own := e.column.Present.Within(p.from, p.to, len(e.typ.Rows)); e.column.Present == nil ||
		own.Equal(e.typ.Live.Within(p.from, p.to, len(e.typ.Rows))) {
		dst = append(dst, 0)
	} else {
		dst = appendPresence(dst, own)
	}
	from, to := e.cut(p)
	switch e.m.Kind {
	case frame.String:
		dst = e.appendTexts(dst, from, to)
	case frame.Counter, frame.Gauge:
		e.unit = e.unitOf(from, to)
		dst = codec.AppendUvarint(dst, uint64(e.unit))
	}
	dst = e.appendFirst(dst, p, from, to)
	return e.appendLater(dst, p, from, to)
}

// unitOf returns the greatest number that divides all differences of rows number from … to−1 after
// their first instants.
func (e *partEncoder) unitOf(from, to int) int64 {
	var unit uint64
	for i := from; i < to; i++ {
		for first, k, end := e.split(i); k < end; k++ {
			d := e.difference(first, k)
			if d < 0 {
				d = -d
			}
			for n := uint64(d); n != 0; {
				unit, n = n, unit%n
			}
			if unit == 1 {
				return 1
			}
		}
	}
	if unit > math.MaxInt64 { // the one difference that has no opposite
		return 1
	}
	return max(int64(unit), 1)
}

// difference returns how a change of an integer differs from the row's change before; first is the
// row's first one.
func (e *partEncoder) difference(first, change int) int64 {
	if change == first {
		return e.column.Words[change]
	}
	return e.column.Words[change] - e.column.Words[change-1]
}

// appendTexts appends the texts that rows number from … to−1 have, in the order in which their
// values follow.
func (e *partEncoder) appendTexts(dst []byte, from, to int) []byte {
	e.numbers = make([]int64, max(len(e.column.Texts), 1))
	var list []string
	note := func(change int) {
		if w := e.column.Words[change]; w != 0 && e.numbers[w] == 0 {
			list = append(list, e.column.Texts[w])
			e.numbers[w] = int64(len(list))
		}
	}
	for i := from; i < to; i++ {
		if first, later, _ := e.split(i); first < later {
			note(first)
		}
	}
	for i := from; i < to; i++ {
		for _, k, end := e.split(i); k < end; k++ {
			note(k)
		}
	}
	dst = codec.AppendUvarint(dst, uint64(len(list)))
	for _, s := range list {
		dst = codec.AppendText(dst, s)
	}
	return dst
}

// split returns the changes of row number i: first … later−1 is the one at its first instant, if
// there is one, and later … end−1 are those after it.
func (e *partEncoder) split(i int) (first, later, end int) {
	first, end = e.column.ChangesOf(i)
	later = first
	if at, _ := e.presence.First(e.column.Rows[i]); e.column.At[first] == at {
		later++
	}
	return first, later, end
}

func (e *partEncoder) beginsAtFirst(i int) bool {
	first, later, _ := e.split(i)
	return later > first
}

// appendFirst appends each row's value at its first instant: by turns how many rows are zero, how
// many are not, and those that are not.
func (e *partEncoder) appendFirst(dst []byte, p piece, from, to int) []byte {
	next := p.from // row to be written next
	for i := from; i < to; {
		if !e.beginsAtFirst(i) {
			i++
			continue
		}
		end := i + 1
		for end < to && e.column.Rows[end] == e.column.Rows[end-1]+1 && e.beginsAtFirst(end) {
			end++
		}
		dst = codec.AppendUvarint(dst, uint64(e.column.Rows[i]-next))
		dst = codec.AppendUvarint(dst, uint64(end-i))
		next = e.column.Rows[end-1] + 1
		for ; i < end; i++ {
			change, _ := e.column.ChangesOf(i)
			dst = e.appendValue(dst, change, 0, 1)
		}
	}
	if next < p.to {
		dst = codec.AppendUvarint(codec.AppendUvarint(dst, uint64(p.to-next)), 0)
	}
	return dst
}

// appendLater appends the changes after the first instants.
func (e *partEncoder) appendLater(dst []byte, p piece, from, to int) []byte {
	count := 0
	for i := from; i < to; i++ {
		if _, later, end := e.split(i); later < end {
			count++
		}
	}
	dst = codec.AppendUvarint(dst, uint64(count))
	previous := p.from - 1
	for i := from; i < to; i++ {
		if _, later, end := e.split(i); later < end {
			dst = codec.AppendGap(dst, previous, e.column.Rows[i])
			previous = e.column.Rows[i]
			dst = e.appendChanges(dst, i)
		}
	}
	return dst
}

// appendChanges appends the changes of row number i after its first instant.
func (e *partEncoder) appendChanges(dst []byte, i int) []byte {
	first, later, end := e.split(i)
	start, _ := e.presence.First(e.column.Rows[i])
	dst = appendInstants(dst, e.column.At[later:end], start, e.instants)
	for k := later; k < end; k++ {
		base := int64(0)
		if k > first {
			base = e.column.Words[k-1]
		}
		dst = e.appendValue(dst, k, base, e.unit)
	}
	return dst
}

// appendInstants appends instants after first and below end.
func appendInstants(dst []byte, at []int32, first, end int32) []byte {
	domain := int(end - first - 1)
	switch {
	case len(at) == domain:
		return append(dst, changesAlways)
	case len(at) > domain/8:
		dst = append(dst, changesBitmap)
		start := len(dst)
		dst = append(dst, make([]byte, (domain+7)/8)...)
		for _, t := range at {
			i := t - first - 1
			dst[start+int(i/8)] |= 1 << (i % 8)
		}
		return dst
	}
	dst = codec.AppendUvarint(dst, uint64(len(at)+changesListed-1))
	previous := first
	for _, t := range at {
		dst = codec.AppendGap(dst, previous, t)
		previous = t
	}
	return dst
}

// appendValue appends the value of a change against that of the row's change before. Differences of
// integers are in units.
func (e *partEncoder) appendValue(dst []byte, change int, base, unit int64) []byte {
	w := e.column.Words[change]
	switch e.m.Kind {
	case frame.Counter, frame.Gauge:
		return codec.AppendSvarint(dst, (w-base)/unit)
	case frame.GaugeDouble:
		return codec.AppendDouble(dst, w^base)
	case frame.String:
		return codec.AppendUvarint(dst, uint64(e.numbers[w]))
	}
	if e.m.HasSum {
		dst = codec.AppendSvarint(dst, w)
	}
	return codec.AppendSvarint(dst, e.column.TotalOf(change))
}

package rollup

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// What a run's head says of a metric.
const (
	stateZero    = 0 // zero wherever the entity is live
	stateStored  = 1 // as its parts say
	stateAbsent  = 2 // never a value
	stateSmall   = 3 // as its parts say, and they are small
	stateBits    = 2
	stateUnknown = 4 // never written
)

// What an entry of a part says of its row.
const (
	entryStill   = 0 // one value in all periods
	entryMoving  = 1 // a class for each period, and cells
	entryNone    = 2 // this row and some more have no values
	entryCounted = 3 // as moving, with numbers of values that are not as live
	entryBits    = 2
)

// runInput is one type of a run's periods while it is encoded.
type runInput struct {
	*group
	slots   int
	names   []string // of the metrics that are asked for; none: all
	sources []runSource
	live    [][]uint32 // by slot and row; nil: the type is not there

	now []metricSource // the sources of the metric at hand

	// Of the row at hand, by slot.
	counts  []uint32
	cells   []*cell
	classes []byte

	cellWriter
	values, content []byte
}

// runSource is a type of one period.
type runSource struct {
	slot int
	*Type
	*mapping
}

// metricSource is one metric's counts and cells in a source.
type metricSource struct {
	slot int
	*mapping
	counts []uint32
	rowWalk
}

func newRunInput(g *group, slots int, names []string) *runInput {
	return &runInput{group: g, slots: slots, names: names,
		counts: make([]uint32, slots), cells: make([]*cell, slots), classes: make([]byte, slots)}
}

// add adds the group's types of a period.
func (in *runInput) add(slot int, r *Rollup) {
	for _, t := range r.Types {
		if m := in.maps[t.Dictionary]; m != nil {
			in.sources = append(in.sources, runSource{slot, t, m})
		}
	}
}

// liveCounts returns at how many instants each row was there, by slot.
func (in *runInput) liveCounts() [][]uint32 {
	live := make([][]uint32, in.slots)
	for _, s := range in.sources {
		if live[s.slot] == nil && s.rows == nil {
			live[s.slot] = s.live
			continue
		}
		sum := make([]uint32, len(in.Rows))
		copy(sum, live[s.slot])
		for row, n := range s.live {
			if s.rows != nil {
				row = int(s.rows[row])
			}
			sum[row] += n
		}
		live[s.slot] = sum
	}
	return live
}

// find collects the sources of a metric. known: one knows it; all: there is none that does not, and
// no period has two; zero: they all say zero wherever the entity is live.
func (in *runInput) find(metric int) (known, all, zero bool) {
	in.now = in.now[:0]
	all, zero = true, true
	for i := range in.sources {
		s := &in.sources[i]
		if i > 0 && in.sources[i-1].slot == s.slot {
			all = false
		}
		own := s.metricOf(metric)
		if own < 0 {
			zero = false
			continue
		}
		c := s.column(own)
		if c == unknown {
			all, zero = false, false
			continue
		}
		known, zero = true, zero && c == nil
		in.now = append(in.now, metricSource{s.slot, s.mapping, s.Type.counts(c),
			rowWalk{column: c}})
	}
	return known, all, zero && all
}

// cut is where a piece ends and the next begins.
type cut struct {
	row int32 // the first of the next piece
	at  int
}

// encode returns what the head says of a metric and, if it is stored, its part; several with the
// cuts between them.
func (in *runInput) encode(metric int) (state byte, part []byte, cuts []cut) {
	m := &in.Metrics[metric]
	if m.Kind == frame.String {
		return stateUnknown, nil, nil
	}
	known, all, zero := in.find(metric)
	switch {
	case !known || !all && len(in.names) > 0 && !slices.Contains(in.names, m.Name):
		return stateUnknown, nil, nil
	case zero:
		return stateZero, nil, nil
	}
	in.Metric = m
	var w runWriter
	never := true
	for row := range in.Rows {
		moved, counted, some := in.row(int32(row))
		never = never && !some
		switch {
		case !some && (counted || w.follows(row)):
			w.without(row)
		case moved || counted:
			w.flush()
			kind := in.entry(counted)
			if kind == entryStill && len(in.values) == 0 { // zero all the time
				continue
			}
			w.entry(row, kind, in.content)
		}
	}
	w.flush()
	switch {
	case len(w.pieces) == 0:
		return stateZero, nil, nil
	case never:
		return stateAbsent, nil, nil
	}
	part, cuts = w.finish()
	return stateStored, part, cuts
}

// row finds a row's counts and cells. moved: one may not be zero; counted: a count is not as live;
// some: there is a value.
func (in *runInput) row(row int32) (moved, counted, some bool) {
	clear(in.counts)
	clear(in.cells)
	for i := range in.now {
		l := &in.now[i]
		r := l.rowOf(row)
		if r < 0 || l.counts[r] == 0 || in.counts[l.slot] > 0 {
			continue
		}
		some = true
		in.counts[l.slot] = l.counts[r]
		if c := l.cell(r); c != nil {
			moved = true
			in.cells[l.slot] = c
		}
	}
	for slot, live := range in.live {
		n := uint32(0)
		if live != nil {
			n = live[row]
		}
		counted = counted || n != in.counts[slot]
		in.classes[slot] = 0
		if in.cells[slot] == nil {
			in.cells[slot] = &zeroCell
		}
	}
	// Live counts of the row are needed again by append.
	if counted {
		in.content = in.content[:0]
		for slot, live := range in.live {
			n := int64(0)
			if live != nil {
				n = int64(live[row])
			}
			in.content = codec.AppendSvarint(in.content, int64(in.counts[slot])-n)
		}
	}
	return moved, counted, some
}

// entry writes the row at hand to content.
func (in *runInput) entry(counted bool) (entry byte) {
	in.values = in.values[:0]
	before, still, first := &zeroCell, true, true
	for slot, n := range in.counts {
		if n == 0 {
			continue
		}
		c := in.cells[slot]
		class := c.runClass(in.Kind, n, before)
		in.classes[slot] = class
		in.values = in.append(in.values, c, class, n, before)
		still = still && (class == runSame || first && class == runStill)
		before, first = c, false
	}
	if !counted {
		in.content = in.content[:0]
		if still {
			in.content = append(in.content, in.values...)
			return entryStill
		}
	}
	in.content = appendClasses(in.content, in.classes)
	in.content = append(in.content, in.values...)
	if counted {
		return entryCounted
	}
	return entryMoving
}

func appendClasses(dst, classes []byte) []byte {
	var packed, n byte
	for _, c := range classes {
		packed |= c << n
		if n += runClassBits; n == 8 {
			dst, packed, n = append(dst, packed), 0, 0
		}
	}
	if n > 0 {
		dst = append(dst, packed)
	}
	return dst
}

// runWriter writes the entries of a part.
type runWriter struct {
	body   []byte
	pieces []runPiece
	next   int // the row after the last entry

	noneFrom, none int // rows without values that no entry says yet: from … none−1
}

type runPiece struct {
	row     int32
	at      int // where its entries begin
	entries int
}

// follows reports whether the row before is the last of some without values.
func (w *runWriter) follows(row int) bool { return w.none == row && w.noneFrom < row }

// without says that a row has no values.
func (w *runWriter) without(row int) {
	if !w.follows(row) {
		w.flush()
		w.noneFrom = row
	}
	w.none = row + 1
}

func (w *runWriter) flush() {
	if w.noneFrom < w.none {
		from, n := w.noneFrom, w.none-w.noneFrom
		w.noneFrom, w.none = 0, 0
		var content [10]byte
		w.entry(from, entryNone, codec.AppendUvarint(content[:0], uint64(n-1)))
		w.next = from + n
	}
}

func (w *runWriter) entry(row int, kind byte, content []byte) {
	const most = 2 * 5 // bytes of the number of entries and of a gap
	if n := len(w.pieces); n == 0 ||
		len(w.body)-w.pieces[n-1].at+len(content)+most > blobs.PieceBytes {
		p := runPiece{row: int32(row), at: len(w.body)}
		if w.next = row; n == 0 {
			p.row, w.next = 0, 0
		}
		w.pieces = append(w.pieces, p)
	}
	w.pieces[len(w.pieces)-1].entries++
	w.body = codec.AppendUvarint(w.body, uint64(row-w.next)<<entryBits|uint64(kind))
	w.body = append(w.body, content...)
	w.next = row + 1
}

// finish returns the pieces one behind the other.
func (w *runWriter) finish() (out []byte, cuts []cut) {
	out = make([]byte, 0, len(w.body)+5*len(w.pieces))
	for i, p := range w.pieces {
		end := len(w.body)
		if i+1 < len(w.pieces) {
			end = w.pieces[i+1].at
		}
		out = codec.AppendUvarint(out, uint64(p.entries))
		out = append(out, w.body[p.at:end]...)
		if i+1 < len(w.pieces) {
			cuts = append(cuts, cut{w.pieces[i+1].row, len(out)})
		}
	}
	return out, cuts
}

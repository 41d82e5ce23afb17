package rollup

import (
	"fmt"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// openType is one type of a run that was read. Its periods' types share it.
type openType struct {
	*RunType
	dictionary *window.Dictionary
	live       [][]uint32 // by slot and row
	absent     *column    // of metrics that have no values
	read       []int      // metrics that were read, ascending
	columns    [][]column // of these, by period
}

// column returns a metric of a period.
func (o *openType) column(metric, period int) *column {
	if o.dictionary.Metrics[metric].Kind == frame.String {
		return unknown
	}
	switch o.state(metric) {
	case stateZero:
		return nil
	case stateAbsent:
		return o.absent
	}
	if i, found := slices.BinarySearch(o.read, metric); found {
		return &o.columns[i][period]
	}
	return unknown
}

// Run is what was read of a run. It is immutable.
type Run struct {
	head  *RunHead
	types []*openType // by number; nil: it was not read
}

// FromRun returns the rollups of a run, as OpenRun reads it.
func FromRun(
	h *RunHead, types []int, find window.Dictionaries, parts []blobs.StoredPart,
) ([]*Rollup, []error) {
	run, damage, _ := OpenRun(nil, h, types, find, parts) // nothing refuses
	return run.Rollups(), damage
}

// OpenRun reads a run from its head and those parts that were read. types are the numbers of the
// types that are wanted; nil: all. Metrics without any part are not in the rollups, unless the head
// answers for them; entities of pieces that were not given have no values. What cannot be decoded
// is left out, and damage says why. The memory comes from the allowance, which is asked as the run
// grows; nil gives any. The error is the allowance's.
func OpenRun(allow window.Allowance, h *RunHead, types []int, find window.Dictionaries,
	parts []blobs.StoredPart) (run *Run, damage []error, err error) {
	o := opener{head: h, batchedAllowance: batchedAllowance{allow: allow},
		slots: int(h.Length / h.Millis)}
	o.open(types, find)
	compare := func(a, b blobs.StoredPart) int { return a.Compare(b.PartID) }
	if !slices.IsSortedFunc(parts, compare) {
		parts = slices.SortedFunc(slices.Values(parts), compare)
	}
	for len(parts) > 0 && o.err == nil {
		n := 1
		for n < len(parts) && parts[n].Type == parts[0].Type && parts[n].Metric == parts[0].Metric {
			n++
		}
		o.metric(parts[:n])
		parts = parts[n:]
	}
	if o.err != nil {
		return nil, nil, o.err
	}
	return &Run{h, o.types}, o.damage, nil
}

// EmptyRun is a run of which no type was read.
func EmptyRun(h *RunHead) *Run { return &Run{h, make([]*openType, len(h.Types))} }

// Restrict returns the run with the types whose dictionaries are wanted. What is merged of several
// runs lacks a metric that any of them has a type of, but has not read.
func (r *Run) Restrict(want func(*window.Dictionary) bool) *Run {
	out := &Run{r.head, slices.Clone(r.types)}
	for i, t := range out.types {
		if t != nil && !want(t.dictionary) {
			out.types[i] = nil
		}
	}
	return out
}

// JoinTypes returns the run with the types and the metrics that another reading of it has. Where
// both have a metric, it is o's. The two share their memory with it.
func (r *Run) JoinTypes(o *Run) *Run {
	out := &Run{o.head, slices.Clone(o.types)}
	for i, had := range r.types {
		switch {
		case out.types[i] == nil:
			out.types[i] = had
		case had != nil:
			out.types[i] = had.joined(out.types[i])
		}
	}
	return out
}

func (o *openType) joined(more *openType) *openType {
	out := *more
	out.read, out.columns = nil, nil
	i, j := 0, 0
	for i < len(o.read) || j < len(more.read) {
		of, n := o, &i
		if i == len(o.read) || j < len(more.read) && more.read[j] <= o.read[i] {
			if i < len(o.read) && o.read[i] == more.read[j] {
				i++
			}
			of, n = more, &j
		}
		out.read, out.columns = append(out.read, of.read[*n]), append(out.columns, of.columns[*n])
		*n++
	}
	return &out
}

// Bytes returns about what the parts of the run that were read take, without its head and
// dictionaries.
func (r *Run) Bytes() int64 {
	n := int64(100 + 8*len(r.types))
	for _, t := range r.types {
		if t == nil {
			continue
		}
		n += 300 + 4*int64(len(t.absent.counts))
		for slot, live := range t.live {
			if slot == 0 || len(live) > 0 && &live[0] != &t.live[slot-1][0] {
				n += 4 * int64(len(live))
			}
		}
		for _, periods := range t.columns {
			n += columnsBytes(periods)
		}
	}
	return n
}

func columnsBytes(periods []column) (n int64) {
	for i := range periods {
		c := &periods[i]
		n += 80 + 4*int64(cap(c.counts)+cap(c.rows)) + 8*int64(cap(c.cells))
		for j, of := range c.cells {
			repeated := i > 0 && j < len(periods[i-1].cells) && periods[i-1].cells[j] == of
			if of != &zeroCell && !repeated {
				n += int64(of.bytes())
			}
		}
	}
	return n
}

// opener is one OpenRun.
type opener struct {
	head *RunHead
	batchedAllowance
	slots  int
	types  []*openType // by number; nil: not wanted, or it cannot be decoded
	damage []error
	arena  arena
	period []int // by slot; −1: it is not there

	// Of the row at hand, by slot.
	counts  []uint32
	classes []byte
}

// open opens the types that are wanted.
func (o *opener) open(types []int, find window.Dictionaries) {
	o.period, o.counts, o.classes = make([]int, o.slots), make([]uint32, o.slots), make([]byte,
		o.slots)
	for slot := range o.period {
		o.period[slot] = -1
	}
	for i, p := range o.head.Periods {
		o.period[(p.Start-o.head.Start)/o.head.Millis] = i
	}
	o.types = make([]*openType, len(o.head.Types))
	for i := range o.head.Types {
		if types != nil && !slices.Contains(types, i) {
			continue
		}
		t := &o.head.Types[i]
		var err error
		if o.types[i], err = o.openType(t, find); err != nil {
			o.damage = append(o.damage, fmt.Errorf("type %s: %w", t.Key, err))
			o.types[i] = nil
		}
	}
}

func (o *opener) openType(t *RunType, find window.Dictionaries) (*openType, error) {
	d, err := find(t.Key, t.Hash)
	if err != nil {
		return nil, err
	}
	if t.metrics != len(d.Metrics) {
		return nil, fmt.Errorf("%w: the head knows %d metrics, the dictionary %d", ErrMalformed,
			t.metrics, len(d.Metrics))
	}
	for _, p := range t.pieces {
		if int(p.first[len(p.first)-1]) >= len(d.Rows) {
			return nil, fmt.Errorf("%w: a piece of metric %d begins after the last entity",
				ErrMalformed, p.metric)
		}
	}
	of := &openType{RunType: t, dictionary: d}
	r := read(t.counts)
	of.live = r.live(o, len(d.Rows))
	if err := r.Done(); err != nil {
		return nil, err
	}
	of.absent = &column{counts: o.none(len(d.Rows))}
	return of, nil
}

// none returns counts of rows without values.
func (o *opener) none(rows int) []uint32 {
	o.take(4 * rows)
	return make([]uint32, rows)
}

// live reads at how many instants the rows are there, by slot.
func (r *reader) live(o *opener, rows int) [][]uint32 {
	live := make([][]uint32, o.slots)
	usual := make([]uint32, o.slots)
	for slot := range live {
		usual[slot] = uint32(r.Number("a count", maxCount+1))
		if usual[slot] > 0 && o.period[slot] < 0 {
			r.Fail("entities in a period that is not there")
		}
	}
	n := r.Count("counts", rows)
	if r.Err != nil {
		return nil
	}
	for slot, u := range usual {
		if n == 0 {
			if earlier := slices.Index(usual[:slot], u); earlier >= 0 {
				live[slot] = live[earlier]
				continue
			}
		}
		live[slot] = o.none(rows)
		if u > 0 {
			for row := range live[slot] {
				live[slot][row] = u
			}
		}
	}
	for row := 0; n > 0 && r.Err == nil; n-- {
		v := r.Uvarint()
		if v>>1 >= uint64(rows-row) {
			r.Fail("a row after the last")
			break
		}
		row += int(v >> 1)
		for slot := range live {
			count := int64(0)
			if v&1 == 1 {
				count = r.count(int64(usual[slot]), o.period[slot])
			}
			live[slot][row] = uint32(count)
		}
		row++
	}
	return live
}

// count reads a number of values that is written as the difference to another.
func (r *reader) count(from int64, period int) int64 {
	n := from + r.Svarint()
	if n < 0 || n > maxCount || n > 0 && period < 0 {
		r.Fail("a number of values of %d", n)
		return 0
	}
	return n
}

// metric reads the parts of one metric.
func (o *opener) metric(parts []blobs.StoredPart) {
	id := parts[0].PartID
	if id.Type < 0 || id.Type >= len(o.types) {
		o.damaged(id, fmt.Errorf("%w: the head knows %d types", ErrMalformed, len(o.types)))
		return
	}
	t := o.types[id.Type]
	if t == nil {
		return // it is not wanted, or known to be damaged
	}
	if !t.Stored(id.Metric) || t.dictionary.Metrics[id.Metric].Kind == frame.String {
		o.damaged(id, fmt.Errorf("%w: the head knows no parts of this metric", ErrMalformed))
		return
	}
	firsts := t.firsts(id.Metric)
	in := partReader{o: o, t: t, columns: make([]column, len(o.head.Periods)),
		runReader: runReader{Metric: &t.dictionary.Metrics[id.Metric], arena: &o.arena,
			batchedAllowance: &o.batchedAllowance}}
	read, next := 0, 0
	for _, p := range parts {
		if p.Facet != blobs.Values || p.Piece < 0 || p.Piece > len(firsts) || p.Piece < next {
			o.damaged(p.PartID, fmt.Errorf("%w: the head knows no such part, or it comes twice",
				ErrMalformed))
			continue
		}
		in.missing(firsts, next, p.Piece)
		next = p.Piece + 1
		from, to := in.rowsOf(firsts, p.Piece)
		if err := in.part(p.Blob, from, to); err != nil {
			o.damaged(p.PartID, err)
			in.missing(firsts, p.Piece, p.Piece+1)
			continue
		}
		read++
	}
	in.missing(firsts, next, len(firsts)+1)
	if read > 0 {
		t.read, t.columns = append(t.read, id.Metric), append(t.columns, in.columns)
	}
}

func (o *opener) damaged(id blobs.PartID, err error) {
	o.damage = append(o.damage, fmt.Errorf("part %d of metric %d of type %d: %w", id.Piece,
		id.Metric, id.Type, err))
}

// Rollups returns what was read, a rollup for each period, ascending.
func (r *Run) Rollups() []*Rollup {
	open := slices.DeleteFunc(slices.Clone(r.types), func(t *openType) bool { return t == nil })
	list := make([]*Rollup, len(r.head.Periods))
	rollups := make([]Rollup, len(list))
	types, pointers := make([]Type, len(list)*len(open)), make([]*Type, len(list)*len(open))
	for i := range list {
		p := &r.head.Periods[i]
		own := pointers[:len(open):len(open)]
		pointers = pointers[len(open):]
		slot := (p.Start - r.head.Start) / r.head.Millis
		for j, t := range open {
			own[j] = &types[i*len(open)+j]
			*own[j] = Type{Dictionary: t.dictionary, live: t.live[slot], run: t, period: i}
		}
		rollups[i] = Rollup{Level: r.head.Level, Start: p.Start, Instants: p.Instants,
			Parts: p.Parts, Types: own}
		list[i] = &rollups[i]
	}
	return list
}

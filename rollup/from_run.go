package rollup

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
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

// FromRun returns the rollups of a run, one for each period, ascending, from its head and those
// parts that were read. types are the numbers of the types that are wanted; nil: all. Metrics
// without any part are not in the rollups, unless the head answers for them; entities of pieces
// that were not given have no values. What cannot be decoded is left out, and damage says why.
func FromRun(h *RunHead, types []int, find window.Dictionaries, parts []window.StoredPart) (list []*Rollup, damage []error) {
	list, damage, _ = FromRunWithin(nil, h, types, find, parts) // nothing refuses
	return list, damage
}

// FromRunWithin is FromRun with as much memory as the allowance gives, which is asked as the
// rollups grow; nil gives any. Its error is the allowance's.
func FromRunWithin(allow window.Allowance, h *RunHead, types []int, find window.Dictionaries,
	parts []window.StoredPart) (list []*Rollup, damage []error, err error) {
	o := opener{head: h, owes: owes{allow: allow}, slots: int(h.Length / h.Millis)}
	o.open(types, find)
	if !slices.IsSortedFunc(parts, compareParts) {
		parts = slices.SortedFunc(slices.Values(parts), compareParts)
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
	return o.rollups(), o.damage, nil
}

func compareParts(a, b window.StoredPart) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Metric, b.Metric),
		cmp.Compare(a.Facet, b.Facet), cmp.Compare(a.Piece, b.Piece))
}

// opener is one FromRun.
type opener struct {
	head *RunHead
	owes
	slots  int
	types  []*openType // by number; nil: not wanted, or it cannot be decoded
	damage []error
	keeper keeper
	period []int // by slot; −1: it is not there

	// Of the row at hand, by slot.
	counts  []uint32
	classes []byte
}

// open opens the types that are wanted.
func (o *opener) open(types []int, find window.Dictionaries) {
	o.period, o.counts, o.classes = make([]int, o.slots), make([]uint32, o.slots), make([]byte, o.slots)
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
		return nil, fmt.Errorf("%w: the head knows %d metrics, the dictionary %d", ErrMalformed, t.metrics, len(d.Metrics))
	}
	for _, p := range t.pieces {
		if int(p.first[len(p.first)-1]) >= len(d.Rows) {
			return nil, fmt.Errorf("%w: a piece of metric %d begins after the last entity", ErrMalformed, p.metric)
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
			if same := slices.Index(usual[:slot], u); same >= 0 {
				live[slot] = live[same]
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
func (o *opener) metric(parts []window.StoredPart) {
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
		runReader: runReader{Metric: &t.dictionary.Metrics[id.Metric], keeper: &o.keeper, owes: &o.owes}}
	read, next := 0, 0
	for _, p := range parts {
		if p.Facet != window.Values || p.Piece < 0 || p.Piece > len(firsts) || p.Piece < next {
			o.damaged(p.PartID, fmt.Errorf("%w: the head knows no such part, or it comes twice", ErrMalformed))
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

func (o *opener) damaged(id window.PartID, err error) {
	o.damage = append(o.damage, fmt.Errorf("part %d of metric %d of type %d: %w", id.Piece, id.Metric, id.Type, err))
}

// rollups returns what was read.
func (o *opener) rollups() []*Rollup {
	open := slices.DeleteFunc(slices.Clone(o.types), func(t *openType) bool { return t == nil })
	list := make([]*Rollup, len(o.head.Periods))
	rollups := make([]Rollup, len(list))
	types, pointers := make([]Type, len(list)*len(open)), make([]*Type, len(list)*len(open))
	for i := range list {
		p := &o.head.Periods[i]
		own := pointers[:len(open):len(open)]
		pointers = pointers[len(open):]
		slot := (p.Start - o.head.Start) / o.head.Millis
		for j, t := range open {
			own[j] = &types[i*len(open)+j]
			*own[j] = Type{Dictionary: t.dictionary, live: t.live[slot], run: t, period: i}
		}
		rollups[i] = Rollup{Level: o.head.Level, Start: p.Start, Instants: p.Instants, Parts: p.Parts, Types: own}
		list[i] = &rollups[i]
	}
	return list
}

package window

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
)

// StoredColumn is a column's blob as it was found, with the key of its dictionary.
type StoredColumn struct {
	Key  string
	Blob []byte
}

// FromColumns makes a window of what Columns stored: meta and those columns that are needed. Metrics whose columns are not given are not in the
// window, unless meta answers for them. What cannot be decoded is left out, and damage says why, one error for each blob or dictionary.
//
// Columns may be of another time than meta (a window is being stored again, and meta is written last): each has its own instants and dictionary, so
// all of them are true, and the window is their union.
func FromColumns(account string, meta *Meta, dictionary Dictionaries, columns []StoredColumn) (w *Window, damage []error) {
	w = &Window{Node: meta.Node, Start: meta.Start, Length: frame.WindowMillis, Times: meta.Times}
	w.Node.Account = account
	byHash := map[Hash]*Type{}
	for i := range meta.Types {
		mt := &meta.Types[i]
		t, err := mt.open(dictionary, int32(len(meta.Times)))
		if err != nil {
			damage = append(damage, err)
			continue
		}
		w.Node.ID = t.Node
		w.Types = append(w.Types, t)
		byHash[mt.Hash] = t
	}
	slices.SortFunc(w.Types, func(a, b *Type) int { return strings.Compare(a.Key, b.Key) })
	var others []*Window
	for _, c := range columns {
		r := read(c.Blob)
		h := r.columnHead(meta.Start)
		if r.Err != nil {
			damage = append(damage, fmt.Errorf("a column of type %s: %w", c.Key, r.Err))
			continue
		}
		t := byHash[h.hash]
		if t == nil || !slices.Equal(h.times, meta.Times) || h.metric >= len(t.columns) {
			var err error
			if others, t, err = other(others, meta, c.Key, h, dictionary); err != nil {
				damage = append(damage, err)
				continue
			}
		}
		col := r.column(t.Dictionary, h.metric, int32(len(h.times)))
		if err := r.Done(); err != nil {
			damage = append(damage, fmt.Errorf("a column of type %s: %w", c.Key, err))
			continue
		}
		if col.present.equal(t.live) {
			col.present = nil
		}
		t.columns[h.metric] = col
	}
	for _, o := range others {
		o.Node = w.Node
		w = Merge(w, o)
	}
	return w, damage
}

// open makes the type that meta describes. Columns that are stored are unknown as yet.
func (mt *MetaType) open(dictionary Dictionaries, instants int32) (*Type, error) {
	d, err := dictionary(mt.Key, mt.Hash)
	if err != nil {
		return nil, fmt.Errorf("type %s: %w", mt.Key, err)
	}
	if len(mt.states) != len(d.Metrics) {
		return nil, fmt.Errorf("%w: meta knows %d metrics of type %s, the dictionary %d", ErrMalformed, len(mt.states), mt.Key, len(d.Metrics))
	}
	t := &Type{Dictionary: d, columns: make([]*column, len(d.Metrics))}
	r := read(mt.blob)
	t.live = r.presence(len(d.Rows), instants)
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("type %s: %w", mt.Key, err)
	}
	var absent *column
	for i, s := range mt.states {
		switch s {
		case stateZero:
		case stateAbsent:
			if absent == nil {
				absent = &column{present: never(len(d.Rows))}
			}
			t.columns[i] = absent
		default:
			t.columns[i] = unknown
		}
	}
	return t, nil
}

// other returns the type for a column that does not fit meta, in a window with that column's instants.
func other(list []*Window, meta *Meta, key string, h columnHead, dictionary Dictionaries) ([]*Window, *Type, error) {
	d, err := dictionary(key, h.hash)
	if err != nil {
		return list, nil, fmt.Errorf("type %s: %w", key, err)
	}
	if h.metric >= len(d.Metrics) {
		return list, nil, fmt.Errorf("%w: metric %d of type %s, which has %d", ErrMalformed, h.metric, key, len(d.Metrics))
	}
	var w *Window
	for _, o := range list {
		if slices.Equal(o.Times, h.times) && !slices.ContainsFunc(o.Types, func(t *Type) bool { return t.Type == d.Type && t.Dictionary != d }) {
			w = o
		}
	}
	if w == nil {
		w = &Window{Start: meta.Start, Times: h.times}
		list = append(list, w)
	}
	for _, t := range w.Types {
		if t.Dictionary == d {
			return list, t, nil
		}
	}
	t := &Type{Dictionary: d, columns: make([]*column, len(d.Metrics))}
	for i := range t.columns {
		t.columns[i] = unknown
	}
	w.Types = append(w.Types, t)
	return list, t, nil
}

// FromSamples is FromSamplesOf of version 1: it makes a window of meta and of the series that find knows. find returns nil for a series without values; it is asked for the metrics
// that want says, of which it must know all rows that matter, and the window has no others. Instants that meta does not have are left out.
func FromSamples(account string, meta *Meta, dictionary Dictionaries, want func(d *Dictionary, metric int) bool, find func(d *Dictionary, metric, row int) *Series) (w *Window, damage []error) {
	w = &Window{Node: meta.Node, Start: meta.Start, Length: frame.WindowMillis, Times: meta.Times}
	w.Node.Account = account
	values := make([]value, len(meta.Times))
	for i := range meta.Types {
		t, err := meta.Types[i].open(dictionary, int32(len(meta.Times)))
		if err != nil {
			damage = append(damage, err)
			continue
		}
		w.Node.ID = t.Node
		w.Types = append(w.Types, t)
		t.enter(values, meta.Times, want, find)
	}
	slices.SortFunc(w.Types, func(a, b *Type) int { return strings.Compare(a.Key, b.Key) })
	return w, damage
}

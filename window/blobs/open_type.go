package blobs

import (
	"fmt"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// openType is a type of a head, with what its parts need.
type openType struct {
	typ    *window.Type
	starts map[int][]int32 // by metric that is cut
}

// open makes the type that the head describes. Metrics that are stored are unknown as yet.
func (t *HeadType) open(find window.Dictionaries, instants int) (openType, error) {
	d, err := find(t.Key, t.Hash)
	if err != nil {
		return openType{}, fmt.Errorf("type %s: %w", t.Key, err)
	}
	if t.metrics != len(d.Metrics) {
		return openType{}, fmt.Errorf("%w: the head knows %d metrics of type %s, the dictionary %d",
			ErrMalformed, t.metrics, t.Key, len(d.Metrics))
	}
	o := openType{
		typ: &window.Type{Dictionary: d, Columns: make([]*columns.Column, len(d.Metrics))}}
	r := read(t.rest)
	for m, starts := range t.cutMetrics(&r, len(d.Rows)) {
		if !t.Stored(m) {
			r.Fail("metric %d is in pieces and not stored", m)
		}
		if o.starts == nil {
			o.starts = map[int][]int32{}
		}
		o.starts[m] = starts
	}
	o.typ.Live = r.presence(len(d.Rows), int32(instants))
	if err := r.Done(); err != nil {
		return openType{}, fmt.Errorf("type %s: %w", t.Key, err)
	}
	var absent *columns.Column
	for m := range o.typ.Columns {
		switch t.state(m) {
		case stateZero:
		case stateAbsent:
			if absent == nil {
				absent = &columns.Column{Present: columns.Never(len(d.Rows))}
			}
			o.typ.Columns[m] = absent
		default:
			o.typ.Columns[m] = columns.Unread
		}
	}
	return o, nil
}

// window makes a window of the head alone, with these types (nil: all). opened has them by their
// number in the head.
func (h *Head) window(
	account string, types []int, find window.Dictionaries,
) (w *window.Window, opened []openType, damage []error) {
	w = &window.Window{Node: h.Node, Start: h.Start, Length: h.Length, Times: h.Times}
	w.Node.Account = account
	opened = make([]openType, len(h.Types))
	open := func(i int) {
		t, err := h.Types[i].open(find, len(h.Times))
		if err != nil {
			damage = append(damage, err)
			return
		}
		opened[i] = t
	}
	if types == nil {
		for i := range h.Types {
			open(i)
		}
	}
	for _, i := range types {
		if opened[i].typ == nil {
			open(i)
		}
	}
	for i := range opened { // a head has its types in order
		if t := opened[i].typ; t != nil {
			w.Node.ID = t.Node
			w.Types = append(w.Types, t)
		}
	}
	return w, opened, damage
}

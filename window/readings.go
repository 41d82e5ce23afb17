package window

import (
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/window/columns"
)

// Restrict returns the window with some of its types, by their numbers, nil for all, and of these
// the metrics that want wants. The others count as not read. It shares the memory of w.
func (w *Window) Restrict(types []int, want func(d *Dictionary, metric int) bool) *Window {
	out := *w
	if types != nil {
		out.Types = make([]*Type, 0, len(types))
		for _, i := range types {
			out.Types = append(out.Types, w.Types[i])
		}
	} else {
		out.Types = append([]*Type(nil), w.Types...)
	}
	for i, t := range out.Types {
		restricted := *t
		restricted.Columns = make([]*columns.Column, len(t.Columns))
		for m := range t.Columns {
			if restricted.Columns[m] = columns.Unread; want(t.Dictionary, m) {
				restricted.Columns[m] = t.Columns[m]
			}
		}
		out.Types[i] = &restricted
	}
	return &out
}

// JoinColumns returns the window with the types and the columns that another window of one head has
// read. Where both have read a column, it is o's. The two share their memory with it.
func (w *Window) JoinColumns(o *Window) *Window {
	out := *w
	out.Node.ID = o.Node.ID
	out.Types = make([]*Type, 0, max(len(w.Types), len(o.Types)))
	i, j := 0, 0
	for i < len(w.Types) || j < len(o.Types) {
		switch {
		case j == len(o.Types) ||
			i < len(w.Types) && strings.Compare(w.Types[i].Key, o.Types[j].Key) < 0:
			out.Types = append(out.Types, w.Types[i])
			i++
		case i == len(w.Types) || strings.Compare(w.Types[i].Key, o.Types[j].Key) > 0:
			out.Types = append(out.Types, o.Types[j])
			j++
		default:
			out.Types = append(out.Types, w.Types[i].joinColumns(o.Types[j]))
			i, j = i+1, j+1
		}
	}
	return &out
}

func (t *Type) joinColumns(o *Type) *Type {
	out := &Type{Dictionary: t.Dictionary, Live: t.Live, Columns: slices.Clone(t.Columns)}
	for m, c := range o.Columns {
		if c != columns.Unread {
			out.Columns[m] = c
		}
	}
	return out
}

// Before returns the part of the window before an instant (milliseconds since the Unix epoch), for
// who reads it: it shares all but the list of instants with the window.
func (w *Window) Before(at int64) *Window {
	n, _ := slices.BinarySearch(w.Times, at)
	if n == len(w.Times) {
		return w
	}
	out := *w
	out.Times = w.Times[:n:n]
	return &out
}

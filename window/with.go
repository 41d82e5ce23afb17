package window

import (
	"slices"
	"strings"
)

// With returns the window with the types and the columns that another window of the same head has
// read. Where both have read a column, it is o's. The two share their memory with it.
func (w *Window) With(o *Window) *Window {
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
			out.Types = append(out.Types, w.Types[i].with(o.Types[j]))
			i, j = i+1, j+1
		}
	}
	return &out
}

func (t *Type) with(o *Type) *Type {
	out := &Type{Dictionary: t.Dictionary, live: t.live, columns: make([]*column, len(t.columns))}
	copy(out.columns, t.columns)
	for m, c := range o.columns {
		if c != unknown {
			out.columns[m] = c
		}
	}
	return out
}

// Bytes returns what the window's columns take, without its dictionaries and the head's bytes.
func (w *Window) Bytes() int64 {
	n := int64(120 + 8*cap(w.Times))
	for _, t := range w.Types {
		n += 100 + 8*int64(len(t.columns)) + t.live.bytes()
		for _, c := range t.columns {
			n += c.bytes()
		}
	}
	return n
}

func (c *column) bytes() int64 {
	if c == nil || c == unknown {
		return 0
	}
	n := 250 + 4*int64(cap(c.rows)+cap(c.end)+cap(c.at)+cap(c.bucketEnd)) + c.present.bytes() +
		8*int64(cap(c.words)+cap(c.count)+cap(c.totals)) + 2*int64(cap(c.bucket))
	for _, text := range c.texts {
		n += 16 + int64(len(text))
	}
	return n
}

func (p *presence) bytes() int64 {
	if p == nil {
		return 0
	}
	return 72 + 4*int64(cap(p.rows)+cap(p.end)+cap(p.edges))
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

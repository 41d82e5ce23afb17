// Package blobs is how a window is stored: a head, dictionaries and parts, of which each metric has
// its own, so that one is read without the others. window/COLUMNS.md describes the bytes. Start
// with Encode and FromParts; Head says which parts there are, and Encoder takes a window in pieces.
//
// Equal windows give equal bytes. Whatever bytes it is given, it takes bounded memory, and what
// cannot be decoded is told and left out.
package blobs

import (
	"fmt"
	"slices"

	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window"
)

// Encode encodes the window. Equal windows give equal bytes. rep is kept in the head.
func Encode(w *window.Window, rep window.Report) Encoded {
	e := NewEncoder(w.Node, w.Start, w.Length, w.Times, rep)
	parts := e.Add(w)
	out := e.Finish()
	out.Parts = parts
	return out
}

// Encoder encodes a window a few metrics at a time, for windows that are too large to be held
// whole. It gives the bytes that Encode gives of the whole.
type Encoder struct {
	head     Head
	types    []*encodedType // as in Head.Types
	byKey    map[string]int
	err      error
	arena    []byte // parts' blobs
	scratch  [2][]byte
	instants int32
}

// NewEncoder returns an Encoder of a window at these instants.
func NewEncoder(node window.Node, start, length int64, times []int64, rep window.Report) *Encoder {
	return &Encoder{
		head:     Head{Node: node, Start: start, Length: length, Times: times, Report: rep},
		byKey:    map[string]int{},
		instants: int32(len(times)),
	}
}

// Add encodes the metrics that w knows, in ascending order of their PartID. A type may come several
// times, each time with other metrics known. Types come the first time in ascending order of their
// keys, and every time with the same dictionary and the same presence; else Add returns nothing any
// more, and Err says why.
func (e *Encoder) Add(w *window.Window) (parts []Part) {
	if e.err == nil && !slices.Equal(w.Times, e.head.Times) {
		e.err = fmt.Errorf("window: encode window %d: a part of it has other instants",
			e.head.Start)
	}
	for _, t := range w.Types {
		i := e.number(t)
		if e.err != nil {
			return nil
		}
		for m := range t.Metrics {
			parts = e.metric(parts, t, i, m)
		}
	}
	return parts
}

// Err says why the parts that came are not of one window.
func (e *Encoder) Err() error { return e.err }

// number returns the number of a type in the head.
func (e *Encoder) number(t *window.Type) int {
	if e.err != nil {
		return 0
	}
	i, found := e.byKey[t.Key]
	if !found {
		if i = len(e.types); i > 0 && e.types[i-1].dictionary.Key > t.Key {
			e.err = fmt.Errorf("window: encode window %d: type %s comes after %s", e.head.Start,
				t.Key, e.types[i-1].dictionary.Key)
			return 0
		}
		e.byKey[t.Key] = i
		b := AppendDictionary(nil, t.Dictionary)
		added := &encodedType{
			dictionary: t.Dictionary,
			encoded:    EncodedDictionary{Key: t.Key, Hash: window.HashOf(b), Blob: b},
			live:       t.Live,
			states:     make([]uint64, len(t.Metrics)),
		}
		for m := range added.states {
			added.states[m] = stateStored
		}
		e.types = append(e.types, added)
		return i
	}
	known := e.types[i]
	if !t.Live.Equal(known.live) ||
		t.Dictionary != known.dictionary &&
			window.HashOf(AppendDictionary(nil, t.Dictionary)) != known.encoded.Hash {
		e.err = fmt.Errorf("window: encode window %d: type %s comes with other entities",
			e.head.Start, t.Key)
	}
	return i
}

// metric encodes one metric, if it is known.
func (e *Encoder) metric(parts []Part, t *window.Type, number, metric int) []Part {
	typ, c := e.types[number], t.Columns[metric]
	switch {
	case c == nil:
		typ.states[metric] = stateZero
		return parts
	case !c.Whole():
		return parts
	case c.Present.Empty(len(t.Rows)):
		typ.states[metric] = stateAbsent
		return parts
	}
	p := newPartEncoder(t, metric, e.instants)
	all := piece{0, int32(len(t.Rows))}
	fits := !p.exceedsPiece()
	if fits {
		e.encode(p, all)
		fits = len(e.scratch[Values]) <= PieceBytes && len(e.scratch[Buckets]) <= PieceBytes
	}
	key := t.MetricKey(metric)
	add := func(f Facet, piece int, small bool) {
		id := PartID{Type: number, Metric: metric, Facet: f, Piece: piece}
		parts = append(parts, Part{PartID: id, Key: t.Key, Metric: key, Small: small,
			Blob: e.keep(e.scratch[f])})
	}
	facets := facetsOf(&t.Metrics[metric])
	if fits {
		small := len(e.scratch[Values])+len(e.scratch[Buckets]) <= SmallBytes
		typ.states[metric] = stateStored
		if small {
			typ.states[metric] = stateSmall
		}
		for f := range facets {
			add(Facet(f), 0, small)
		}
		return parts
	}
	starts := p.starts()
	if len(starts) > 0 {
		if typ.starts == nil {
			typ.starts = map[int][]int32{}
		}
		typ.starts[metric] = starts
	}
	for f := range facets {
		for i := range len(starts) + 1 {
			e.encodeFacet(p, pieceOf(starts, i, len(t.Rows)), Facet(f))
			add(Facet(f), i, false)
		}
	}
	return parts
}

// encode encodes all facets of a piece.
func (e *Encoder) encode(p *partEncoder, rows piece) {
	e.encodeFacet(p, rows, Values)
	e.scratch[Buckets] = e.scratch[Buckets][:0]
	if p.m.Kind.IsHistogram() {
		e.encodeFacet(p, rows, Buckets)
	}
}

func (e *Encoder) encodeFacet(p *partEncoder, rows piece, f Facet) {
	if f == Values {
		e.scratch[f] = p.appendValues(e.scratch[f][:0], rows)
	} else {
		e.scratch[f] = p.appendBuckets(e.scratch[f][:0], rows)
	}
}

// keep copies a blob to where it stays.
func (e *Encoder) keep(b []byte) []byte {
	const arenaBytes = 64 << 10
	if cap(e.arena)-len(e.arena) < len(b) {
		e.arena = make([]byte, 0, max(arenaBytes, len(b)))
	}
	from := len(e.arena)
	e.arena = append(e.arena, b...)
	return e.arena[from:len(e.arena):len(e.arena)]
}

// Finish returns the head and the dictionaries; the parts are those that Add returned. Without a
// head it is not a window: see Err.
func (e *Encoder) Finish() Encoded {
	if e.err != nil {
		return Encoded{}
	}
	out := Encoded{Head: e.head.append(nil)}
	out.Head = codec.AppendUvarint(out.Head, uint64(len(e.types)))
	var body []byte
	for _, t := range e.types {
		out.Dictionaries = append(out.Dictionaries, t.encoded)
		out.Head = append(codec.AppendText(out.Head, t.encoded.Key), t.encoded.Hash[:]...)
		body = t.append(body[:0])
		out.Head = append(codec.AppendUvarint(out.Head, uint64(len(body))), body...)
	}
	return out
}

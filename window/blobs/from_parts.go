package blobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// FromParts makes a window of a head and of those parts that are needed. Metrics of which no part
// is given are not in the window, unless the head answers for them; entities in pieces that are
// not given have no values; and histograms of which only Values are given have counts and sums
// and no buckets. types are the numbers of those types of the head that are looked at; nil: all.
//
// What cannot be decoded is left out, and damage says why, one error for each part or dictionary.
func FromParts(account string, h *Head, types []int, find window.Dictionaries,
	parts []StoredPart) (w *window.Window, damage []error) {
	// it does not end
	w, damage, _ = FromPartsContext(context.Background(), account, h, types, find, parts)
	return w, damage
}

// FromPartsContext is FromParts until ctx ends: then it returns ctx's error after one more metric.
func FromPartsContext(
	ctx context.Context, account string, h *Head, types []int, find window.Dictionaries,
	parts []StoredPart,
) (w *window.Window, damage []error, err error) {
	w, opened, damage := h.window(account, types, find)
	compare := func(a, b StoredPart) int { return a.Compare(b.PartID) }
	if !slices.IsSortedFunc(parts, compare) {
		parts = slices.Clone(parts)
		slices.SortStableFunc(parts, compare)
	}
	c := columnReaders.Get().(*columnReader)
	defer c.release()
	for len(parts) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		id, end := parts[0].PartID, 1
		for end < len(parts) && parts[end].Type == id.Type && parts[end].Metric == id.Metric {
			end++
		}
		metric := parts[:end]
		parts = parts[end:]
		if id.Type < 0 || id.Type >= len(opened) {
			damage = append(damage, fmt.Errorf("%w: a part of type %d, the head has %d",
				ErrMalformed, id.Type, len(opened)))
			continue
		}
		t := &opened[id.Type]
		if t.typ == nil { // not asked for, or damage says already what is wrong with it
			continue
		}
		if id.Metric < 0 || id.Metric >= len(t.typ.Columns) || !h.Types[id.Type].Stored(id.Metric) {
			damage = append(damage, fmt.Errorf("%w: a part of metric %d of type %s, which has none",
				ErrMalformed, id.Metric, t.typ.Key))
			continue
		}
		col, errs := c.read(t, id.Metric, int32(len(h.Times)), metric)
		for _, err := range errs {
			damage = append(damage,
				fmt.Errorf("metric %s of type %s: %w", t.typ.Metrics[id.Metric].Name, t.typ.Key,
					err))
		}
		if col != nil {
			t.typ.Columns[id.Metric] = col
		}
	}
	return w, damage, nil
}

// read makes a column of some of its parts, which are in order. It returns nil if there is nothing
// that can be read.
func (c *columnReader) read(t *openType, metric int, instants int32,
	parts []StoredPart) (col *columns.Column, damage []error) {
	c.begin(&t.typ.Metrics[metric], instants)
	n := slices.IndexFunc(parts, func(p StoredPart) bool { return p.Facet != Values })
	if n < 0 {
		n = len(parts)
	}
	values, buckets := parts[:n], parts[n:]
	fail := func(format string, args ...any) {
		damage = append(damage, fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...))
	}
	if len(buckets) > 0 && (!c.m.Kind.IsHistogram() || buckets[len(buckets)-1].Facet != Buckets) {
		fail("it has no such facet")
		buckets = nil
	}
	there := piecePresence{starts: t.starts[metric], rows: len(t.typ.Rows)}
	last, known := -1, 0
	for i := range values {
		v := &values[i]
		if v.Piece < 0 || v.Piece > len(there.starts) || v.Piece == last {
			fail("piece %d of %d is wrong, or there twice", v.Piece, len(there.starts)+1)
			continue
		}
		last = v.Piece
		rows := pieceOf(there.starts, v.Piece, len(t.typ.Rows))
		r := pieceReader{column: c, rows: int(rows.to - rows.from), base: rows.from,
			live: t.typ.Live.Within(rows.from, rows.to, len(t.typ.Rows))}
		if err := r.read(v, buckets); err != nil {
			damage = append(damage, err)
			continue
		}
		known++
		there.add(rows, r.present, r.own)
	}
	for i := range buckets {
		if _, found := slices.BinarySearchFunc(values, buckets[i].Piece, byPiece); !found {
			fail("piece %d has buckets and no values", buckets[i].Piece)
		}
	}
	if known == 0 {
		return nil, damage
	}
	col = c.column(len(buckets) > 0)
	col.Partial = known <= len(there.starts)
	if p, own := there.presence(); own && !p.Equal(t.typ.Live) {
		col.Present = p
	}
	return col, damage
}

func byPiece(p StoredPart, piece int) int { return cmp.Compare(p.Piece, piece) }

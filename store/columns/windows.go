package columns

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Write writes dictionaries, then the rows of the parts, then the head row: who sees that finds the
// rest. A window of usual size is one mutation.
func (g Generation) Write(ctx context.Context, w *window.Window, rep window.Report,
	stamp int64) error {
	enc := blobs.Encode(w, rep)
	if err := g.tables.series.Write(ctx, g.task.Work, w.Node, w.Start,
		enc.Dictionaries); err != nil {
		return err
	}
	parts, first := layout.WindowRows(enc.Parts)
	head := layout.Head{Edition: spans.DrawEdition(calendar.WindowMillis), First: first,
		Blob: enc.Head, Bytes: int64(len(enc.Head))}
	ttl := calendar.TimeLeft(w.Start+calendar.WindowMillis, stamp, g.tables.limits.RawTTL)
	if ttl > 0 {
		ttl = min(ttl, calendar.WindowTTL)
	}
	row := func(part int, at int64, b []byte) rows.Row {
		return rows.Row{Key: []any{w.Node.Account, w.Node.ID, calendar.Hour(w.Start), part, at},
			Values: []any{b}, Stamp: stamp, TTL: ttl}
	}
	list := make([]rows.Row, 0, len(parts)+1)
	for i, b := range parts {
		head.Bytes += int64(len(b))
		list = append(list, row(i+1, w.Start+head.Edition, b))
	}
	list = append(list, row(0, w.Start, head.Append(nil)))
	err := g.task.Engine.Put(ctx, g.task.Work, g.tables.Windows, list...)
	if err != nil {
		return fmt.Errorf("store: write window %d: %w", w.Start, err)
	}
	g.tables.metrics.Bytes.Add(float64(head.Bytes))
	g.tables.metrics.Columns.Add(float64(len(enc.Parts)))
	return nil
}

// WindowHead is the head row of a window.
type WindowHead struct {
	spans.Head
	Window *blobs.Head // nil: it cannot be read
}

// WindowHeads returns the head rows of windows of one hour from … to.
func (g Generation) WindowHeads(ctx context.Context, account string, node uuid.UUID,
	hour, from, to int64) (map[int64]*WindowHead, error) {
	found := map[int64]*WindowHead{}
	query := rows.Query{Table: g.tables.Windows, Key: []any{account, node, hour},
		Equal: []any{0}, From: from, To: to, Columns: []string{"at", "blob"}, Written: "blob"}
	err := g.task.Engine.Read(ctx, g.task.Work, query, func(scan func(...any) bool) bool {
		h := &WindowHead{}
		h.Place = spans.NewPartition(g.tables.Windows, account, node, hour)
		var b []byte
		if !scan(&h.Start, &b, &h.Stamp) {
			return false
		}
		if h.Row, h.Damage = layout.ReadHead(b); h.Damage == nil {
			h.Window, h.Damage = blobs.DecodeHead(h.Start, h.Row.Blob)
		}
		if h.Damage != nil {
			h.Damage = fmt.Errorf("head of window %d: %w", h.Start, h.Damage)
		}
		found[h.Start] = h
		return true
	})
	return found, err
}

// windowParts reads parts of windows of one hour and calls take with each window's start. want has
// what is asked for, by window.
func (g Generation) windowParts(ctx context.Context, account string, node uuid.UUID, hour int64,
	heads map[int64]*WindowHead, want map[int64]map[blobs.PartID]bool,
	take func(start int64, part blobs.StoredPart), bad func(start int64, err error)) error {
	byAt := map[int64]*WindowHead{}
	var numbers []int
	left := map[[2]int64]bool{} // rows by window and number
	for start, ids := range want {
		h := heads[start]
		byAt[h.At()] = h
		for id := range ids {
			row := h.Row.RowOf(id)
			if row < 0 {
				bad(start, fmt.Errorf("%w: no row of window %d has a part that its head names",
					layout.ErrMalformed, start))
				continue
			}
			if !slices.Contains(numbers, row+1) {
				numbers = append(numbers, row+1)
			}
			left[[2]int64{start, int64(row + 1)}] = true
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	slices.Sort(numbers)
	var full error
	query := rows.Query{Table: g.tables.Windows, Key: []any{account, node, hour}, In: numbers,
		From: hour, To: hour + window.HourMillis - 1, Columns: []string{"part", "at", "blob"}}
	err := g.task.Engine.Read(ctx, g.task.Work, query, func(scan func(...any) bool) bool {
		var number int
		var at int64
		var b []byte
		if !scan(&number, &at, &b) {
			return false
		}
		h := byAt[at]
		row := [2]int64{0, int64(number)}
		if h != nil {
			row[0] = h.Start
		}
		if h == nil || !left[row] {
			return true
		}
		delete(left, row)
		ids := want[h.Start]
		for part, err := range layout.Parts(b) {
			if err != nil {
				bad(h.Start, fmt.Errorf("row %d of window %d: %w", number, h.Start, err))
				break
			}
			if !ids[part.PartID] {
				continue
			}
			if full = g.task.Lease.Take(Cost * int64(len(part.Blob))); full != nil {
				return false
			}
			take(h.Start, part)
		}
		return true
	})
	if err == nil {
		err = full
	}
	for row := range left {
		bad(row[0], fmt.Errorf("row %d of window %d is not there", row[1], row[0]))
	}
	return err
}

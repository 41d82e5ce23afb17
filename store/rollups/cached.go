package rollups

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// PendingMillis is how long a coarser rollup that is not there may still be made: until then its
// finer ones are read.
const PendingMillis = 2 * calendar.DayMillis

// Runs of rollups are kept as hours are. A run with any late frame is not: what it was made of may
// lack that frame although the run was made later. Nor is one kept for long. Until the rows of its
// windows expire they say what a run may still be lacking; coarser runs are made of finer ones that
// live longer.

// runLooked is how long what is stored of a run that may be made, or made again, is not looked for
// anew.
const runLooked = 10 * time.Minute

// runColumns are what was read of a run.
type runColumns struct{ *rollup.Run }

// And returns them with others of the same run.
func (c runColumns) And(more spans.Columns) spans.Columns {
	return runColumns{c.JoinTypes(more.(runColumns).Run)}
}

// CachedHeads returns the heads of the runs that begin at from ≤ start ≤ to, those that are kept
// and those that are stored. late are the windows that have late frames.
func (r Runs) CachedHeads(
	ctx context.Context, k *spans.Cached, t *Table, q *spans.Query, from, to int64,
	late map[int64]int64,
) (map[int64]*Head, error) {
	if k == nil {
		return r.Heads(ctx, q.Account, q.Node, t.Level, from, to)
	}
	heads := map[int64]*Head{}
	for at := from; at <= to; at += t.Run {
		if span := k.Get(at, t.Run); span != nil && !k.Lacks(span, at, t.Run, late) &&
			span.Stored != nil {
			heads[at] = &Head{Head: span.Stored, Run: span.Run}
		}
	}
	first, last, n := k.Unknown(from, to, t.Run)
	if n == 0 {
		return heads, nil
	}
	found, err := r.Heads(ctx, q.Account, q.Node, t.Level, first, last)
	for at := first; at <= last && err == nil; at += t.Run {
		if k.Get(at, t.Run) != nil {
			continue
		}
		h := found[at]
		if h != nil {
			heads[at] = h
		}
		if spans.IsLate(late, at, t.Run) {
			continue
		}
		switch {
		case h == nil:
			k.PutNone(at, t.Run, r.runUntil(k, t, at))
		case h.Run != nil && !k.Early(h.Head):
			k.PutRun(at, t.Run, h.Head, h.Run, r.runUntil(k, t, at))
		}
	}
	return heads, err
}

// runUntil returns until when what is stored of a run need not be looked for anew, in ms.
func (r Runs) runUntil(k *spans.Cached, t *Table, start int64) int64 {
	// half an hour before those of the first window expire
	rows := start + calendar.WindowTTL.Milliseconds() - t.Run/2
	switch over := start + t.Run; {
	case t.Level == rollup.FiveMinutes && k.Began < rows:
		return min(rows, k.Began+r.tables.limits.FreshTTL.Milliseconds())
	case k.Began-over < PendingMillis:
		return k.Began + runLooked.Milliseconds()
	}
	return k.Began + r.tables.limits.FreshTTL.Milliseconds()
}

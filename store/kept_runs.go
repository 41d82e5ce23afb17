package store

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/rollup"
)

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

// keptRunHeads returns the heads of the runs that begin at from ≤ start ≤ to, those that are kept
// and those that are stored. late are the windows that have late frames.
func (s task) keptRunHeads(
	ctx context.Context, k *spans.Cached, t *rollupTable, q *spans.Query, from, to int64,
	late map[int64]int64,
) (map[int64]*runHead, error) {
	if k == nil {
		return s.runHeads(ctx, q.Account, q.Node, t.Level, from, to)
	}
	heads := map[int64]*runHead{}
	for at := from; at <= to; at += t.run {
		if span := k.Get(at, t.run); span != nil && !k.Lacks(span, at, t.run, late) &&
			span.Stored != nil {
			heads[at] = &runHead{Head: span.Stored, run: span.Run}
		}
	}
	first, last, n := k.Unknown(from, to, t.run)
	if n == 0 {
		return heads, nil
	}
	found, err := s.runHeads(ctx, q.Account, q.Node, t.Level, first, last)
	for at := first; at <= last && err == nil; at += t.run {
		if k.Get(at, t.run) != nil {
			continue
		}
		h := found[at]
		if h != nil {
			heads[at] = h
		}
		if spans.IsLate(late, at, t.run) {
			continue
		}
		switch {
		case h == nil:
			k.PutNone(at, t.run, s.runUntil(k, t, at))
		case h.run != nil && !k.Early(h.Head):
			k.PutRun(at, t.run, h.Head, h.run, s.runUntil(k, t, at))
		}
	}
	return heads, err
}

// runUntil returns until when what is stored of a run need not be looked for anew, in ms.
func (s task) runUntil(k *spans.Cached, t *rollupTable, start int64) int64 {
	// half an hour before those of the first window expire
	rows := start + calendar.WindowTTL.Milliseconds() - t.run/2
	switch over := start + t.run; {
	case t.Level == rollup.FiveMinutes && k.Began < rows:
		return min(rows, k.Began+s.limits.FreshTTL.Milliseconds())
	case k.Began-over < pendingMillis:
		return k.Began + runLooked.Milliseconds()
	}
	return k.Began + s.limits.FreshTTL.Milliseconds()
}

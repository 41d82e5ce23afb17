package store

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/window/blobs"
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

func (c runColumns) and(more keptColumns) keptColumns {
	return runColumns{c.JoinTypes(more.(runColumns).Run)}
}

// keptRunHeads returns the heads of the runs that begin at from ≤ start ≤ to, those that are kept
// and those that are stored. late are the windows that have late frames.
func (s task) keptRunHeads(
	ctx context.Context, k *keptSpans, t *rollupTable, q *Query, from, to int64,
	late map[int64]int64,
) (map[int64]*runHead, error) {
	if k == nil {
		return s.runHeads(ctx, q.Account, q.Node, t.Level, from, to)
	}
	heads := map[int64]*runHead{}
	for at := from; at <= to; at += t.run {
		if span := k.get(at, t.run); span != nil && !k.lacks(span, at, t.run, late) &&
			span.stored != nil {
			heads[at] = &runHead{storedHead: span.stored, run: span.run}
		}
	}
	first, last, n := k.unknown(from, to, t.run)
	if n == 0 {
		return heads, nil
	}
	found, err := s.runHeads(ctx, q.Account, q.Node, t.Level, first, last)
	for at := first; at <= last && err == nil; at += t.run {
		if k.get(at, t.run) != nil {
			continue
		}
		h := found[at]
		if h != nil {
			heads[at] = h
		}
		if isLate(late, at, t.run) {
			continue
		}
		switch {
		case h == nil:
			k.keep(at, t.run, &keptSpan{until: k.runUntil(t, at)})
		case h.run != nil && !k.early(h.storedHead):
			k.keep(at, t.run, &keptSpan{stored: h.storedHead, run: h.run, until: k.runUntil(t, at),
				has: map[keptColumn][]blobs.PartID{}})
		}
	}
	return heads, err
}

// runUntil returns until when what is stored of a run need not be looked for anew, in ms.
func (k *keptSpans) runUntil(t *rollupTable, start int64) int64 {
	// half an hour before those of the first window expire
	rows := start + calendar.WindowTTL.Milliseconds() - t.run/2
	switch over := start + t.run; {
	case t.Level == rollup.FiveMinutes && k.began < rows:
		return min(rows, k.began+k.limits.FreshTTL.Milliseconds())
	case k.began-over < pendingMillis:
		return k.began + runLooked.Milliseconds()
	}
	return k.began + k.limits.FreshTTL.Milliseconds()
}

package columns

import (
	"context"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
)

// keptHours returns the heads of a node's hours from … to, those that are kept and those that are
// stored, and which windows have late frames.
func (g Generation) keptHours(ctx context.Context, k *spans.Cached,
	q *spans.Query) (hours map[int64]*HourHead, late map[int64]int64, err error) {
	from, to := calendar.Hour(q.From), calendar.Hour(q.To)
	if k == nil {
		if hours, err = g.HourHeads(ctx, q.Account, q.Node, from, to); err == nil {
			late, err = q.LateWindows()
		}
		return hours, late, err
	}
	hours = map[int64]*HourHead{}
	read := func(first, last int64) error {
		found, err := g.HourHeads(ctx, q.Account, q.Node, first, last)
		for at := first; at <= last && err == nil; at += window.HourMillis {
			if k.Get(at, window.HourMillis) != nil {
				continue
			}
			if h := found[at]; h != nil {
				hours[at] = h
				k.Put(at, window.HourMillis, h.Head, h.Hour)
			} else {
				k.NoHour(at)
			}
		}
		return err
	}
	first, last, n := k.Unknown(from, to, window.HourMillis)
	known := int64(n) <= (to-from)/window.HourMillis
	if !known { // nothing is kept: marks are read meanwhile
		if err := read(first, last); err != nil {
			return nil, nil, err
		}
	}
	if late, err = q.LateWindows(); err != nil {
		return nil, nil, err
	}
	if known {
		for at := from; at <= to; at += window.HourMillis {
			if span := k.Get(at, window.HourMillis); span != nil &&
				!k.Lacks(span, at, window.HourMillis, late) && span.Stored != nil {
				hours[at] = &HourHead{Head: span.Stored, Hour: span.Head}
			}
		}
		if first, last, n := k.Unknown(from, to, window.HourMillis); n > 0 {
			if err := read(first, last); err != nil {
				return nil, nil, err
			}
		}
	}
	return hours, late, nil
}

// keptWindows returns the heads of windows of one hour from … to, those that are kept and those
// that are stored.
func (g Generation) keptWindows(ctx context.Context, k *spans.Cached, q *spans.Query,
	hour, from, to int64, late map[int64]int64) (map[int64]*WindowHead, error) {
	if k == nil {
		return g.WindowHeads(ctx, q.Account, q.Node, hour, from, to)
	}
	heads := map[int64]*WindowHead{}
	for at := from; at <= to; at += calendar.WindowMillis {
		if span := k.Get(at, calendar.WindowMillis); span != nil &&
			!k.Lacks(span, at, calendar.WindowMillis, late) && span.Stored != nil {
			heads[at] = &WindowHead{Head: *span.Stored, Window: span.Head}
		}
	}
	first, last, n := k.Unknown(from, to, calendar.WindowMillis)
	if n == 0 {
		return heads, nil
	}
	found, err := g.WindowHeads(ctx, q.Account, q.Node, hour, first, last)
	for at, h := range found {
		if heads[at] == nil {
			heads[at] = h
			k.Put(at, calendar.WindowMillis, &h.Head, h.Window)
		}
	}
	for at := first; at <= last && err == nil; at += calendar.WindowMillis {
		if found[at] == nil && heads[at] == nil {
			k.Expired(at)
		}
	}
	return heads, err
}

package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/window/events"
)

// following is where who follows goes on: in what happened, and in what came late. Neither comes in
// its order: nodes differ in when they tell, and store processes in when they write. So who has all
// that is there goes on some minutes before, and drops what comes again.
type following struct{ happened, late followed }

// followed is a place in an order of events.
type followed struct {
	after events.ID
	since int64 // ms: never before that, since it began there
}

// parseAfter reads after=: an event's id, a time, or next of an answer. Who begins has made a list
// or waited since then, so what came late in the last minutes is told, too.
func parseAfter(text string, now int64) (f following, err error) {
	first, rest, more := strings.Cut(text, ".")
	if f.happened.after, err = events.ParseID(first); err != nil {
		since, err := parseTime("after", text)
		if err != nil {
			return f, badAfter()
		}
		f.happened.after = events.OlderThan(since)
	}
	f.happened.since = f.happened.after.At
	begin := min(now, max(f.happened.since, now-eventsBack.Milliseconds()))
	f.late = followed{events.OlderThan(begin), begin}
	if !more || err != nil {
		return f, nil
	}
	parts := strings.Split(rest, ".")
	if len(parts) != 3 {
		return f, badAfter()
	}
	if f.late.after, err = events.ParseID(parts[1]); err != nil {
		return f, badAfter()
	}
	for of, text := range map[*followed]string{&f.happened: parts[0], &f.late: parts[2]} {
		of.since, err = strconv.ParseInt(text, 10, 64)
		if err != nil || of.since < 0 || of.since > maxTime {
			return f, badAfter()
		}
	}
	return f, nil
}

func badAfter() *Error {
	return bad("bad_after", "after", "after must be an event's id, a time such as "+
		"2026-09-03T00:48:05Z, or next of the answer before, as it came")
}

// String is parseAfter's inverse.
func (f *following) String() string {
	return fmt.Sprintf("%s.%d.%s.%d", f.happened.after, f.happened.since, f.late.after,
		f.late.since)
}

// goOn moves to where a page goes on; nil: it was the last one.
func (f *followed) goOn(next *events.ID, now int64) {
	if next == nil {
		begin := events.OlderThan(max(f.since, now-eventsBack.Milliseconds()))
		next = &begin
	}
	f.after = *next
}

// follow returns what there is behind f, the oldest first, and whether there is more already; it
// moves f on. What came late is bounded by from= and to=, but not by where following began: it is
// news, whenever it happened. It gets half of the limit at most, so that what happens need not wait
// for a backlog; of a limit of 1 it gets what that leaves.
func (of *eventsAsked) follow(ctx context.Context, f *following) (_ []events.Event, more bool,
	_ error) {
	now, limit := of.server.config.Clock().UnixMilli(), of.Limit
	ask := of.Query
	ask.Late, ask.After, ask.From, ask.To = true, &f.late.after, 0, math.MaxInt64
	ask.Limit = max(1, limit/2)
	late, err := of.server.deps.Events(ctx, of.account, ask)
	if err != nil {
		return nil, false, err
	}
	list := slices.DeleteFunc(late.Events, func(e events.Event) bool {
		return e.At < of.From || e.At > of.To ||
			e.ID().Compare(f.happened.after) < 0 // that comes with what happened
	})
	slices.SortFunc(list, func(a, b events.Event) int {
		return cmp.Or(b.ID().Compare(a.ID()), cmp.Compare(a.Cluster, b.Cluster))
	})
	// two store processes may have written one
	list = slices.CompactFunc(list, func(a, b events.Event) bool { return a.ID() == b.ID() })
	if len(list) > 0 {
		of.unknown = nil
	}
	of.Limit = max(1, limit-len(list))
	// Read last: what came late has been written here before it was written there.
	of.After = &f.happened.after
	happened, err := of.read(ctx)
	if err != nil {
		return nil, false, err
	}
	more = late.Next != nil || happened.Next != nil
	f.happened.goOn(happened.Next, now)
	if len(list)+len(happened.Events) > limit { // it is 1
		list = nil
	} else {
		f.late.goOn(late.Next, now)
	}
	return append(list, happened.Events...), more, nil
}

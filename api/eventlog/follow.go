package eventlog

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/window/events"
)

// replaySpan is how far back who follows asks again for what happened. What comes later is
// asked for apart; there is a minute for writing it.
const replaySpan = events.LateAfter + time.Minute

// following is where who follows goes on: in what happened, and in what came late. Neither comes in
// its order: nodes differ in when they tell, and store processes in when they write. So who has all
// that is there goes on some minutes before, and drops what comes again.
type following struct{ happened, late position }

// position is a place in an order of events.
type position struct {
	after events.ID
	since int64 // ms: never before that, since it began there
}

// parseAfter reads after=: an event's id, a time, or next of an answer. Who begins has made a list
// or waited since then, so what came late in the last minutes is told, too.
func parseAfter(text string, now int64) (f following, err error) {
	first, rest, more := strings.Cut(text, ".")
	if f.happened.after, err = events.ParseID(first); err != nil {
		since, err := request.ParseTime("after", text)
		if err != nil {
			return f, badAfter()
		}
		f.happened.after = events.OlderThan(since)
	}
	f.happened.since = f.happened.after.At
	begin := min(now, max(f.happened.since, now-replaySpan.Milliseconds()))
	f.late = position{events.OlderThan(begin), begin}
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
	for at, text := range map[*position]string{&f.happened: parts[0], &f.late: parts[2]} {
		at.since, err = strconv.ParseInt(text, 10, 64)
		if err != nil || at.since < 0 || at.since > request.MaxTime {
			return f, badAfter()
		}
	}
	return f, nil
}

func badAfter() *listener.Error {
	return refusal.Bad("bad_after", "after", "after must be an event's id, a time such as "+
		"2026-09-03T00:48:05Z, or next of the answer before, as it came")
}

// String is parseAfter's inverse.
func (f *following) String() string {
	return fmt.Sprintf("%s.%d.%s.%d", f.happened.after, f.happened.since, f.late.after,
		f.late.since)
}

// goOn moves to where a page goes on; nil: it was the last one.
func (f *position) goOn(next *events.ID, now int64) {
	if next == nil {
		begin := events.OlderThan(max(f.since, now-replaySpan.Milliseconds()))
		next = &begin
	}
	f.after = *next
}

// follow returns what there is behind f, the oldest first, and whether there is more already; it
// moves f on. What came late is bounded by from= and to=, but not by where following began: it is
// news, whenever it happened. It gets half of the limit at most, so that what happens need not wait
// for a backlog; of a limit of 1 it gets what that leaves.
func (q *question) follow(ctx context.Context, f *following) (_ []events.Event, more bool,
	_ error) {
	now, limit := q.clock().UnixMilli(), q.query.Limit
	ask := q.query
	ask.Late, ask.After, ask.From, ask.To = true, &f.late.after, 0, math.MaxInt64
	ask.Limit = max(1, limit/2)
	late, err := q.read(ctx, q.account, ask)
	if err != nil {
		return nil, false, err
	}
	list := slices.DeleteFunc(late.Events, func(e events.Event) bool {
		return e.At < q.query.From || e.At > q.query.To ||
			e.ID().Compare(f.happened.after) < 0 // that comes with what happened
	})
	slices.SortFunc(list, func(a, b events.Event) int {
		return cmp.Or(b.ID().Compare(a.ID()), cmp.Compare(a.Cluster, b.Cluster))
	})
	// two store processes may have written one
	list = slices.CompactFunc(list, func(a, b events.Event) bool { return a.ID() == b.ID() })
	if len(list) > 0 {
		q.unknown = nil
	}
	q.query.Limit = max(1, limit-len(list))
	// Read last: what came late has been written here before it was written there.
	q.query.After = &f.happened.after
	happened, err := q.page(ctx)
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

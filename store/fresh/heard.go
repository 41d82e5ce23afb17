package fresh

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/rows"
)

// A node's newest frame is the one with the latest time. But a frame that is dated ahead of its
// arrival counts from when it arrived, so that a wrong clock or a hostile sender hides nothing that
// comes later. Rows of fresh are in the order of the frames' own times. So the search ends at the
// first row that is not dated ahead: all rows after it are older.

const (
	// onTimeMillis is how far a frame may be dated ahead of its arrival and still count from its
	// own time: what the clocks of nodes that keep time, and of ingest, differ by.
	onTimeMillis = 2_000
	// furthestMillis is how far ahead ingest takes frames.
	furthestMillis = 600_000
	// silentMillis is after how long without a frame of the present windows those ahead are looked
	// into.
	silentMillis = 60_000
)

// heard is a frame's own time, and by when the node was heard of by it, in ms.
type heard struct{ at, by int64 }

// heardAt returns when a node was heard of by a frame of at. received is 0 for a row of an earlier
// version.
func heardAt(at, received int64) heard {
	if received > 0 && at > received+onTimeMillis {
		return heard{at, received}
	}
	return heard{at, at}
}

func (h heard) ahead() bool { return h.at != h.by }

// HeardBy is when a node is heard of by a frame that is received now or was then.
func HeardBy(h *frame.Header, received time.Time) int64 {
	return heardAt(h.At, received.UnixMilli()).by
}

// newestOf looks through a window for the newest frame; the zero heard if there is none.
func (s *Frames) newestOf(ctx context.Context, w rows.Work, account string, node uuid.UUID,
	window int64) (heard, error) {
	var best heard
	query := rows.Query{Table: s.table, Key: []any{account, node, window},
		Columns: []string{"at", "received"}, Page: 1000}
	err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
		var at, received int64
		if !scan(&at, &received) {
			return false
		}
		h := heardAt(at, received)
		if h.by > best.by {
			best = h
		}
		return h.ahead()
	})
	return best, err
}

// presentWindows are those that may have frames of the last 15 minutes which are not dated ahead,
// newest first; aheadWindows those that only frames dated ahead can be in.
func presentWindows(now int64) (list []int64) {
	for w := frame.WindowOf(now + onTimeMillis); w >
		now-recentMillis-frame.WindowMillis; w -= frame.WindowMillis {
		list = append(list, w)
	}
	return list
}

func aheadWindows(now int64) (list []int64) {
	for w := frame.WindowOf(now + furthestMillis); w >
		frame.WindowOf(now+onTimeMillis); w -= frame.WindowMillis {
		list = append(list, w)
	}
	return list
}

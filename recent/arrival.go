package recent

import "time"

// aheadMillis is how far a frame may be dated ahead of its arrival and still count from its own
// time: what the clocks of nodes that keep time, and of ingest, differ by.
const aheadMillis = 2_000

// seenAt returns when a node was heard of by a frame, in ms: the frame's own time, but when it
// arrived if it is dated ahead of that. So a frame from the future is the newest only until the
// next one arrives.
func seenAt(at int64, received time.Time) int64 {
	if came := received.UnixMilli(); at > came+aheadMillis {
		return came
	}
	return at
}

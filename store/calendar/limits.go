package calendar

import (
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

// Limits say how long what lives, and how long what may take. The store's Config has the reasons.
type Limits struct {
	RawTTL                          time.Duration // of closed windows
	FiveMinutesTTL, HourTTL, DayTTL time.Duration // of rollups
	EventsTTL                       time.Duration // of what happened on nodes
	FreshTTL                        time.Duration // of frames
	Grace                           time.Duration // for which a window waits for late frames
	Timeout                         time.Duration // of one query
}

// WindowTTL is how long the rows of closed windows live: an hour is made within the one after it,
// and a third is for what is late.
const WindowTTL = 3 * time.Hour

// MarkTTL is how long a mark of a late frame lives. That is longer than frames live, so that a mark
// that is written once for several frames outlives the last of them; see MarkAgain.
func (l *Limits) MarkTTL() time.Duration { return 2 * l.FreshTTL }

// MarkAgain is after how long a window that gets another late frame is marked again.
func (l *Limits) MarkAgain() time.Duration { return l.Timeout }

// Covers reports whether columns made from frames that were read at stamp (microseconds) have every
// frame that a mark (milliseconds) stands for. Such a frame began to be written within MarkAgain of
// the mark and was written a Timeout later, by a clock that may be another Timeout behind.
func (l *Limits) Covers(marked, stamp int64) bool {
	return stamp/1000-marked > (l.MarkAgain() + 2*l.Timeout).Milliseconds()
}

// LateFrom returns from when on a frame of a window counts as late, in milliseconds since the Unix
// epoch: so long before the window can be closed that a write which begins earlier has ended by
// then (Timeout), on a process whose clock is behind by as much.
func (l *Limits) LateFrom(start int64) int64 {
	return start + WindowMillis + (l.Grace - 2*l.Timeout).Milliseconds()
}

// Settled reports whether a window could have been closed at an instant, by whatever clock: a frame
// of it that comes later has a mark.
func (l *Limits) Settled(start, at int64) bool {
	return start+WindowMillis+(l.Grace+2*l.Timeout).Milliseconds() <= at
}

// Expired reports whether rows of what was until end (milliseconds since the Unix epoch) would have
// no time left when they are written at stamp (microseconds).
func Expired(end, stamp int64, ttl time.Duration) bool {
	return time.Duration(stamp-end*1000)*time.Microsecond >= ttl
}

// TimeLeft returns the TTL of rows that hold what was until end (milliseconds since the Unix epoch)
// and are written at stamp (microseconds): 0, the table's own, for what comes in time; for what is
// loaded or corrected later than an engine divides the table's rows by, which would else live too
// long, what is left of it.
func TimeLeft(end, stamp int64, ttl time.Duration) time.Duration {
	age := time.Duration(stamp-end*1000) * time.Microsecond
	if age <= ttl/rows.AgeParts {
		return 0
	}
	return max(time.Second, (ttl - age).Truncate(time.Second))
}

package calendar

import (
	"sync/atomic"
	"time"
)

const (
	// ClocksDiffer is by how much the clocks of our own processes may differ.
	ClocksDiffer = time.Minute
	// AheadMillis is the same in milliseconds: how far ahead of a process's clock another one's
	// windows may be.
	AheadMillis = int64(ClocksDiffer / time.Millisecond)
)

// Clock is the time of a process. It may be read by many goroutines.
type Clock struct {
	now     func() time.Time
	stamped atomic.Int64 // the last of Stamp
}

// NewClock returns a clock that shows what now says.
func NewClock(now func() time.Time) *Clock { return &Clock{now: now} }

// Now returns the time.
func (c *Clock) Now() time.Time { return c.now() }

// Millis returns the time in milliseconds since the Unix epoch.
func (c *Clock) Millis() int64 { return c.now().UnixMilli() }

// Stamp returns the write time of what is made of a reading that begins now, in microseconds since
// the Unix epoch: the time, but never the same twice.
func (c *Clock) Stamp() int64 {
	for {
		last := c.stamped.Load()
		now := max(c.now().UnixMicro(), last+1)
		if c.stamped.CompareAndSwap(last, now) {
			return now
		}
	}
}

package files

import (
	"sync/atomic"
	"time"
)

// stamps gives rows that have none their write times.
type stamps struct {
	now  func() time.Time
	last atomic.Int64 // that was given, µs since the Unix epoch
}

// wrongClock is how far the clock may be behind the last write time, and no more is said.
const wrongClock = time.Minute

// aheadMicros is how far a write time may be ahead of the clock to be taken for one that the clock
// gave before it went back.
const aheadMicros = int64(366 * 24 * 3600 * 1e6)

// next returns a write time: the clock, but always later than the last, so that a clock that went
// back hides nothing new behind what is older.
func (s *stamps) next() int64 {
	for {
		last := s.last.Load()
		now := max(s.now().UnixMicro(), last+1)
		if s.last.CompareAndSwap(last, now) {
			return now
		}
	}
}

// given says that a write time was given before.
func (s *stamps) given(stamp int64) {
	if stamp < s.now().UnixMicro()+aheadMicros {
		s.last.Store(max(s.last.Load(), stamp))
	}
}

// behind returns by how much the clock is behind the last write time, if that is so much that
// somebody should know; else 0.
func (s *stamps) behind() time.Duration {
	by := time.Duration(s.last.Load()-s.now().UnixMicro()) * time.Microsecond
	if by <= wrongClock {
		return 0
	}
	return by
}

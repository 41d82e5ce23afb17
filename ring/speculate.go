package ring

import (
	"sync/atomic"
	"time"
)

// latency is how long replicas took for a table's requests lately, in steps of a fifth, over the
// last ten to twenty seconds.
type latency struct {
	windows [2]window
	turned  atomic.Int64 // when the windows changed places
	current atomic.Int32
	cached  cachedPercentile
}

type window [latencySteps]atomic.Uint32

type cachedPercentile struct{ at, value atomic.Int64 }

const (
	latencySteps  = 96
	latencyLeast  = 50 * time.Microsecond
	latencyStep   = 1.2 // the last step is beyond half an hour
	latencyWindow = 10 * time.Second
	latencyFresh  = 100 * time.Millisecond // a percentile is computed no more often
	latencyEnough = 20                     // answers, before a percentile means anything
)

// latencyEnds are the steps' upper ends.
var latencyEnds = func() (ends [latencySteps]time.Duration) {
	end := float64(latencyLeast)
	for i := range ends {
		ends[i] = time.Duration(end)
		end *= latencyStep
	}
	return ends
}()

func newLatency() *latency { return &latency{} }

// add counts one answer.
func (l *latency) add(now int64, took time.Duration) {
	if turned := l.turned.Load(); now-turned > int64(latencyWindow) &&
		l.turned.CompareAndSwap(turned, now) {
		next := 1 - l.current.Load()
		for i := range l.windows[next] {
			l.windows[next][i].Store(0)
		}
		l.current.Store(next)
	}
	low, high := 0, latencySteps-1
	for low < high {
		if mid := (low + high) / 2; took <= latencyEnds[mid] {
			high = mid
		} else {
			low = mid + 1
		}
	}
	l.windows[l.current.Load()][low].Add(1)
}

// percentile returns what share of the answers took no longer than; 0 while there are too few.
func (l *latency) percentile(now int64, share float64) time.Duration {
	c := &l.cached
	if at := c.at.Load(); at != 0 && now-at < int64(latencyFresh) ||
		!c.at.CompareAndSwap(at, max(now, 1)) {
		return time.Duration(c.value.Load())
	}
	var counts [latencySteps]uint64
	total := uint64(0)
	for w := range l.windows {
		for i := range counts {
			n := uint64(l.windows[w][i].Load())
			counts[i] += n
			total += n
		}
	}
	value := time.Duration(0)
	if total >= latencyEnough {
		rank := uint64(share * float64(total))
		for i, n := range counts {
			if rank < n {
				value = latencyEnds[i]
				break
			}
			rank -= n
		}
	}
	c.value.Store(int64(value))
	return value
}

// unknownDelay is when a group is raced whose table has too few answers for a percentile.
const unknownDelay = 15 * time.Millisecond

// after is how long a group of a table is waited for before it is raced.
func (s speculation) after(now int64, l *latency) time.Duration {
	if s.percentile == 0 {
		return s.delay
	}
	d := l.percentile(now, s.percentile)
	if d == 0 {
		d = unknownDelay
	}
	return max(d, s.floor)
}

// budget bounds races to a share of all requests: each request earns a share of one, and a race
// costs one. What is not used is kept, up to raceBurst.
type budget struct {
	share  int64 // in millionths
	earned atomic.Int64
}

// raceBurst is how many races may begin at once: what is in the air when a node hangs.
const raceBurst = 100

func newBudget(share float64) *budget {
	b := &budget{share: int64(share * 1e6)}
	if b.share > 0 {
		b.earned.Store(raceBurst * 1e6)
	}
	return b
}

func (b *budget) earn() {
	if b.share > 0 && b.earned.Add(b.share) > raceBurst*1e6 {
		b.earned.Store(raceBurst * 1e6)
	}
}

// spend takes n races, all or none.
func (b *budget) spend(n int) bool {
	cost := int64(n) * 1e6
	if b.earned.Add(-cost) < 0 {
		b.earned.Add(cost)
		return false
	}
	return true
}

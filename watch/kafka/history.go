package kafka

import "time"

const (
	// points is how many end offsets are remembered of a partition: 8 bytes each. With spacing that
	// grows with age, 48 reach back 24 h with steps of about a sixth of the age.
	points = 48
	// remembered is how far back at least, once the cluster has been read for so long.
	remembered = 24 * time.Hour
	unknown    = int64(-1)
)

// clock has the times of the samples, oldest first, in ms. All partitions are sampled together, so
// they share it; each topic has the offsets.
type clock struct {
	times [points]int64
	n     int
}

// next makes room for a sample at now and returns the index of the sample to drop first, or -1.
// now is later than all before.
func (c *clock) next(now int64) (drop int) {
	drop = -1
	switch {
	case c.n > 1 && now-c.times[1] >= remembered.Milliseconds():
		drop = 0
	case c.n == points:
		drop = c.leastNeeded(now)
	}
	if drop >= 0 {
		copy(c.times[drop:c.n], c.times[drop+1:c.n])
		c.n--
	}
	c.times[c.n] = now
	c.n++
	return drop
}

// leastNeeded returns the sample whose neighbours would be closest for their age without it. The
// oldest stays: it is the span.
func (c *clock) leastNeeded(now int64) int {
	best, least := 1, 0.0
	for i := 1; i < c.n-1; i++ {
		gap := float64(c.times[i+1]-c.times[i-1]) / float64(now-c.times[i]+1)
		if i == 1 || gap < least {
			best, least = i, gap
		}
	}
	return best
}

// ends are the end offsets of a topic's partitions at the clock's times: points for each partition,
// ascending, unknown before the first known.
type ends []int64

// of returns the samples of a partition.
func (e ends) of(partition int, c *clock) []int64 {
	return e[partition*points : partition*points+c.n]
}

// add appends a partition's sample, after clock.next has returned drop. An end that is not known is
// taken for what it was.
func (e ends) add(partition, drop int, c *clock, end int64) {
	h := e[partition*points : (partition+1)*points]
	if drop >= 0 {
		copy(h[drop:c.n], h[drop+1:])
	}
	last := unknown
	if c.n > 1 {
		last = h[c.n-2]
	}
	if end == unknown {
		end = last
	}
	h[c.n-1] = end
	if end >= last {
		return
	}
	// The log has been cut: an election let a replica lead that lacked its end.
	for i := c.n - 2; i >= 0 && h[i] > end; i-- {
		h[i] = end
	}
}

// behind returns the time in ms since the end of a partition's log was at the offset, by its
// samples h; beyond says that it was before all samples, and then the time is the span of those
// known. The offset is lower than the last sample.
func (c *clock) behind(h []int64, offset int64) (ms int64, beyond bool) {
	// The last sample at or before the offset. Most groups are near the end.
	n := len(h)
	i := n - 2
	for i >= 0 && i > n-4 && h[i] > offset {
		i--
	}
	if i >= 0 && h[i] > offset {
		low, high := -1, i // h[low] <= offset < h[high]
		for high-low > 1 {
			if middle := (low + high) / 2; h[middle] <= offset {
				low = middle
			} else {
				high = middle
			}
		}
		i = low
	}
	now := c.times[n-1]
	if i < 0 || h[i] == unknown {
		return now - c.times[i+1], true
	}
	at := c.times[i] + int64(float64(c.times[i+1]-c.times[i])*
		(float64(offset-h[i])/float64(h[i+1]-h[i])))
	return now - at, false
}

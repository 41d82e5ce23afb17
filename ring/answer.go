package ring

import (
	"math"
	"math/bits"
	"strings"
	"unsafe"
)

// keep puts an answer into the cache, unless there is one whose read began later, in another
// lane. It copies the key, which may be part of something larger. The caller holds the lock of
// its flights.
func (c *rowCache) keep(key cacheKey, a *answer) {
	if e, ok := c.entries.GetEntryQuietly(key); ok && e.Value.mark == a.mark &&
		e.Value.expires > a.expires {
		return
	}
	key.key = strings.Clone(key.key)
	if int64(weigh(key, a)) > c.most {
		c.entries.Invalidate(key)
		c.metrics.tooLarge.Inc()
		return
	}
	c.entries.Set(key, a)
}

// perAnswer is what an answer takes beside its key and rows: otter's node (64 B), its share of
// the hash table (64 B for 3.75 answers just before it doubles, half as many just after) and of
// the frequency sketch (8 to 16 B), and what we keep. TestBytes holds it against the heap.
const perAnswer = 64 + 26 + 12 + int(unsafe.Sizeof(answer{}))

// weigh is what an answer takes of the heap, in bytes, each row having memory of its own. The
// columns of its rows and the text of its shape are shared.
func weigh(key cacheKey, a *answer) uint32 {
	n := perAnswer + allocated(len(key.key))
	if cap(a.rows) > 0 {
		n += allocated(cap(a.rows) * int(unsafe.Sizeof(Row{})))
	}
	for _, r := range a.rows {
		size := 0
		for _, v := range r.values {
			size += len(v)
		}
		n += allocated(len(r.values)*int(unsafe.Sizeof([]byte{}))) + allocated(size)
	}
	return uint32(min(n, math.MaxUint32))
}

// allocated is about what Go's allocator takes for n bytes: its size classes are 8 or 16 apart,
// then an eighth.
func allocated(n int) int {
	step := 8
	switch {
	case n > 128:
		step = max(16, 1<<(bits.Len(uint(n-1))-4)) // an eighth of the power of two below
	case n > 32:
		step = 16
	}
	return (n + step - 1) / step * step
}

package ring

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/maypok86/otter/v2"
)

// rowCache keeps answers, bounded in bytes. A load of a key that another load is reading waits for
// that read.
//
// What it promises:
//   - An answer is given out for its time to live, which begins before it is read. After forget has
//     named its partition it is not given out any more, also if it was still being read then. Only
//     loads that had joined that read before get it.
//   - Of several loads of one answer in one lane one reads, and the others wait. If the read fails,
//     or its load goes away, the others read for themselves. Nobody waits beyond its own context. A
//     load reads its own keys before it waits for another, so two can wait for each other.
//   - That there is no such partition is an answer, and is kept. A failure never is.
//
// What it costs: a hit takes some 100 ns and no allocation; a miss about 1 µs and one of many
// locks. A row that is kept must have memory of its own: one in the buffer of a page would keep
// the page.
//
// How forget works: the same partition may be kept in many shapes, so forget does not look for
// them. Keys are spread by hash over many counters, the marks. An answer remembers its mark from
// before it was read; forget raises the mark; an answer whose mark has changed does not count,
// and goes when it is read anew or evicted. Other answers of the same mark are forgotten with it.
// They are few, since there are marks in proportion to the bytes.
type rowCache struct {
	entries *otter.Cache[cacheKey, *answer]
	marks   []atomic.Uint32 // a power of two of them
	seed    maphash.Seed
	flights [1 << 6]flights // by the highest bits of the key's hash; marks are by the lowest
	most    int64           // bytes; a larger answer is not kept
	metrics *cacheMetrics
	now     func() time.Time
}

// cacheKey is one answer: shape says what is read of a partition, key is its routing key. A
// handle is as good as its text, takes a word and is compared as one.
type cacheKey struct {
	shape unique.Handle[string]
	key   string
}

// answer is what is kept of one read. Nobody changes it.
type answer struct {
	rows    []Row
	expires int64  // Unix nanoseconds
	mark    uint32 // what marks[at] was before the read began
	at      uint32
}

const (
	bytesPerMark = 1024    // so the marks take 0.4 % of the bytes
	maxMarks     = 1 << 20 // 4 MiB
	minMarks     = 1 << 8
	// A cache of so many answers at least: one that is larger than its part would push out too
	// many others.
	leastAnswers = 16
)

// newRowCache returns a cache of so many bytes. It runs no goroutine but those of evictions,
// which end by themselves.
func newRowCache(bytes int64) (*rowCache, error) {
	n := uint64(min(max(bytes/bytesPerMark, minMarks), maxMarks))
	c := &rowCache{marks: make([]atomic.Uint32, 1<<bits.Len64(n-1)), seed: maphash.MakeSeed(),
		most: bytes / leastAnswers, now: time.Now}
	for i := range c.flights {
		c.flights[i].of = map[flightKey]*flight{}
	}
	var err error
	c.entries, err = otter.New(&otter.Options[cacheKey, *answer]{
		MaximumWeight: uint64(bytes),
		Weigher:       func(k cacheKey, a *answer) uint32 { return weigh(k, a) },
		OnAtomicDeletion: func(e otter.DeletionEvent[cacheKey, *answer]) {
			c.metrics.left(e.Cause)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("ring: a row cache of %d bytes: %w", bytes, err)
	}
	c.metrics = newCacheMetrics(c, bytes)
	return c, nil
}

// shapePrefix is what the shapes of a plan begin with: the table, then its id, so that a table
// made anew under the old name is another, then what is read of it.
func shapePrefix(keyspace, table, id string, columns []Column, where string) string {
	b := append(append(append(append([]byte(nil), keyspace...), '.'), table...), 0)
	b = append(append(b, id...), 0)
	b = binary.AppendUvarint(b, uint64(len(columns)))
	for _, c := range columns {
		b = append(binary.AppendUvarint(b, uint64(len(c.Name))), c.Name...)
	}
	return string(append(binary.AppendUvarint(b, uint64(len(where))), where...))
}

// shapeOf is the shape of a read: all that its answer depends on but the key. args are what
// plan.bind returns.
func shapeOf(prefix string, level gocql.Consistency, args []any) string {
	var scratch [256]byte
	b := append(append(scratch[:0], prefix...), byte(level), byte(level>>8))
	for _, a := range args {
		data := a.(encoded)
		b = append(binary.AppendUvarint(b, uint64(len(data))), data...)
	}
	return string(b)
}

// tableOf is the table of a shape, "keyspace.table".
func tableOf(shape string) string {
	table, _, _ := strings.Cut(shape, "\x00")
	return table
}

// ask says what a load is about.
type ask struct {
	shape string // shapeOf's
	ttl   time.Duration
	fresh bool // neither what is kept nor what is being read already will do; what is read is kept
	// loads of different lanes do not wait for each other: an urgent one must not stand in the
	// throttle's queue with one that is not
	lane Work
}

// load delivers an answer for each of keys, which are routing keys. What is kept it delivers at
// once, what others are reading when they have it, and for the rest it calls fetch. It calls
// deliver in the caller's goroutine.
//
// fetch gets indices of keys, in ascending order. It calls its own deliver once for each, from
// any goroutine, and returns after the last call, soon after its context has ended. A key that it
// leaves out has failed. The rows must have memory of their own. fetch may be called several
// times, also at once, for keys that another load was to read and did not.
func (c *rowCache) load(ctx context.Context, q ask, keys []string,
	fetch func(ctx context.Context, missing []int, deliver func(i int, result Result)),
	deliver func(i int, result Result)) {
	handle := unique.Make(q.shape)
	now := c.now().UnixNano()
	var missing []int
	for i, key := range keys {
		if !q.fresh {
			if a, ok := c.entries.GetIfPresent(cacheKey{handle, key}); ok && c.current(a, now) {
				deliver(i, Result{Rows: a.rows, Cached: true})
				continue
			}
		}
		if missing == nil {
			missing = make([]int, 0, len(keys)-i)
		}
		missing = append(missing, i)
	}
	table := tableOf(q.shape)
	counts := c.metrics.of(table)
	counts.kept.Add(float64(len(keys) - len(missing)))
	if len(missing) > 0 {
		l := &loading{cache: c, ask: q, handle: handle, table: c.hashOf(table), keys: keys,
			fetch: fetch, deliver: deliver, counts: counts}
		l.run(ctx, missing)
	}
}

// forget makes partitions of a table, "keyspace.table", be read anew, whatever is read of them.
// Call it when the write has been acknowledged, or has failed, since it may have happened all the
// same.
func (c *rowCache) forget(table string, keys ...string) {
	h := c.hashOf(table)
	for _, key := range keys {
		c.marks[c.markOf(h, c.hashOf(key))].Add(1)
	}
	c.metrics.forgotten.Add(float64(len(keys)))
}

// current says whether a may be given out.
func (c *rowCache) current(a *answer, now int64) bool {
	return now < a.expires && c.marks[a.at].Load() == a.mark
}

func (c *rowCache) hashOf(text string) uint64 { return maphash.String(c.seed, text) }

func (c *rowCache) markOf(table, key uint64) uint32 {
	return uint32(key^bits.RotateLeft64(table, 7)) & uint32(len(c.marks)-1)
}

// flights are the reads under way of a part of the keys.
type flights struct {
	sync.Mutex
	of map[flightKey]*flight
	_  [48]byte // no two locks on one cache line
}

// flightKey is an answer that a lane reads.
type flightKey struct {
	cacheKey
	lane Work
}

func (c *rowCache) flightsOf(key uint64) *flights { return &c.flights[key>>58] }

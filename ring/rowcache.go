package ring

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"
)

// rowCache keeps answers, bounded in bytes. Who asks for a key that is being read waits for that read.
type rowCache struct {
	entries *otter.Cache[cacheKey, []Row]
}

// cacheKey is one answer: shape says what is read (keyspace, table, columns, where, args, limit), key is the partition's routing key.
type cacheKey struct{ shape, key string }

// load delivers an answer for each key: what it has at once, what others are reading when they have it, and what fetch reads for the rest. fetch gets indices of keys and may
// call its deliver from any goroutine, once for each; load's own deliver is called one at a time, the last call before load returns.
func (c *rowCache) load(ctx context.Context, shape string, keys []string, ttl time.Duration,
	fetch func(ctx context.Context, missing []int, deliver func(i int, result Result)), deliver func(i int, result Result)) {
}

package files

import "sync"

// cache keeps blocks, in two generations: what is used moves to the young one, and when that is
// full the old one is forgotten. It never holds more than its limit.
type cache struct {
	mu         sync.Mutex
	limit      int // bytes of one generation
	weight     int // of the young one
	young, old map[blockID][]byte
}

// blockID is a file's number and where in it a block begins.
type blockID struct{ file, at int64 }

const blockWeight = 100 // of a block in the cache beside its bytes

func newCache(limit int) *cache {
	return &cache{limit: limit / 2, young: map[blockID][]byte{}}
}

func (c *cache) get(k blockID) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b, found := c.young[k]; found {
		return b, true
	}
	b, found := c.old[k]
	if found {
		c.add(k, b)
	}
	return b, found
}

func (c *cache) put(k blockID, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(k, b)
}

func (c *cache) add(k blockID, b []byte) {
	weight := len(b) + blockWeight
	if _, there := c.young[k]; there || weight > c.limit {
		return
	}
	if c.weight+weight > c.limit {
		c.old, c.young, c.weight = c.young, map[blockID][]byte{}, 0
	}
	c.young[k] = b
	c.weight += weight
}

// Package cache keeps what earlier questions found out, in so many bytes: what was not used for
// longest goes first. No Cache changes an answer: whoever takes an entry asks whether it still
// counts.
//
// It imports none of our packages.
package cache

import (
	"fmt"
	"math"

	"github.com/maypok86/otter/v2"
)

// Cache keeps values by key. Its methods may be called from many goroutines. The zero Cache keeps
// nothing.
type Cache[K comparable, V any] struct {
	entries *otter.Cache[K, V] // nil: nothing is kept
	most    int64              // bytes
	size    func(K, V) int64
}

// New returns a Cache of at most so many bytes, where an entry takes size; 0 keeps nothing. what
// says in an error what is kept.
func New[K comparable, V any](what string, most int64, size func(K, V) int64) (Cache[K, V], error) {
	if most <= 0 {
		return Cache[K, V]{}, nil
	}
	entries, err := otter.New(&otter.Options[K, V]{
		MaximumWeight: uint64(most),
		Weigher: func(k K, v V) uint32 {
			return uint32(min(size(k, v), math.MaxUint32/2))
		},
	})
	if err != nil {
		return Cache[K, V]{}, fmt.Errorf("query: keep %d bytes of %s: %w", most, what, err)
	}
	return Cache[K, V]{entries, most, size}, nil
}

// Keeps reports whether anything is kept.
func (c *Cache[K, V]) Keeps() bool { return c.entries != nil }

// Get returns what is kept under a key; the zero value if nothing is.
func (c *Cache[K, V]) Get(k K) (v V) {
	if c.entries != nil {
		v, _ = c.entries.GetIfPresent(k)
	}
	return v
}

// Put keeps a value, unless it alone is more than may be kept: it would be held until the cache
// tidies up.
func (c *Cache[K, V]) Put(k K, v V) {
	if c.entries != nil && c.size(k, v) <= c.most {
		c.entries.Set(k, v)
	}
}

// Package cache remembers what was used lately, by weight. It imports none of ours.
package cache

import "sync"

// Cache is a cache of two generations: what is used moves to the young one, and when that is
// full the old one is forgotten. It never weighs more than its limit, and what was used within the
// last half of it is there. Otter, which other packages use, promises neither: it evicts later, and
// keeps often-used old keys before new ones. Most of ours are windows, of which only new ones
// count.
type Cache[K comparable, V any] struct {
	mu         sync.Mutex
	limit      int // weight of one generation
	weight     int // of the young one
	young, old map[K]weighed[V]
}

type weighed[V any] struct {
	value  V
	weight int
}

// New returns a cache that never weighs more than limit.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: max(1, limit/2), young: map[K]weighed[V]{}}
}

// Get returns the value of a key, and whether there is one.
func (b *Cache[K, V]) Get(k K) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w, found := b.young[k]; found {
		return w.value, true
	}
	w, found := b.old[k]
	if found {
		b.add(k, w)
	}
	return w.value, found
}

// Put adds a value. One that weighs more than half of the limit is not kept.
func (b *Cache[K, V]) Put(k K, v V, weight int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(k, weighed[V]{v, weight})
}

func (b *Cache[K, V]) add(k K, w weighed[V]) {
	if w.weight > b.limit {
		return
	}
	if before, found := b.young[k]; found {
		b.weight -= before.weight
	}
	if b.weight+w.weight > b.limit {
		b.old, b.young, b.weight = b.young, map[K]weighed[V]{}, 0
	}
	b.young[k] = w
	b.weight += w.weight
}

// Drop forgets a value.
func (b *Cache[K, V]) Drop(k K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w, found := b.young[k]; found {
		b.weight -= w.weight
		delete(b.young, k)
	}
	delete(b.old, k)
}

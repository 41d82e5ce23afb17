// Package results keeps what range queries were answered, for the next one that asks for more of
// the same. Start with Cache.
//
// What it promises: an account has half of the bytes at most, and who asks for much takes nothing
// from who does not. It does not know whether a Result still counts: whoever takes one asks.
//
// It imports none of our packages but query/series, for what a series costs.
package results

import (
	"container/list"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// Key is all of a question that its steps' values follow from, but for the steps.
type Key struct {
	Account, Scope string // scope: the clusters of the key
	Expr           string
	Step           int64 // ms
	Lookback       time.Duration
}

// Result is what is kept of a question. Nobody changes it. Times are in ms.
type Result struct {
	Fleet    FleetVersion
	Began    int64 // when the oldest of its evaluations began
	From, To int64 // its first step and its last one
	Width    int64 // of what was asked for at most
	Series   promql.Matrix
}

// Between returns the points of steps from from to to, both inclusive.
func (r *Result) Between(from, to int64) promql.Matrix { return Between(r.Series, from, to) }

// What a result takes beside its points, and each series of it, in bytes.
const (
	resultCost = 600
	pointCost  = 16
)

// Cache keeps results in so many bytes, of which one account has half at most. Whoever has
// most loses first, and of that what was not used for longest: so an account that asks for much
// takes nothing from one that does not.
type Cache struct {
	most int64

	mu       sync.Mutex
	bytes    int64
	entries  map[Key]*list.Element // of *cacheEntry
	accounts map[string]*accountResults
}

type accountResults struct {
	bytes int64
	used  *list.List // the newest first
}

type cacheEntry struct {
	key    Key
	result *Result
	bytes  int64
}

// NewCache returns nil if nothing is to be kept.
func NewCache(most int64) *Cache {
	if most <= 0 {
		return nil
	}
	return &Cache{most: most, entries: map[Key]*list.Element{},
		accounts: map[string]*accountResults{}}
}

// Get returns what is kept of a question; nil if nothing is.
func (r *Cache) Get(k Key) *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[k]
	if e == nil {
		return nil
	}
	r.accounts[k.Account].used.MoveToFront(e)
	return e.Value.(*cacheEntry).result
}

// Put keeps a result in the place of what is kept, unless it is too large.
func (r *Cache) Put(k Key, of *Result) {
	bytes := resultCost + int64(len(k.Account)+len(k.Scope)+len(k.Expr)) + PointsBytes(of.Series)
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[k]; e != nil {
		r.remove(e)
	}
	if bytes > r.most/2 {
		return
	}
	a := r.accounts[k.Account]
	for a != nil && a.bytes > 0 && a.bytes+bytes > r.most/2 {
		r.remove(a.used.Back())
	}
	for r.bytes > 0 && r.bytes+bytes > r.most {
		r.remove(r.largest().used.Back())
	}
	if a = r.accounts[k.Account]; a == nil {
		a = &accountResults{used: list.New()}
		r.accounts[k.Account] = a
	}
	r.entries[k] = a.used.PushFront(&cacheEntry{k, of, bytes})
	a.bytes += bytes
	r.bytes += bytes
}

// Drop forgets a result that does not count any more, unless another one is there by now.
func (r *Cache) Drop(k Key, of *Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[k]; e != nil && e.Value.(*cacheEntry).result == of {
		r.remove(e)
	}
}

// held returns how many bytes are kept.
func (r *Cache) held() int64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes
}

// largest returns the account that has most. The caller holds the lock.
func (r *Cache) largest() (most *accountResults) {
	for _, a := range r.accounts {
		if most == nil || a.bytes > most.bytes {
			most = a
		}
	}
	return most
}

// remove forgets a result. The caller holds the lock.
func (r *Cache) remove(e *list.Element) {
	k := e.Value.(*cacheEntry)
	a := r.accounts[k.key.Account]
	a.used.Remove(e)
	delete(r.entries, k.key)
	a.bytes -= k.bytes
	r.bytes -= k.bytes
	if a.used.Len() == 0 {
		delete(r.accounts, k.key.Account)
	}
}

// FleetVersion tells which nodes and series an account has for a key, and who has left.
type FleetVersion struct{ Nodes, Recorders, Series, Departures uint64 }

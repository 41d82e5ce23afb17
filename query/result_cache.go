package query

import (
	"container/list"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/query/series"
)

// resultKey is all of a question that its steps' values follow from, but for the steps.
type resultKey struct {
	account, scope string // scope: the clusters of the key
	expr           string
	step           int64 // ms
	lookback       time.Duration
}

// cachedResult is what is kept of a question. Nobody changes it. Times are in ms.
type cachedResult struct {
	fleet    fleetVersion
	began    int64 // when the oldest of its evaluations began
	from, to int64 // its first step and its last one
	width    int64 // of what was asked for at most
	series   promql.Matrix
}

// between returns the points of steps from from to to, both inclusive.
func (r *cachedResult) between(from, to int64) promql.Matrix { return between(r.series, from, to) }

// What a result takes beside its points, and each series of it, in bytes.
const (
	resultCost = 600
	pointCost  = 16
)

// pointsBytes is what series take.
func pointsBytes(parts ...promql.Matrix) (bytes int64) {
	for _, m := range parts {
		for i := range m {
			bytes += series.SeriesCost + int64(m[i].Metric.ByteSize()) + pointCost*int64(len(m[i].Floats))
		}
	}
	return bytes
}

// resultCache keeps results in so many bytes, of which one account has half at most. Whoever has
// most loses first, and of that what was not used for longest: so an account that asks for much
// takes nothing from one that does not.
type resultCache struct {
	most int64

	mu       sync.Mutex
	bytes    int64
	of       map[resultKey]*list.Element // of *keptResult
	accounts map[string]*accountResults
}

type accountResults struct {
	bytes int64
	used  *list.List // the newest first
}

type cacheEntry struct {
	key   resultKey
	of    *cachedResult
	bytes int64
}

// newResultCache returns nil if nothing is to be kept.
func newResultCache(most int64) *resultCache {
	if most <= 0 {
		return nil
	}
	return &resultCache{most: most, of: map[resultKey]*list.Element{},
		accounts: map[string]*accountResults{}}
}

func (r *resultCache) get(k resultKey) *cachedResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.of[k]
	if e == nil {
		return nil
	}
	r.accounts[k.account].used.MoveToFront(e)
	return e.Value.(*cacheEntry).of
}

// put keeps a result in the place of what is kept, unless it is too large.
func (r *resultCache) put(k resultKey, of *cachedResult) {
	bytes := resultCost + int64(len(k.account)+len(k.scope)+len(k.expr)) + pointsBytes(of.series)
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.of[k]; e != nil {
		r.remove(e)
	}
	if bytes > r.most/2 {
		return
	}
	a := r.accounts[k.account]
	for a != nil && a.bytes > 0 && a.bytes+bytes > r.most/2 {
		r.remove(a.used.Back())
	}
	for r.bytes > 0 && r.bytes+bytes > r.most {
		r.remove(r.largest().used.Back())
	}
	if a = r.accounts[k.account]; a == nil {
		a = &accountResults{used: list.New()}
		r.accounts[k.account] = a
	}
	r.of[k] = a.used.PushFront(&cacheEntry{k, of, bytes})
	a.bytes += bytes
	r.bytes += bytes
}

// drop forgets a result that does not count any more, unless another one is there by now.
func (r *resultCache) drop(k resultKey, of *cachedResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.of[k]; e != nil && e.Value.(*cacheEntry).of == of {
		r.remove(e)
	}
}

// held returns how many bytes are kept.
func (r *resultCache) held() int64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes
}

// largest returns the account that has most. The caller holds the lock.
func (r *resultCache) largest() (most *accountResults) {
	for _, a := range r.accounts {
		if most == nil || a.bytes > most.bytes {
			most = a
		}
	}
	return most
}

// remove forgets a result. The caller holds the lock.
func (r *resultCache) remove(e *list.Element) {
	k := e.Value.(*cacheEntry)
	a := r.accounts[k.key.account]
	a.used.Remove(e)
	delete(r.of, k.key)
	a.bytes -= k.bytes
	r.bytes -= k.bytes
	if a.used.Len() == 0 {
		delete(r.accounts, k.key.account)
	}
}

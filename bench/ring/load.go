package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// lookups are what is asked for, the same for all sides.
type lookups struct {
	ids  []string
	sets [][]int32 // of different items
}

const distinctLookups = 20_000 // then they begin anew

// newLookups draws lookups; who is popular has nothing to do with the order of the ids.
func newLookups(o options) *lookups {
	r := rand.New(rand.NewPCG(o.seed, 2))
	l := &lookups{ids: make([]string, o.items)}
	for i, at := range r.Perm(o.items) {
		l.ids[i] = itemID(at)
	}
	below := make([]float64, o.items)
	sum := 0.0
	for i := range below {
		sum += math.Pow(float64(i+1), -o.skew)
		below[i] = sum
	}
	for range distinctLookups {
		set := make([]int32, 0, o.keys)
		for len(set) < o.keys {
			i := int32(min(sort.SearchFloat64s(below, r.Float64()*sum), o.items-1))
			if !slices.Contains(set, i) {
				set = append(set, i)
			}
		}
		l.sets = append(l.sets, set)
	}
	return l
}

// round is what a span of load on one side showed.
type round struct {
	side    string
	rate    float64   // offered, lookups a second
	millis  []float64 // ascending; a lookup that failed counts with its time
	failed  int
	error   error         // one of theirs
	gaveUp  bool          // ended early
	client  time.Duration // CPU
	servers time.Duration
	kept    float64 // keys answered by the row cache
	keys    float64
	// requests is what ring sent to nodes.
	requests float64
}

func (r *round) at(q float64) float64 {
	if len(r.millis) == 0 {
		return 0
	}
	return r.millis[min(int(q*float64(len(r.millis))), len(r.millis)-1)]
}

func (r *round) mean() float64 {
	sum := 0.0
	for _, m := range r.millis {
		sum += m
	}
	return sum / float64(max(len(r.millis), 1))
}

// within says whether the round kept p95 within a limit.
func (r *round) within(limit time.Duration) bool {
	return !r.gaveUp && r.failed*100 <= len(r.millis) &&
		r.at(0.95) <= float64(limit)/float64(time.Millisecond)
}

// runner puts load on sides.
type runner struct {
	*cluster
	lookups *lookups
	keys    int
	r       *rand.Rand
	next    atomic.Int64 // of the lookups
	buffers sync.Pool
}

func newRunner(c *cluster, o options) *runner {
	return &runner{cluster: c, lookups: newLookups(o), keys: o.keys,
		r: rand.New(rand.NewPCG(o.seed, 3)),
		buffers: sync.Pool{New: func() any {
			return &buffer{make([]string, o.keys), make([]item, o.keys)}
		}}}
}

type buffer struct {
	ids   []string
	items []item
}

// one does the next lookup.
func (u *runner) one(ctx context.Context, s *side) error {
	b := u.buffers.Get().(*buffer)
	defer u.buffers.Put(b)
	for i, at := range u.lookups.sets[u.next.Add(1)%distinctLookups] {
		b.ids[i] = u.lookups.ids[at]
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return s.lookup(ctx, b.ids, b.items)
}

// open begins lookups at random moments of a rate (lookups a second), whatever becomes of those
// before, and waits for all. A search may end it when as many wait as come in a second: then the
// rate is far too high.
func (u *runner) open(ctx context.Context, s *side, rate float64, span time.Duration,
	searching bool) (*round, error) {
	r := &round{side: s.name, rate: rate}
	var keptBefore, keysBefore float64
	if s.hits != nil {
		keptBefore, keysBefore = s.hits()
	}
	var requestsBefore float64
	if s.requests != nil {
		requestsBefore = s.requests()
	}
	client, servers, err := u.cpu()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var waiting atomic.Int64
	began := time.Now()
	for due := time.Duration(0); ; {
		due += time.Duration(u.r.ExpFloat64() / rate * float64(time.Second))
		if due > span || ctx.Err() != nil {
			break
		}
		if searching && float64(waiting.Load()) > max(rate, 50) {
			r.gaveUp = true
			break
		}
		if wait := due - time.Since(began); wait > 0 {
			time.Sleep(wait)
		}
		at := began.Add(due)
		waiting.Add(1)
		all.Go(func() {
			err := u.one(ctx, s)
			took := time.Since(at)
			waiting.Add(-1)
			mu.Lock()
			defer mu.Unlock()
			r.millis = append(r.millis, float64(took)/float64(time.Millisecond))
			if err != nil {
				r.failed++
				r.error = err
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	clientAfter, serversAfter, err := u.cpu()
	if err != nil {
		return nil, err
	}
	r.client, r.servers = clientAfter-client, serversAfter-servers
	if s.hits != nil {
		kept, keys := s.hits()
		r.kept, r.keys = kept-keptBefore, keys-keysBefore
	}
	if s.requests != nil {
		r.requests = s.requests() - requestsBefore
	}
	slices.Sort(r.millis)
	return r, nil
}

// closed lets a few clients look up one after the other, and returns the lookups a second. It
// warms up, and says about where to search.
func (u *runner) closed(ctx context.Context, s *side, clients int,
	span time.Duration) (float64, error) {
	var done atomic.Int64
	var failure atomic.Pointer[error]
	var all sync.WaitGroup
	began := time.Now()
	for range clients {
		all.Go(func() {
			for time.Since(began) < span && ctx.Err() == nil {
				if err := u.one(ctx, s); err != nil {
					failure.Store(&err)
					continue
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	rate := float64(done.Load()) / time.Since(began).Seconds()
	if rate == 0 {
		if err := failure.Load(); err != nil {
			return 0, *err
		}
	}
	return rate, ctx.Err()
}

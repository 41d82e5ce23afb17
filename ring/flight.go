package ring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unique"
)

// loading is a load that has to read or to wait. The caller's goroutine claims keys, delivers
// answers, waits and gives up. Each fetch has a goroutine of its own, which never waits for the
// caller's: other loads may have joined its reads.
type loading struct {
	ask
	cache   *rowCache
	handle  unique.Handle[string] // of the shape
	table   uint64                // its hash
	keys    []string
	fetch   func(ctx context.Context, missing []int, deliver func(i int, result Result))
	deliver func(i int, result Result)
	counts  *tableCounts

	waits   []wait
	waiting int // those of waits that are not done
	fetches int

	arriving sync.Mutex
	arrived  []arrival
	woken    chan struct{} // holds one when something has arrived
}

// wait is for a key that is being read already.
type wait struct {
	key  int
	done bool
}

// arrival ends a wait or a fetch, or is one of a fetch's answers.
type arrival struct {
	what   what
	at     int // a key that was read, or a wait
	result Result
	after  after
}

type what int

const (
	wasRead what = iota
	wasJoined
	fetchEnded
)

// after says what follows an error that arrives.
type after int

const (
	readOn  after = iota // read the key alone: another load failed to
	joinOn               // read it or join a load that does: the one that read it went away
	believe              // this load read it itself, for the same key given twice: its answer
)

// flight is one key being read. done and joined are guarded by the lock of its cache's flights.
type flight struct {
	by     *loading
	key    flightKey
	hash   uint64
	began  time.Time
	at     uint32
	mark   uint32 // what marks[at] was before the read began
	done   bool
	joined *joiner
}

// joiner is a wait for a flight.
type joiner struct {
	load *loading
	wait int
	next *joiner
}

// errNotRead is the answer for a key that a fetch left out.
var errNotRead = errors.New("ring: the key was not read")

// run reads and waits until all of missing is delivered. It uses missing's memory.
func (l *loading) run(ctx context.Context, missing []int) {
	l.woken = make(chan struct{}, 1)
	l.read(ctx, l.claim(missing, !l.fresh))
	ended := ctx.Done()
	for l.waiting > 0 || l.fetches > 0 {
		select {
		case <-l.woken:
		case <-ended:
			ended = nil
			l.giveUp(fmt.Errorf("ring: while another read of the key was waited for: %w",
				context.Cause(ctx)))
		}
		join, alone := l.take()
		l.read(ctx, l.claim(join, true))
		l.read(ctx, l.claim(alone, false))
	}
}

// claimed are keys that this load reads: their indices, ascending, and their flights.
type claimed struct {
	keys    []int
	flights []flight
}

// claim goes through the keys of list. It delivers what the cache has by now, joins flights that
// are under way where it may, and begins flights for the rest. It uses list's memory.
func (l *loading) claim(list []int, join bool) claimed {
	if len(list) == 0 {
		return claimed{}
	}
	c := l.cache
	began := c.now()
	slices.Sort(list)
	mine := claimed{list[:0], make([]flight, 0, len(list))}
	kept, joined := 0, 0
	for _, i := range list {
		key := flightKey{cacheKey{l.handle, l.keys[i]}, l.lane}
		hash := c.hashOf(key.key)
		at := c.markOf(l.table, hash)
		part := c.flightsOf(hash)
		part.Lock()
		mark := c.marks[at].Load()
		// A read that began before a forget may have the old row: nobody may join it any more.
		if f := part.of[key]; f != nil && (f.by == l || join && f.mark == mark) {
			f.joined = &joiner{l, len(l.waits), f.joined}
			part.Unlock()
			l.waits = append(l.waits, wait{key: i})
			l.waiting++
			joined++
			continue
		}
		if !l.fresh { // another read may have ended since load looked
			if e, ok := c.entries.GetEntryQuietly(key.cacheKey); ok &&
				c.current(e.Value, began.UnixNano()) {
				part.Unlock()
				l.deliver(i, Result{Rows: e.Value.rows, Cached: true})
				kept++
				continue
			}
		}
		mine.keys = append(mine.keys, i)
		mine.flights = append(mine.flights, flight{by: l, key: key, hash: hash, began: began,
			at: at, mark: mark})
		// Others may join this flight, unless there is one that they can join already: then this
		// load reads beside it, because its last read of the key failed. A flight that nobody may
		// join any more is replaced, and its answer is not kept.
		if f := part.of[key]; f == nil || f.mark != mark || l.fresh {
			part.of[key] = &mine.flights[len(mine.flights)-1]
		}
		part.Unlock()
	}
	l.counts.kept.Add(float64(kept))
	l.counts.joined.Add(float64(joined))
	l.counts.read.Add(float64(len(mine.keys)))
	return mine
}

// read fetches what was claimed, beside.
func (l *loading) read(ctx context.Context, mine claimed) {
	if len(mine.keys) == 0 {
		return
	}
	l.fetches++
	l.arriving.Lock()
	l.arrived = slices.Grow(l.arrived, len(mine.keys)+1)
	l.arriving.Unlock()
	go func() {
		defer l.arrive(arrival{what: fetchEnded})
		l.fetchAll(ctx, mine)
	}()
}

// fetchAll ends the flights of what was claimed, whatever fetch does.
func (l *loading) fetchAll(ctx context.Context, mine claimed) {
	var ended atomic.Int32
	end := func(at int, result Result) {
		if l.settle(ctx, &mine.flights[at], result) {
			ended.Add(1)
			l.arrive(arrival{what: wasRead, at: mine.keys[at], result: result})
		}
	}
	defer func() {
		if int(ended.Load()) == len(mine.keys) {
			return
		}
		err := errNotRead
		if ctx.Err() != nil {
			err = fmt.Errorf("ring: %w", context.Cause(ctx))
		}
		for at := range mine.keys {
			end(at, Result{Err: err})
		}
	}()
	l.fetch(ctx, mine.keys, func(i int, result Result) {
		if at, ok := slices.BinarySearch(mine.keys, i); ok {
			end(at, result)
		}
	})
}

// settle ends a flight. It keeps the answer if it may, and gives it to the loads that joined. It
// returns false if the flight had ended before.
func (l *loading) settle(ctx context.Context, f *flight, result Result) bool {
	c := l.cache
	var a *answer
	if result.Err == nil {
		a = &answer{rows: result.Rows, expires: f.began.Add(l.ttl).UnixNano(), mark: f.mark,
			at: f.at}
	}
	part := c.flightsOf(f.hash)
	part.Lock()
	if f.done {
		part.Unlock()
		return false
	}
	f.done = true
	if part.of[f.key] == f {
		delete(part.of, f.key)
		if a != nil && c.current(a, c.now().UnixNano()) {
			c.keep(f.key.cacheKey, a)
		}
	}
	joined := f.joined
	f.joined = nil
	part.Unlock()
	for j := joined; j != nil; j = j.next {
		a := arrival{what: wasJoined, at: j.wait, result: result}
		switch {
		case j.load == l:
			a.after = believe
		case ctx.Err() != nil:
			a.after = joinOn
		}
		j.load.arrive(a)
	}
	return true
}

// arrive is called by others' goroutines and never waits for this load's.
func (l *loading) arrive(a arrival) {
	l.arriving.Lock()
	l.arrived = append(l.arrived, a)
	l.arriving.Unlock()
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// take delivers what has arrived. It returns the keys that have to be read after all: join are
// those for which this load may join another's flight, alone those that it reads itself.
func (l *loading) take() (join, alone []int) {
	l.arriving.Lock()
	list := l.arrived
	l.arrived = nil
	l.arriving.Unlock()
	for _, a := range list {
		switch a.what {
		case wasRead:
			l.deliver(a.at, a.result)
			continue
		case fetchEnded:
			l.fetches--
			continue
		}
		w := &l.waits[a.at]
		if w.done {
			continue // given up
		}
		w.done = true
		l.waiting--
		switch {
		case a.result.Err == nil || a.after == believe:
			l.deliver(w.key, a.result)
		case a.after == joinOn:
			join = append(join, w.key)
		default:
			alone = append(alone, w.key)
		}
	}
	return join, alone
}

// giveUp ends all waits with an error.
func (l *loading) giveUp(err error) {
	for k := range l.waits {
		if w := &l.waits[k]; !w.done {
			w.done = true
			l.waiting--
			l.deliver(w.key, Result{Err: err})
		}
	}
}

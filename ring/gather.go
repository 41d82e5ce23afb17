package ring

import (
	"context"
	"fmt"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// gatherer has reads that come at the same time go to the replicas together. A request costs a replica as much as some twenty small rows in it, so where many reads each miss a few rows, most of
// the work is in the requests. While a read of its kind is under way, the next one waits for it to end, and no longer than Config.Gather, and takes along all that come meanwhile. A read that is
// alone never waits, and a node that hangs holds up nobody for longer than that.
//
// Reads are of one kind when one statement asks for both and the throttle counts them alike.
type gatherer struct {
	reader *Reader
	mu     sync.Mutex
	of     map[readKind]*gathering // only those with a read under way
}

type readKind struct {
	shape string // shapeOf's
	work  Work
}

// gathering is the reads of one kind.
type gathering struct {
	flying int
	next   *trip // what will go together; nil: nothing
}

// trip is several reads that go together. Its members are guarded by the gatherer's lock until it has left.
type trip struct {
	ctx     context.Context
	end     context.CancelFunc
	plan    *plan
	args    []any
	level   gocql.Consistency
	work    Work
	members []*member
	keys    int
	timer   *time.Timer
	waiting int // members that have not gone, guarded by the gatherer's lock
}

// member is one of them. Its caller's goroutine waits and delivers; the trip only leaves answers.
type member struct {
	trip *trip
	set  *keySet
	keys []int // of the set
	due  time.Time

	arriving sync.Mutex
	arrived  []memberAnswer
	woken    chan struct{} // holds one when something has arrived
}

type memberAnswer struct {
	at     int // in the member's keys
	result Result
}

// maxTrip is how many keys make a trip leave at once.
const maxTrip = 1000

// fetch delivers an answer for each of keys, of the set, on the caller's goroutine before it returns.
func (r *Reader) fetch(ctx context.Context, p *plan, args []any, level gocql.Consistency, work Work, shape string, set *keySet, keys []int, deliver func(key int, result Result)) {
	alone := func() { r.newFetch(ctx, p, args, level, work, set, keys, deliver).run() }
	if r.config.Gather == 0 || p.in[0] == "" { // keys that are asked for singly gain nothing by company
		alone()
		return
	}
	kind := readKind{shape: shape}
	if r.admit != nil {
		kind.work = work
	}
	g := &r.gatherer
	g.mu.Lock()
	of := g.of[kind]
	if of == nil {
		of = &gathering{}
		g.of[kind] = of
	}
	if of.flying == 0 {
		of.flying++
		g.mu.Unlock()
		defer g.landed(kind, of)
		alone()
		return
	}
	t := of.next
	if t == nil {
		t = &trip{plan: p, args: args, level: level, work: work}
		t.ctx, t.end = context.WithCancel(context.Background()) // fetch looks after Close itself
		t.timer = time.AfterFunc(r.config.Gather, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if of.next == t {
				g.leave(kind, of)
			}
		})
		of.next = t
	}
	due, _ := ctx.Deadline()
	m := &member{trip: t, set: set, keys: keys, due: due, woken: make(chan struct{}, 1)}
	t.members = append(t.members, m)
	t.waiting++
	if t.keys += len(keys); t.keys >= maxTrip {
		g.leave(kind, of)
	}
	g.mu.Unlock()
	r.metrics.gathered.Inc()
	defer g.gone(of, t)
	m.wait(ctx, deliver)
}

// gone is told that a member waits no longer: the last one ends the trip, and nobody joins it any more.
func (g *gatherer) gone(of *gathering, t *trip) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.waiting--; t.waiting > 0 {
		return
	}
	if of.next == t {
		of.next = nil
		t.timer.Stop()
	}
	t.end()
}

// landed is told that a read has ended.
func (g *gatherer) landed(kind readKind, of *gathering) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of.flying--
	switch {
	case of.next != nil && of.flying == 0:
		g.leave(kind, of)
	case of.next == nil && of.flying == 0:
		delete(g.of, kind)
	}
}

// leave sends what has gathered. The lock is held.
func (g *gatherer) leave(kind readKind, of *gathering) {
	t := of.next
	of.next = nil
	of.flying++
	t.timer.Stop()
	go func() {
		defer g.landed(kind, of)
		t.run(g.reader)
	}()
}

// wanted is where an answer belongs.
type wanted struct {
	member *member
	at     int
	next   int32 // the next one of the same key; -1: none
}

// run reads what the members want, each key once.
func (t *trip) run(r *Reader) {
	defer t.end()
	set := &keySet{routing: make([]string, 0, t.keys), index: make(map[string]int32, t.keys), first: make([]int32, 0, t.keys)}
	places := make([]wanted, 0, t.keys)
	var soonest, latest time.Time
	for _, m := range t.members {
		if soonest.IsZero() || m.due.Before(soonest) {
			soonest = m.due
		}
		if m.due.After(latest) {
			latest = m.due
		}
		for at, k := range m.keys {
			key := m.set.routing[k]
			n, known := set.index[key]
			if !known {
				n = int32(len(set.routing))
				set.index[key], set.routing, set.first = n, append(set.routing, key), append(set.first, -1)
			}
			places = append(places, wanted{m, at, set.first[n]})
			set.first[n] = int32(len(places) - 1)
		}
	}
	all := make([]int, len(set.routing))
	for i := range all {
		all[i] = i
	}
	ctx, cancel := context.WithDeadline(t.ctx, latest)
	defer cancel()
	f := r.newFetch(ctx, t.plan, t.args, t.level, t.work, set, all, func(key int, result Result) {
		for i := set.first[key]; i >= 0; i = places[i].next {
			places[i].member.give(places[i].at, result)
		}
	})
	f.due = soonest // whoever has the least time must not wait the longer for a node that hangs
	f.run()
}

// give leaves an answer; it never waits.
func (m *member) give(at int, result Result) {
	m.arriving.Lock()
	m.arrived = append(m.arrived, memberAnswer{at, result})
	m.arriving.Unlock()
	select {
	case m.woken <- struct{}{}:
	default:
	}
}

// wait delivers what arrives, until all has or the context ends.
func (m *member) wait(ctx context.Context, deliver func(key int, result Result)) {
	done := make([]bool, len(m.keys))
	for left := len(m.keys); left > 0; {
		var ended error
		select {
		case <-m.woken:
		case <-ctx.Done():
			ended = context.Cause(ctx)
		}
		m.arriving.Lock()
		list := m.arrived
		m.arrived = nil
		m.arriving.Unlock()
		for _, a := range list {
			done[a.at] = true
			deliver(m.keys[a.at], a.result)
		}
		if left -= len(list); ended == nil {
			continue
		}
		t := m.trip.plan.table
		for at, key := range m.keys {
			if !done[at] {
				deliver(key, Result{Err: fmt.Errorf("%s.%s could not be read: %w", t.Keyspace, t.Name, ended)})
			}
		}
		return
	}
}

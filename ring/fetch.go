package ring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// fetch is one read's way through the replicas. One goroutine decides (run). Each request to a
// replica has a goroutine of its own, which only asks and hands in the answer (attempt). So no
// key's state is shared, and no caller waits for a call of the driver that does not return.
type fetch struct {
	r         *Reader
	ctx       context.Context
	plan      *plan
	args      []any // behind the key
	level     gocql.Consistency
	work      Work
	set       *keySet
	deliver   func(key int, result Result)
	topology  *topology
	placement *placement // nil: not known, the driver chooses for each key
	delay     time.Duration

	items  []item
	itemOf []int32 // by key of the set: its item; -1: none
	open   int     // items that are not done
	queue  []*attempt
	flying []*attempt
	probes []probe
	events chan *attempt
	over   chan struct{} // closed when nobody listens to events any more

	chooser chooser
	checked bool // the table was looked at again
	tally   struct{ found, missing, failed int }
}

// item is a key that is to be read.
type item struct {
	key       int // in the set
	replicas  []int32
	asked     uint64      // replicas that were, as a bit mask
	by        [2]*attempt // that are under way: one, and one more when it is raced
	elsewhere bool        // a node that is no replica was asked
	done      bool
	err       error // the last
}

// maxFlying bounds the requests of one read that are under way, races not counted. Keys that
// cannot be grouped take one each.
const maxFlying = 64

func (r *Reader) newFetch(ctx context.Context, p *plan, args []any, level gocql.Consistency,
	work Work, set *keySet, keys []int, deliver func(key int, result Result)) *fetch {
	f := &fetch{r: r, ctx: ctx, plan: p, args: args, level: level, work: work, set: set,
		deliver: deliver, topology: r.topology.Load()}
	f.placement = f.topology.place(p.table.replication, r.config.Datacenter)
	f.delay = r.speculation.after(r.now(), p.table.latency)
	f.items = make([]item, len(keys))
	f.itemOf = make([]int32, len(set.routing))
	for i := range f.itemOf {
		f.itemOf[i] = -1
	}
	for i, key := range keys {
		f.items[i].key = key
		f.itemOf[key] = int32(i)
		if f.placement != nil {
			f.items[i].replicas = f.placement.of(tokenOf(set.routing[key]))
		}
	}
	f.open = len(keys)
	f.events, f.over = make(chan *attempt, 4), make(chan struct{})
	f.chooser = chooser{
		replicas: func(i int32) []int32 { return f.items[i].replicas },
		hostOf:   func(n int32) *host { return f.topology.nodes[n].host },
		largest:  r.config.GroupKeys,
		rotation: r.rotation.Add(1),
	}
	return f
}

// run delivers an answer for each key before it returns.
func (f *fetch) run() {
	defer f.end()
	all := make([]int32, len(f.items))
	for i := range all {
		all[i] = int32(i)
	}
	if f.placement == nil {
		for i := range all {
			f.enqueue(group{items: all[i : i+1]}, first, 0, false)
		}
	} else {
		f.start(all, first, 0, false)
	}
	var timer *time.Timer
	for f.open > 0 {
		f.launch()
		wait := f.look()
		if f.open == 0 {
			return
		}
		if timer == nil {
			timer = time.NewTimer(wait)
			defer timer.Stop()
		} else {
			timer.Reset(wait)
		}
		select {
		case a := <-f.events:
			f.answered(a)
		case <-timer.C:
		case <-f.ctx.Done():
			f.failAll(context.Cause(f.ctx))
		case <-f.r.living.Done():
			f.failAll(ErrClosed)
		}
	}
}

// end lets go of everything that is under way.
func (f *fetch) end() {
	close(f.over)
	for _, a := range f.flying {
		a.cancel()
	}
	m := f.r.metrics
	m.found.Add(float64(f.tally.found))
	m.missing.Add(float64(f.tally.missing))
	m.failed.Add(float64(f.tally.failed))
}

// start groups items and asks for them. failures is how often they failed together. With alone each
// item has a request of its own.
func (f *fetch) start(items []int32, k kind, failures int, alone bool) {
	now := f.r.now()
	groups, left := f.chooser.group(len(f.topology.nodes), items,
		func(i int32, replicas []int32) uint64 { return f.may(i, replicas, now) })
	for _, g := range groups {
		f.enqueue(g, k, failures, alone)
	}
	for i := 0; i < len(left); {
		it := &f.items[left[i]]
		if !it.elsewhere {
			i++
			continue
		}
		f.fail(left[i], it.err)
		left = slices.Delete(left, i, i+1)
	}
	for from := 0; from < len(left); from += f.r.config.GroupKeys {
		h, ok := f.r.somebody()
		if !ok {
			for _, i := range left[from:] {
				f.fail(i, f.items[i].err)
			}
			return
		}
		some := left[from:min(from+f.r.config.GroupKeys, len(left))]
		for _, i := range some {
			f.items[i].elsewhere = true
		}
		f.enqueue(group{host: h, items: some}, k, failures, alone)
	}
}

// may tells which replicas of an item can be asked now. They are up and were not asked yet. Those
// that are well come first; late ones are taken only if there are no others.
func (f *fetch) may(i int32, replicas []int32, now int64) (mask uint64) {
	var late uint64
	it := &f.items[i]
	for bit, n := range replicas {
		h := f.topology.nodes[n].host
		if bit >= 64 || it.asked&(1<<bit) != 0 || !h.up() {
			continue
		}
		if h.well() {
			mask |= 1 << bit
			continue
		}
		late |= 1 << bit
		if h.mayProbe(now) {
			f.probes = append(f.probes, probe{h, i})
		}
	}
	if mask == 0 {
		return late
	}
	return mask
}

// lots cuts a group into what one statement can ask for.
func (f *fetch) lots(g group, alone bool) (lots [][]int32, part int) {
	if !alone && f.plan.in[0] != "" && f.placement != nil {
		return together(g.items, func(i int32) string { return f.set.routing[f.items[i].key] },
			len(f.plan.table.Key))
	}
	for i := range g.items {
		lots = append(lots, g.items[i:i+1])
	}
	return lots, 0
}

// enqueue makes requests of a group.
func (f *fetch) enqueue(g group, k kind, failures int, alone bool) {
	lots, part := f.lots(g, alone)
	for _, lot := range lots {
		f.queue = append(f.queue, f.newAttempt(g.host, lot, part, k, failures))
	}
}

func (f *fetch) newAttempt(h *host, items []int32, part int, k kind, failures int) *attempt {
	a := &attempt{f: f, host: h, items: items, part: part, kind: k, failures: failures,
		left: len(items)}
	untried := 0
	for _, i := range items {
		it := &f.items[i]
		if it.by[0] == nil {
			it.by[0] = a
		} else {
			it.by[1] = a
		}
		known := false
		for bit, n := range it.replicas {
			if bit < 64 && f.topology.nodes[n].host == h {
				it.asked |= 1 << bit
				known = true
			} else if bit < 64 && it.asked&(1<<bit) == 0 && f.topology.nodes[n].host.up() {
				untried++
			}
		}
		it.elsewhere = it.elsewhere || !known
	}
	if deadline, ok := f.ctx.Deadline(); ok && k != race && untried > 0 {
		a.patience = time.Until(deadline) / time.Duration(1+(untried+len(items)-1)/len(items))
	}
	return a
}

// launch sends what waits, as far as it may.
func (f *fetch) launch() {
	sent := 0
	for _, a := range f.queue {
		if a.kind != race && len(f.flying) >= maxFlying {
			break
		}
		sent++
		if a.left == 0 {
			continue
		}
		a.ctx, a.cancel = context.WithCancel(f.ctx)
		f.flying = append(f.flying, a)
		switch a.kind {
		case first:
			f.r.metrics.first.Inc()
		case again:
			f.r.metrics.again.Inc()
		case race:
			f.r.metrics.races.Inc()
		}
		if a.kind != race {
			f.r.budget.earn()
		}
		go a.run()
	}
	f.queue = f.queue[:copy(f.queue, f.queue[sent:])]
	for _, p := range f.probes {
		go f.r.probe(f, p)
	}
	f.probes = f.probes[:0]
}

// look races what is late and gives up what is very late; it returns when to look again.
func (f *fetch) look() time.Duration {
	now, next := f.r.now(), time.Hour
	for at := 0; at < len(f.flying); at++ {
		a := f.flying[at]
		if a.left == 0 {
			continue
		}
		waited := time.Duration(0)
		// 0: it waits for the throttle, or for its goroutine
		if since := a.progress.Load(); since != 0 {
			waited = time.Duration(now - since)
		}
		if a.patience > 0 {
			if waited >= a.patience {
				f.giveUp(a)
				continue
			}
			next = min(next, a.patience-waited)
		}
		if f.r.speculation.never || a.raced || a.kind == race || a.host == nil {
			continue
		}
		if due := f.delay + a.refusals*max(f.delay, 5*time.Millisecond); waited < due ||
			a.progress.Load() == 0 {
			if since := a.progress.Load(); since == 0 {
				due += time.Millisecond
			}
			next = min(next, max(due-waited, 50*time.Microsecond))
		} else {
			f.race(a, now)
			next = 0
		}
	}
	return next
}

// race asks other replicas for what is left of a late request.
func (f *fetch) race(a *attempt, now int64) {
	var items []int32
	for _, i := range a.items {
		if it := &f.items[i]; !it.done && it.by[1] == nil {
			items = append(items, i)
		}
	}
	groups, _ := f.chooser.group(len(f.topology.nodes), items,
		func(i int32, replicas []int32) (mask uint64) {
			// a node that is left alone is still better than one that is late for this key, too
			var late uint64
			for bit, n := range replicas {
				h := f.topology.nodes[n].host
				switch {
				case bit >= 64 || f.items[i].asked&(1<<bit) != 0 || !h.up():
				case h.well():
					mask |= 1 << bit
				default:
					late |= 1 << bit
				}
			}
			if mask == 0 {
				return late
			}
			return mask
		})
	if len(groups) == 0 { // nobody else has them
		a.raced = true
		return
	}
	requests := 0
	for _, g := range groups {
		lots, _ := f.lots(g, false)
		requests += len(lots)
	}
	if !f.r.budget.spend(requests) {
		if a.refusals == 0 {
			f.r.metrics.refused.Inc()
		}
		a.refusals++
		return
	}
	a.raced = true
	for _, g := range groups {
		f.enqueue(g, race, a.failures, false)
	}
	f.r.metrics.begun.Add(float64(requests))
	// races first
	slices.SortStableFunc(f.queue, func(a, b *attempt) int { return int(b.kind) - int(a.kind) })
	f.launch()
}

// giveUp ends a request whose node has not answered for long: there is just time left to ask
// another.
func (f *fetch) giveUp(a *attempt) {
	a.cancel()
	a.left = 0
	if a.host != nil {
		a.host.wasLate(f.r.now(), lateOften)
	}
	f.r.metrics.errors.WithLabelValues(blames[ofHost]).Inc()
	f.lost(a, ErrLate)
	f.launch()
}

// answered takes what a request brought.
func (f *fetch) answered(a *attempt) {
	if at := slices.Index(f.flying, a); at >= 0 {
		f.flying = slices.Delete(f.flying, at, at+1)
	}
	a.cancel()
	if a.err != nil {
		if a.left == 0 { // others answered, and it was told to end
			return
		}
		a.left = 0
		b := blameOf(a.err)
		f.r.metrics.errors.WithLabelValues(blames[b]).Inc()
		if b == ofHost && a.host != nil && !a.refused {
			weight := int32(1)
			if dead(a.err) {
				weight = lateOften
			}
			a.host.wasLate(f.r.now(), weight)
			f.r.poke()
		}
		f.lost(a, a.err)
		return
	}
	if a.host != nil && a.left > 0 {
		a.host.inTime(f.r.now())
	}
	a.left = 0
	won := false
	for at, i := range a.items {
		if f.items[i].done {
			continue
		}
		won = true
		f.finish(i, a, Result{Rows: a.rows[at]})
	}
	if won && a.kind == race {
		f.r.metrics.won.Inc()
	}
}

// finish delivers an answer; requests that nobody needs any more are ended.
func (f *fetch) finish(i int32, by *attempt, result Result) {
	it := &f.items[i]
	it.done = true
	f.open--
	switch {
	case result.Err != nil:
		f.tally.failed++
	case len(result.Rows) == 0:
		f.tally.missing++
	default:
		f.tally.found++
	}
	for _, other := range it.by {
		if other == nil || other == by {
			continue
		}
		if other.left--; other.left == 0 && other.cancel != nil {
			other.cancel()
			if by != nil && other.kind != race && other.host != nil {
				other.host.wasLate(f.r.now(), 1)
			}
		}
	}
	it.by = [2]*attempt{}
	f.deliver(it.key, result)
}

func (f *fetch) fail(i int32, err error) {
	t := f.plan.table
	if err == nil {
		err = errors.New("no node that owns it is up")
	}
	f.finish(i, nil,
		Result{Err: fmt.Errorf("%s.%s could not be read: %w", t.Keyspace, t.Name, err)})
}

// failAll ends the read: what went wrong before is told too.
func (f *fetch) failAll(err error) {
	for i := range f.items {
		it := &f.items[i]
		if it.done {
			continue
		}
		if it.err != nil {
			f.fail(int32(i), fmt.Errorf("%w, after %w", err, it.err))
		} else {
			f.fail(int32(i), err)
		}
	}
}

// lost is told of a request that brought nothing. It asks again for the keys for which no other
// request is out, elsewhere or fewer at a time.
func (f *fetch) lost(a *attempt, err error) {
	var items []int32
	for _, i := range a.items {
		it := &f.items[i]
		if it.done {
			continue
		}
		it.err = err
		if it.by[0] == a {
			it.by[0] = it.by[1]
		}
		it.by[1] = nil
		if it.by[0] == nil {
			items = append(items, i)
		} else {
			it.by[0].raced = false // and may be raced again
		}
	}
	if len(items) == 0 {
		return
	}
	b := blameOf(err)
	if a.refused || b == ofRequest || f.tableGone(err) {
		for _, i := range items {
			f.fail(i, f.items[i].err)
		}
		return
	}
	if b == ofData && len(a.items) == 1 && invalid(err) { // no replica will have it
		f.fail(items[0], err)
		return
	}
	if b != ofData || len(items) == 1 ||
		a.failures == 0 && !invalid(err) && !errors.Is(err, errStray) {
		failures := a.failures
		if b == ofData {
			failures++
		}
		f.start(items, again, failures, false)
		return
	}
	for _, i := range items {
		f.items[i].asked, f.items[i].elsewhere = 0, false
	}
	if errors.Is(err, errStray) {
		f.start(items, again, 1, true)
		return
	}
	half := len(items) / 2
	f.start(items[:half:half], again, 1, false)
	f.start(items[half:], again, 1, false)
}

// tableGone is for when a node refuses a statement that it has prepared before. It looks at the
// table again, once in a read.
func (f *fetch) tableGone(err error) bool {
	if f.checked || !invalid(err) {
		return false
	}
	f.checked = true
	t := f.plan.table
	f.r.tables.doubt(t, f.r.now())
	now, err := f.r.table(f.ctx, t.Keyspace, t.Name)
	if err == nil && now != t {
		err = fmt.Errorf("%w: ask again", errChanged)
	}
	if err == nil || !errors.Is(err, ErrNoTable) && !errors.Is(err, errChanged) {
		return false
	}
	for i := range f.items {
		f.items[i].err = err
	}
	return true
}

var errChanged = errors.New("the table was changed while it was read")

package notify

import (
	"sync"
	"time"
)

// book is what one receiver has still to be told, and what it was told last of each alert. Of an
// alert's changes none is left out and none goes before another; repeats of a state that waits
// already take its place. Its memory is bounded by maxBytes, the remembered alerts included.
type book struct {
	rules  bookRules
	ledger *ledger
	wake   chan struct{} // has one element when there may be something to do

	mu     sync.Mutex
	chains map[string]*chain // by Alert.series
	order  []*chain          // those with steps, in the order in which they came to have some
	bytes  int
}

type bookRules struct {
	maxBytes int
	repeats  bool          // whether the receiver wants a state again while it lasts
	spacing  time.Duration // what late changes of one alert keep at most of their distance
}

// chain is one alert's changes, oldest first.
type chain struct {
	key    string
	steps  []*Alert
	flying bool // the first step is on its way
	seen   time.Time

	told struct {
		state    State
		activeAt int64
		changed  time.Time
		at       time.Time // when the receiver first had it
	}
}

// chainBytes is about what an alert takes that is only remembered.
const chainBytes = 300

// An alert of which nobody has spoken for so long is forgotten, when memory is wanted.
const (
	forgetResolved = time.Hour
	forgetFiring   = 48 * time.Hour
)

func newBook(rules bookRules, l *ledger) *book {
	return &book{rules: rules, ledger: l, wake: make(chan struct{}, 1), chains: map[string]*chain{}}
}

// put takes an alert that is not changed afterwards.
func (b *book) put(a *Alert, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ledger.accepted.Inc()
	key := a.series()
	c := b.chains[key]
	if c == nil {
		if !b.room(chainBytes+a.size(), now) {
			b.ledger.drop("full", 1)
			return
		}
		c = &chain{key: key}
		b.chains[key] = c
		b.bytes += chainBytes
	}
	c.seen = now
	if c.later(a) {
		b.ledger.drop("stale", 1)
		return
	}
	if n := len(c.steps); n > 0 && same(c.steps[n-1], a) {
		b.ledger.drop("repeated", 1)
		if n > 1 || !c.flying {
			b.bytes += a.size() - c.steps[n-1].size()
			c.steps[n-1] = a // newer value, annotations and times
		}
		return
	} else if n == 0 && c.was(a) && !b.rules.repeats {
		b.ledger.drop("repeated", 1)
		return
	}
	if !b.room(a.size(), now) {
		b.ledger.drop("full", 1)
		return
	}
	if len(c.steps) == 0 {
		b.order = append(b.order, c)
	}
	c.steps = append(c.steps, a)
	b.bytes += a.size()
	b.ledger.pending.Inc()
	b.poke()
}

// restore remembers what the receiver was told in an earlier life, or by another process: whoever
// takes an alert over must not tell it again.
func (b *book) restore(a *Alert, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.chains[a.series()]; c != nil {
		if len(c.steps) == 0 && !c.later(a) {
			c.hear(a, now)
			c.seen = now
		}
		return
	}
	if !b.room(chainBytes, now) {
		return
	}
	c := &chain{key: a.series(), seen: now}
	c.hear(a, now)
	b.chains[c.key] = c
	b.bytes += chainBytes
}

func same(a, b *Alert) bool {
	return a.State == b.State && a.ActiveAt.UnixMilli() == b.ActiveAt.UnixMilli()
}

// later says whether a state is known that comes after this one: an alert that has ended fires
// again only as another firing. Two processes may speak of one alert for a moment.
func (c *chain) later(a *Alert) bool {
	state, activeAt := c.told.state, c.told.activeAt
	if n := len(c.steps); n > 0 {
		state, activeAt = c.steps[n-1].State, c.steps[n-1].ActiveAt.UnixMilli()
	}
	of := a.ActiveAt.UnixMilli()
	return state != "" && (of < activeAt ||
		of == activeAt && state == Resolved && a.State == Firing)
}

// was says whether the receiver was told this last.
func (c *chain) was(a *Alert) bool {
	return c.told.state == a.State && c.told.activeAt == a.ActiveAt.UnixMilli()
}

func (c *chain) hear(a *Alert, now time.Time) {
	if !c.was(a) {
		c.told.at, c.told.changed = now, a.changed()
	}
	c.told.state, c.told.activeAt = a.State, a.ActiveAt.UnixMilli()
}

// due is when the first step may go. A receiver groups what it hears: told of the beginning and the
// end at once, Alertmanager would tell people of neither. So late changes keep their distance.
func (c *chain) due(spacing time.Duration) time.Time {
	if c.told.state == "" || c.was(c.steps[0]) {
		return time.Time{}
	}
	return c.told.at.Add(min(max(c.steps[0].changed().Sub(c.told.changed), 0), spacing))
}

// room says whether so many bytes more fit, and forgets what nobody speaks of if they do not.
func (b *book) room(n int, now time.Time) bool {
	if b.bytes+n <= b.rules.maxBytes {
		return true
	}
	for key, c := range b.chains {
		age := now.Sub(c.seen)
		if len(c.steps) == 0 && (age > forgetFiring ||
			age > forgetResolved && c.told.state != Firing) {
			delete(b.chains, key)
			b.bytes -= chainBytes
		}
	}
	return b.bytes+n <= b.rules.maxBytes
}

func (b *book) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// flight is a step on its way.
type flight struct {
	chain *chain
	alert *Alert
	more  bool // a later change of the alert waits
}

// take returns up to n steps that are due, at most one of each alert, or how long to wait for the
// next; 0: until put. hurry takes what is not due, too.
func (b *book) take(now time.Time, n int, hurry bool) (batch []flight, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.order {
		if len(batch) == n {
			break
		}
		if c.flying {
			continue
		}
		if due := c.due(b.rules.spacing); !hurry && due.After(now) {
			if d := due.Sub(now); wait == 0 || d < wait {
				wait = d
			}
			continue
		}
		c.flying = true
		batch = append(batch, flight{chain: c, alert: c.steps[0], more: len(c.steps) > 1})
	}
	return batch, wait
}

// landed ends flights that the receiver has (reason empty) or never will have.
func (b *book) landed(batch []flight, reason string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range batch {
		c := f.chain
		c.flying = false
		c.steps = c.steps[1:]
		b.bytes -= f.alert.size()
		c.hear(f.alert, now) // what was refused is not offered again at each repeat
		if reason == "" {
			b.ledger.sent.Inc()
		} else {
			b.ledger.drop(reason, 1)
		}
		b.ledger.pending.Dec()
	}
	rest := b.order[:0]
	for _, c := range b.order {
		if len(c.steps) > 0 {
			rest = append(rest, c)
		}
	}
	clear(b.order[len(rest):])
	b.order = rest
}

// back ends flights that are tried again.
func (b *book) back(batch []flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range batch {
		f.chain.flying = false
	}
}

// pending is how many steps wait or fly.
func (b *book) pending() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.order {
		n += len(c.steps)
	}
	return n
}

// abandon drops everything that waits.
func (b *book) abandon(reason string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.order {
		n += len(c.steps)
		c.steps, c.flying = nil, false
	}
	b.ledger.drop(reason, n)
	b.ledger.pending.Sub(float64(n))
	b.order, b.chains, b.bytes = nil, map[string]*chain{}, 0
	return n
}

// copy returns a book with the same steps for another receiver, which knows nothing yet.
func (b *book) copy(now time.Time) *book {
	b.mu.Lock()
	var steps []*Alert
	for _, c := range b.order {
		steps = append(steps, c.steps...)
	}
	b.mu.Unlock()
	other := newBook(b.rules, b.ledger)
	for _, a := range steps {
		other.put(a, now)
	}
	return other
}

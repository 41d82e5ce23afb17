package notify

import (
	"sync"
	"time"
)

// queue is what one receiver has still to be told, and what it was told last of each alert. Of an
// alert's changes none is left out and none goes before another; repeats of a state that waits
// already take its place. Its memory is bounded by maxBytes, the remembered alerts included.
type queue struct {
	config queueConfig
	ledger *ledger
	wake   chan struct{} // has one element when there may be something to do

	mu     sync.Mutex
	alerts map[string]*alertQueue // by Alert.series
	// those with changes, in the order in which they came to have some
	order []*alertQueue
	bytes int
}

type queueConfig struct {
	maxBytes int
	repeats  bool          // whether the receiver wants a state again while it lasts
	spacing  time.Duration // what late changes of one alert keep at most of their distance
}

// alertQueue is one alert's changes, oldest first.
type alertQueue struct {
	key     string
	changes []*Alert
	sending bool // the first change is on its way
	seen    time.Time

	told struct {
		state    State
		activeAt int64
		changed  time.Time
		at       time.Time // when the receiver first had it
	}
}

// alertQueueBytes is about what an alert takes that is only remembered.
const alertQueueBytes = 300

// An alert of which nobody has spoken for so long is forgotten, when memory is wanted.
const (
	forgetResolved = time.Hour
	forgetFiring   = 48 * time.Hour
)

func newQueue(rules queueConfig, l *ledger) *queue {
	return &queue{config: rules, ledger: l, wake: make(chan struct{}, 1),
		alerts: map[string]*alertQueue{}}
}

// put takes an alert that is not changed afterwards.
func (b *queue) put(a *Alert, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ledger.accepted.Inc()
	key := a.series()
	c := b.alerts[key]
	if c == nil {
		if !b.room(alertQueueBytes+a.size(), now) {
			b.ledger.drop("full", 1)
			return
		}
		c = &alertQueue{key: key}
		b.alerts[key] = c
		b.bytes += alertQueueBytes
	}
	c.seen = now
	if c.isStale(a) {
		b.ledger.drop("stale", 1)
		return
	}
	if n := len(c.changes); n > 0 && same(c.changes[n-1], a) {
		b.ledger.drop("repeated", 1)
		if n > 1 || !c.sending {
			b.bytes += a.size() - c.changes[n-1].size()
			c.changes[n-1] = a // newer value, annotations and times
		}
		return
	} else if n == 0 && c.isTold(a) && !b.config.repeats {
		b.ledger.drop("repeated", 1)
		return
	}
	if !b.room(a.size(), now) {
		b.ledger.drop("full", 1)
		return
	}
	if len(c.changes) == 0 {
		b.order = append(b.order, c)
	}
	c.changes = append(c.changes, a)
	b.bytes += a.size()
	b.ledger.pending.Inc()
	b.wakeWorker()
}

// restore remembers what the receiver was told in an earlier life, or by another process: whoever
// takes an alert over must not tell it again.
func (b *queue) restore(a *Alert, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.alerts[a.series()]; c != nil {
		if len(c.changes) == 0 && !c.isStale(a) {
			c.setTold(a, now)
			c.seen = now
		}
		return
	}
	if !b.room(alertQueueBytes, now) {
		return
	}
	c := &alertQueue{key: a.series(), seen: now}
	c.setTold(a, now)
	b.alerts[c.key] = c
	b.bytes += alertQueueBytes
}

func same(a, b *Alert) bool {
	return a.State == b.State && a.ActiveAt.UnixMilli() == b.ActiveAt.UnixMilli()
}

// isStale says whether a state is known that comes after this one: an alert that has ended fires
// again only as another firing. Two processes may speak of one alert for a moment.
func (c *alertQueue) isStale(a *Alert) bool {
	state, activeAt := c.told.state, c.told.activeAt
	if n := len(c.changes); n > 0 {
		state, activeAt = c.changes[n-1].State, c.changes[n-1].ActiveAt.UnixMilli()
	}
	of := a.ActiveAt.UnixMilli()
	return state != "" && (of < activeAt ||
		of == activeAt && state == Resolved && a.State == Firing)
}

// isTold says whether the receiver was told this last.
func (c *alertQueue) isTold(a *Alert) bool {
	return c.told.state == a.State && c.told.activeAt == a.ActiveAt.UnixMilli()
}

func (c *alertQueue) setTold(a *Alert, now time.Time) {
	if !c.isTold(a) {
		c.told.at, c.told.changed = now, a.changed()
	}
	c.told.state, c.told.activeAt = a.State, a.ActiveAt.UnixMilli()
}

// due is when the first change may be sent. Alertmanager groups what it gets. If it were told of
// the beginning and the end of an alert at once, it would notify nobody of either. So late changes
// keep their distance in time, up to spacing.
func (c *alertQueue) due(spacing time.Duration) time.Time {
	if c.told.state == "" || c.isTold(c.changes[0]) {
		return time.Time{}
	}
	return c.told.at.Add(min(max(c.changes[0].changed().Sub(c.told.changed), 0), spacing))
}

// room says whether so many bytes more fit, and forgets what nobody speaks of if they do not.
func (b *queue) room(n int, now time.Time) bool {
	if b.bytes+n <= b.config.maxBytes {
		return true
	}
	for key, c := range b.alerts {
		age := now.Sub(c.seen)
		if len(c.changes) == 0 && (age > forgetFiring ||
			age > forgetResolved && c.told.state != Firing) {
			delete(b.alerts, key)
			b.bytes -= alertQueueBytes
		}
	}
	return b.bytes+n <= b.config.maxBytes
}

func (b *queue) wakeWorker() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// delivery is a change on its way.
type delivery struct {
	queue *alertQueue
	alert *Alert
	more  bool // a later change of the alert waits
}

// take returns up to n changes that are due, at most one of each alert, or how long to wait for
// the next; 0: until put. hurry takes what is not due, too.
func (b *queue) take(now time.Time, n int, hurry bool) (batch []delivery, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.order {
		if len(batch) == n {
			break
		}
		if c.sending {
			continue
		}
		if due := c.due(b.config.spacing); !hurry && due.After(now) {
			if d := due.Sub(now); wait == 0 || d < wait {
				wait = d
			}
			continue
		}
		c.sending = true
		batch = append(batch, delivery{queue: c, alert: c.changes[0], more: len(c.changes) > 1})
	}
	return batch, wait
}

// finish ends deliveries that the receiver has (reason empty) or never will have.
func (b *queue) finish(batch []delivery, reason string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range batch {
		c := f.queue
		c.sending = false
		c.changes = c.changes[1:]
		b.bytes -= f.alert.size()
		c.setTold(f.alert, now) // what was refused is not offered again at each repeat
		if reason == "" {
			b.ledger.sent.Inc()
		} else {
			b.ledger.drop(reason, 1)
		}
		b.ledger.pending.Dec()
	}
	rest := b.order[:0]
	for _, c := range b.order {
		if len(c.changes) > 0 {
			rest = append(rest, c)
		}
	}
	clear(b.order[len(rest):])
	b.order = rest
}

// retry ends deliveries that are tried again.
func (b *queue) retry(batch []delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range batch {
		f.queue.sending = false
	}
}

// pending is how many changes wait or are on their way.
func (b *queue) pending() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.order {
		n += len(c.changes)
	}
	return n
}

// dropAll drops everything that waits.
func (b *queue) dropAll(reason string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.order {
		n += len(c.changes)
		c.changes, c.sending = nil, false
	}
	b.ledger.drop(reason, n)
	b.ledger.pending.Sub(float64(n))
	b.order, b.alerts, b.bytes = nil, map[string]*alertQueue{}, 0
	return n
}

// copy returns a queue with the same changes for another receiver, which knows nothing yet.
func (b *queue) copy(now time.Time) *queue {
	b.mu.Lock()
	var steps []*Alert
	for _, c := range b.order {
		steps = append(steps, c.changes...)
	}
	b.mu.Unlock()
	other := newQueue(b.config, b.ledger)
	for _, a := range steps {
		other.put(a, now)
	}
	return other
}

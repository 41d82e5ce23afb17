package throttle

import (
	"sync"
	"time"
)

// class is one workload class in this process.
type class struct {
	name   string
	limits Class
	t      *Throttle

	mu      sync.Mutex
	queue   queue
	budget  budget
	health  observed // since Redis was told last
	arrived float64  // operations since then
	demand  float64  // operations a second
	clients map[string]struct{}
	asked   time.Time // when demand was reckoned last
	last    time.Time // when work came or ended last
	blocked time.Time // since when the head waits for a first lease; zero: it does not
	timer   *time.Timer
}

const maxClients = 1000 // that are told apart as weight

// note counts what comes in. The caller holds c.mu.
func (c *class) note(client string, n float64, now time.Time) {
	c.last = now
	c.arrived += n
	if len(c.clients) < maxClients {
		c.clients[client] = struct{}{}
	}
}

// dispatch lets begin what may. The caller holds c.mu.
func (c *class) dispatch(now time.Time) {
	for {
		w := c.queue.head()
		if w == nil {
			c.blocked = time.Time{}
			return
		}
		if !c.budget.take(w.n, now) {
			c.block(w, now)
			return
		}
		c.blocked = time.Time{}
		c.queue.pop()
		w.tally.begins(w.n, true)
		w.state = admitted
		close(w.ended)
	}
}

// block sees to it that dispatch is called when the head may begin. The caller holds c.mu.
func (c *class) block(w *waiter, now time.Time) {
	b := &c.budget
	switch {
	case b.alone:
		if d := b.wait(w.n); d > 0 {
			c.wakeIn(d)
		}
	case !b.leased(now):
		patience := c.t.config.Timeout
		if c.blocked.IsZero() {
			c.blocked = now
		}
		if now.Sub(c.blocked) >= patience || c.t.over.Load() {
			b.goAlone(now)
			c.wakeIn(time.Millisecond)
			return
		}
		c.wakeIn(patience)
		c.t.ask()
	default:
		c.t.ask()
		c.wakeIn(b.until.Sub(now) + time.Millisecond) // whatever becomes of the asking
	}
}

func (c *class) wakeIn(d time.Duration) {
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.wake)
		return
	}
	c.timer.Reset(d)
}

func (c *class) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dispatch(c.t.config.Clock())
}

// end takes n operations as ended.
func (c *class) end(n float64, took time.Duration, unwell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.t.config.Clock()
	c.last = now
	c.health.n++
	if unwell {
		c.health.failed++
	} else if took > c.limits.TargetLatency {
		c.health.slow++
	}
	c.budget.give(n)
	c.dispatch(now)
}

// asking is what a class tells Redis.
type asking struct {
	*class
	held, taken, cap, used, head, need, demand float64
	weight                                     int // 0: it gives everything back
	health                                     observed
}

// prepare returns what to ask; nil if the class has nothing to do with Redis now.
func (c *class) prepare(now time.Time, leave bool) *asking {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &c.budget
	b.tick(now)
	a := &asking{class: c, health: c.health}
	if c.queue.waiting == 0 && b.used == 0 && (leave || now.Sub(c.last) > c.t.config.Lease) {
		c.demand, c.arrived, c.asked = 0, 0, time.Time{}
		clear(c.clients)
		held := !b.until.IsZero()
		a.taken = b.taken
		b.leave()
		if !held {
			return nil
		}
		return a
	}
	if elapsed := now.Sub(c.asked).Seconds(); !c.asked.IsZero() && elapsed > 0 {
		coming := c.arrived / elapsed
		c.demand = max(coming, (c.demand+coming)/2)
	}
	a.weight = max(1, len(c.clients), len(c.queue.heap))
	c.asked, c.arrived = now, 0
	clear(c.clients)
	a.held, a.taken, a.cap, a.used = b.tokens, b.taken, max(b.slots(now), b.used), b.used
	if w := c.queue.head(); w != nil {
		a.head = w.n
	}
	a.need = min(b.used+c.queue.ops, float64(c.limits.Concurrency))
	a.demand = c.demand + c.queue.ops/c.t.config.Refresh.Seconds()
	return a
}

// answered takes Redis's answer: operations granted, its share of the rate, slots, and how many
// of these to come down to. It says whether anything waits all the same.
func (a *asking) answered(now, until time.Time, granted, share, cap, target float64) bool {
	c := a.class
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.take(a.health)
	if a.weight == 0 {
		return false
	}
	c.budget.grant(now, until, a.taken, granted, share, cap, target)
	c.dispatch(now)
	return c.queue.waiting > 0
}

// press is told the pressure.
func (c *class) press(pressure float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.budget.factor = c.limits.factor(pressure)
}

// failed goes on without Redis.
func (c *class) failed(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.budget.goAlone(now)
	c.dispatch(now)
}

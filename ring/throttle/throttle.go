// Package throttle lets workload classes share a Cassandra: each class has a rate of operations
// and a number of operations at once, over all processes that share a Redis, or in one process
// without. Begin with Throttle. Of our packages it imports ring alone.
//
// What it promises:
//   - In all processes together, by Redis's clock, at most concurrency operations of a class are
//     under way, and over any time t at most burst + rate × t begin, and one request's more. No
//     request waits for Redis: a process that has work takes leases ahead of need, five times a
//     second.
//   - Clients of a class have equal shares, counted in operations. One that asks for everything
//     delays itself alone, whatever process the others ask.
//   - A request waits no longer than its context and its class's max_wait, and is then refused
//     with an Error that says what to do.
//   - While operations are slow or fail, classes shrink in their order, bulk first, each to its
//     floor and never below; they grow again slowly.
//   - Without Redis a process goes on with its last lease's share until that has ended, then with
//     LocalFraction of each limit: never with everything, never with nothing.
//
// What bites:
//   - If one process alone loses Redis, it spends its share a second time, for a lease (1.5 s) at
//     most, and then its fraction. What it spent is taken off when it is back.
//   - A share of concurrency moves between processes within two refreshes. Concurrency should be
//     some times the number of processes.
//   - The first request after a pause of a lease's length waits for one answer of Redis, or
//     Timeout.
//   - Limits are those of the asking process's configuration: give all processes the same.
//
// Cost: Admit and done take 1 to 2 µs together. An asking takes 0.25 ms of Redis's processor for
// a class in which a hundred processes work, less with fewer; five times a second from each of
// them that is an eighth of a core. While a class has no work it takes nothing.
//
// A Throttle by itself, without Redis, is a limiter for one process:
//
//	t, err := throttle.New(throttle.DefaultConfig(), nil, prometheus.NewRegistry())
//	go t.Run(ctx)
//	done, err := t.Admit(ctx, throttle.Work{Class: throttle.Serving, Client: "acme/shop", Keyspace: "shop", Table: "items"}, len(keys))
//	if err != nil { … }
//	began := time.Now()
//	err = read(keys)
//	done(time.Since(began), err)
package throttle

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/ring"
)

// Work says who asks for what.
type Work struct {
	Class      string `json:"class"`  // serving, dashboard, bulk, or one of the configuration's own
	Client     string `json:"client"` // who must not starve others, as account/key
	Keyspace   string `json:"keyspace"`
	Table      string `json:"table"`
	Datacenter string `json:"datacenter"` // that is asked
}

// Throttle admits work. Its methods may be called from many goroutines.
type Throttle struct {
	config  Config
	do      func(context.Context, func(rueidis.Client) error) error
	id      string
	classes map[string]*class
	order   []*class // by name
	most    float64  // the highest pressure
	metrics *metrics
	usage   usage
	kick    chan struct{}
	over    atomic.Bool // Run has ended
	told    time.Time   // the interval that was published last; Run's own

	mu    sync.Mutex
	gauge gauge // of this process, when it is alone; else Redis's
}

// New checks the configuration and registers metrics. do calls a function with a client of Redis,
// as what recent.Reader.Redis returns does; nil: this process is alone and has the whole of each
// class. Nothing is asked before Run.
func New(c Config, do func(context.Context, func(rueidis.Client) error) error,
	reg prometheus.Registerer) (*Throttle, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("throttle: %w", err)
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	t := &Throttle{config: c, do: do, id: hex.EncodeToString(id[:]), classes: map[string]*class{},
		kick: make(chan struct{}, 1)}
	limits := c.classes()
	t.usage.init(&t.config)
	t.metrics = newMetrics(t)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		k := &class{name: name, limits: limits[name], t: t, clients: map[string]struct{}{},
			budget: budget{limits: limits[name], fraction: c.LocalFraction, factor: 1}}
		if do == nil {
			k.budget.solo, k.budget.fraction = true, 1
			k.budget.goAlone(c.Clock())
		}
		t.classes[name] = k
		t.order = append(t.order, k)
		t.most = max(t.most, float64(k.limits.Shrink))
		t.metrics.class(name)
	}
	return t, reg.Register(t.metrics)
}

// In returns what admits the reads of a ring.Reader whose nodes are in a datacenter.
func (t *Throttle) In(datacenter string) ring.Admit {
	return func(ctx context.Context, w ring.Work, keyspace, table string,
		n int) (func(time.Duration, error), error) {
		return t.Admit(ctx, Work{Class: w.Class, Client: w.Client, Keyspace: keyspace,
			Table: table, Datacenter: datacenter}, n)
	}
}

// Admit waits until n operations of w may begin, no longer than ctx or the class's max_wait. done
// must be called once when they have ended, with how long Cassandra took and whether it failed in
// a way that tells of its health: timeouts and overload, not what is wrong with the question. The
// error is an *Error, ErrClass, or ctx's if that was cancelled.
func (t *Throttle) Admit(ctx context.Context, w Work,
	n int) (done func(took time.Duration, err error), err error) {
	c, known := t.classes[w.Class]
	if !known {
		if c = t.classes[t.config.DefaultClass]; c == nil {
			return nil, fmt.Errorf("%w %q: the classes are %s; add it to throttle.classes, or "+
				"set throttle.default_class", ErrClass, w.Class, names(t.classes))
		}
		w.Class = c.name
	}
	if n < 1 {
		return nil, fmt.Errorf("throttle: the request is for %d operations: ask for 1 or more", n)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	began := t.config.Clock()
	if most := min(c.limits.Burst, c.limits.Concurrency); n > most {
		t.refused(c, t.usage.of(w), float64(n), "large")
		return nil, &Error{Class: c.name,
			message: fmt.Sprintf("%d operations at once are more than class %s can ever do: ask "+
				"for at most %d at a time, or raise throttle.classes.%s.burst and concurrency", n,
				c.name, most, c.name)}
	}
	request, err := t.enter(ctx, c, w, float64(n), began)
	if err != nil {
		return nil, err
	}
	t.metrics.waited(c.name, t.config.Clock().Sub(began))
	var once sync.Once
	return func(took time.Duration, err error) {
		once.Do(func() {
			c.end(float64(n), took, t.config.unwell(err))
			request.tally.ended(float64(n), took)
		})
	}, nil
}

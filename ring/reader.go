package ring

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// Reader reads by key. Its methods may be called from many goroutines.
type Reader struct {
	session     *gocql.Session
	config      Config
	level       gocql.Consistency
	speculation speculation
	admit       Admit
	registerer  prometheus.Registerer
	metrics     *metrics
	cache       *rowCache // nil: rows are not kept

	hosts    hosts
	topology atomic.Pointer[topology]
	tables   tables
	plans    struct {
		mu    sync.RWMutex
		known map[string]*plan
	}
	budget   *budget
	rotation atomic.Uint32
	began    time.Time

	seen  seen // of follow's alone
	asked atomic.Pointer[string]
	poked chan struct{}

	living   context.Context
	die      context.CancelFunc
	followed chan struct{}
}

// Connect returns a reader on a session, which stays the caller's; admit may be nil, and so may
// reg. It asks the cluster once for its topology, no longer than ctx and Config.Timeout, and
// follows it until Close. A cluster that does not answer is no error: until it does, reads go
// through the driver's own policy.
func Connect(ctx context.Context, session *gocql.Session, c Config, admit Admit,
	reg prometheus.Registerer) (*Reader, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r := &Reader{session: session, config: c, admit: admit, registerer: reg,
		budget: newBudget(c.SpeculationShare), began: time.Now(), poked: make(chan struct{}, 1),
		followed: make(chan struct{})}
	r.level, _ = gocql.ParseConsistencyWrapper(c.Consistency)
	r.speculation, _ = parseSpeculation(c.Speculation, c.SpeculationFloor)
	r.hosts.byID, r.tables.known, r.plans.known = map[string]*host{}, map[string]*knownTable{},
		map[string]*plan{}
	r.topology.Store(&topology{placements: map[string]*placement{}})
	r.asked.Store(new(string))
	r.metrics = newMetrics(&r.hosts)
	if c.CacheBytes > 0 {
		var err error
		if r.cache, err = newRowCache(c.CacheBytes); err != nil {
			return nil, err
		}
	}
	if reg != nil {
		for i, m := range r.collectors() {
			if err := reg.Register(m); err != nil {
				for _, done := range r.collectors()[:i] {
					reg.Unregister(done)
				}
				return nil, fmt.Errorf("cannot register the reader's metrics: %w: give each "+
					"reader a registerer of its own", err)
			}
		}
	}
	r.living, r.die = context.WithCancel(context.WithoutCancel(ctx))
	once, cancel := context.WithTimeout(ctx, c.Timeout)
	r.look(once)
	cancel()
	go r.follow()
	return r, nil
}

// Close ends what Connect has begun. Reads under way end with ErrClosed.
func (r *Reader) Close() {
	r.die()
	<-r.followed
	if r.registerer != nil {
		for _, m := range r.collectors() {
			r.registerer.Unregister(m)
		}
	}
}

func (r *Reader) collectors() []prometheus.Collector {
	if r.cache == nil {
		return r.metrics.all()
	}
	return append(r.metrics.all(), r.cache.metrics.all()...)
}

// now is the reader's clock, in nanoseconds; never 0.
func (r *Reader) now() int64 { return int64(time.Since(r.began)) + 1 }

// Read answers all keys, in their order. Its error is about the query as a whole (a table or
// column that is not there, a Where that does not parse, a cluster that cannot be asked); then
// there are no results. What is wrong with one key is in its Result.
func (r *Reader) Read(ctx context.Context, q Query, keys []Key) ([]Result, error) {
	results := make([]Result, len(keys))
	if err := r.Stream(ctx, q, keys, func(i int, result Result) {
		results[i] = result
	}); err != nil {
		return nil, err
	}
	return results, nil
}

// Stream calls take once for each key, with its index, as answers come; one call at a time, the
// last before Stream returns. Other answers wait while take runs. When Stream returns an error,
// it has not called take.
func (r *Reader) Stream(ctx context.Context, q Query, keys []Key,
	take func(i int, result Result)) error {
	if r.living.Err() != nil {
		return ErrClosed
	}
	level := q.Consistency
	if level == gocql.Any {
		level = r.level
	} else if err := readable(level); err != nil {
		return fmt.Errorf("consistency %s: %w", level, err)
	}
	if q.Work.Class == "" {
		q.Work.Class = r.config.Class
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.config.Timeout)
		defer cancel()
	}
	begun := time.Now()
	err := r.stream(ctx, &q, level, keys, take, true)
	r.metrics.reads.Observe(time.Since(begun).Seconds())
	return err
}

// stream asks for keys; once more, unless mayRepeat is false, for those whose table was made anew
// meanwhile.
func (r *Reader) stream(ctx context.Context, q *Query, level gocql.Consistency, keys []Key,
	take func(i int, result Result), mayRepeat bool) error {
	p, err := r.plan(ctx, q)
	if err != nil {
		return err
	}
	args, err := p.bind(q)
	if err != nil {
		return err
	}
	set := p.table.encode(keys, func(i int, err error) {
		r.metrics.failed.Inc()
		take(i, Result{Err: err})
	})
	var repeat []int
	deliver := func(key int, result Result) {
		if mayRepeat && result.Err != nil && errors.Is(result.Err, errChanged) {
			for i := set.first[key]; i >= 0; i = set.next[i] {
				repeat = append(repeat, int(i))
			}
			return
		}
		for i := set.first[key]; i >= 0; i = set.next[i] {
			take(int(i), result)
		}
	}
	switch {
	case len(set.routing) == 0:
	case r.cache != nil && p.keptFor > 0:
		about := ask{shape: shapeOf(p.kept, level, args), ttl: p.keptFor, fresh: q.Fresh}
		if r.admit != nil {
			about.lane = q.Work
		}
		r.cache.load(ctx, about, set.routing, func(ctx context.Context, missing []int,
			deliver func(int, Result)) {
			r.newFetch(ctx, p, args, level, q.Work, set, missing, deliver).run()
		}, deliver)
	default:
		all := make([]int, len(set.routing))
		for i := range all {
			all[i] = i
		}
		r.newFetch(ctx, p, args, level, q.Work, set, all, deliver).run()
	}
	if len(repeat) == 0 {
		return nil
	}
	some := make([]Key, len(repeat))
	for i, at := range repeat {
		some[i] = keys[at]
	}
	err = r.stream(ctx, q, level, some, func(i int, result Result) {
		var wrong *KeyError
		if errors.As(result.Err, &wrong) {
			wrong.Index = repeat[i]
		}
		take(repeat[i], result)
	}, false)
	if err != nil {
		for _, at := range repeat {
			take(at, Result{Err: err})
		}
	}
	return nil
}

// somebody is a node of the datacenter that is up, each in turn; nil leaves it to the driver. It
// returns false if all nodes are known and none is up there: others are not asked.
func (r *Reader) somebody() (h *host, ok bool) {
	nodes := r.topology.Load().nodes
	if r.config.Datacenter == "" || len(nodes) == 0 {
		return nil, true
	}
	turn := int(r.rotation.Add(1))
	for i := range nodes {
		n := nodes[(turn+i)%len(nodes)]
		if n.datacenter != r.config.Datacenter || !n.host.up() {
			continue
		}
		if h = n.host; h.well() {
			break
		}
	}
	return h, h != nil
}

// Forget takes partitions out of the row cache, so that the next read sees what was just written;
// call it when the write has ended, well or not. Only this process's. An error tells which keys
// could not be: their rows may be answered from memory until their time is over.
func (r *Reader) Forget(keyspace, table string, keys ...Key) error {
	if r.config.keptFor(keyspace, table) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.living, r.config.Timeout)
	defer cancel()
	t, err := r.table(ctx, keyspace, table)
	if err != nil {
		return err
	}
	var errs []error
	set := t.encode(keys, func(_ int, err error) { errs = append(errs, err) })
	r.cache.forget(t.Keyspace+"."+t.Name, set.routing...)
	return errors.Join(errs...)
}

// Table tells of a table's columns.
func (r *Reader) Table(ctx context.Context, keyspace, table string) (*Table, error) {
	if r.living.Err() != nil {
		return nil, ErrClosed
	}
	if keyspace == "" || table == "" {
		return nil, errors.New("a query needs a keyspace and a table: give both")
	}
	t, err := r.table(ctx, keyspace, table)
	if err != nil {
		return nil, err
	}
	copied := t.Table
	return &copied, nil
}

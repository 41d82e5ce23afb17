package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// The wiring. Every arrow is one call; docs/hops has a section for each.
//
//	agent ──POST──► ingest.Server ──Publish──► Kafka ──┬─ stream.Consumer "store"  ──► store.Writer  ──► Cassandra
//	                                                   ├─ stream.Consumer "recent" ──► recent.Writer ──► Redis, or recent.Memory
//	                                                   └─ stream.Consumer "rules"  ──► rules.Rules ──► Alertmanager
//	                                                        └─ what rules record goes back into Kafka as frames
//	reader ──GET──► api.Server ──► query.Reader ──► recent.Reader
//	                                             └─(miss, Redis away, or older)──► store.Store
//
//	reader ──POST─► api.Server ──► lookup.Lookup ──► throttle.Throttle ──► ring.Reader ──► the Cassandra that has the tables
//
//	each process ── selfmetrics.Sender ──POST──► ingest.Server: what it has on /metrics
//
//	What has no address is in files and in memory instead: Kafka, Cassandra, Redis. Then ringwatch
//	key asks this process, on the socket in its directory.
//
//	ringwatch key ──► Cassandra ──► account.Keyring ◄── account.Door ◄── ingest.Server, api.Server

// process is what the roles of one process share.
type process struct {
	*config
	role    string
	keyring *account.Keyring
	door    *account.Door // one for all listeners: guessing at one counts at the other
	metrics *prometheus.Registry
	log     *slog.Logger
	limit   *memory.Limit  // of the whole process
	budget  *memory.Budget // half of it, for work whose size accounts decide

	from        time.Time                   // where the store role walks back to; zero: nowhere
	database    atomic.Pointer[store.Store] // once a role has opened it
	recentReady func(context.Context) error // once the role recent is there
	storeState  storeState
	rulesReady  func(context.Context) error  // once the role rules is there
	alone       bool                         // the role rules is all that the process does
	engine      atomic.Pointer[query.Engine] // once the role api is there
	logsMu      sync.Mutex
	logs        map[string]*stream.Log // by topic: what processes tell each other
	throttle    *throttle.Throttle     // once a role has asked for it
	reader      *recent.Reader         // once a role has asked for it
	streamMu    sync.Mutex
	topics      stream.Engine // once a role has asked for it
	closeStream func() error  // nil: there is nothing to close
	giveUp      func()        // ends the process for who moves its directory
	streamWarns func() string // what an operator should know of the stream; nil: nothing ever
}

// start loads the configuration and waits for the engines that the caller picks from it.
func (f *roleFlags) start(ctx context.Context, role string,
	pick func(*config) []engine) (*process, error) {
	p, err := f.prepare(role)
	if err != nil {
		return nil, err
	}
	return p, p.need(ctx, f.Wait, pick(p.config)...)
}

// need waits for engines.
func (p *process) need(ctx context.Context, patience time.Duration, engines ...engine) error {
	if err := named(engines...); err != nil {
		return err
	}
	return reach(ctx, p.log, patience, engines...)
}

// prepare loads the configuration and waits for nothing.
func (f *roleFlags) prepare(role string) (*process, error) {
	c, registry, err := f.load()
	if err != nil {
		return nil, err
	}
	p, err := newProcess(role, f.file(), c, registry)
	if err == nil && (role == "rules" || role == "api") {
		stepBack(p.log)
	}
	return p, err
}

// newProcess makes a process of a configuration, which file has.
func newProcess(role, file string, c *config, registry *account.Registry) (*process, error) {
	p := &process{config: c, role: role, metrics: prometheus.NewRegistry(), log: logger(c.Log)}
	p.Redis.Log = p.log
	p.keyring = account.NewKeyring(c.Keys, registry, p.readKeys, p.metrics, p.log)
	p.door = account.NewDoor(p.keyring.Authenticate)
	p.metrics.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), p.door)
	if err := p.bound(); err != nil {
		return nil, err
	}
	if len(c.Redis.Addresses) == 0 {
		p.log.Info("redis.addresses is empty: the last 15 minutes, limits and shares are this " +
			"process's own; all else is read from the store")
	}
	p.log.Info("starting", "role", role, "version", version(), "config", file,
		"memory", p.limit.String())
	return p, nil
}

// clock is what the roles take for now; tests let time leap.
var clock = time.Now

// part is one role's blocking run.
type part func(context.Context) error

// run runs the parts until ctx ends or one of them fails, and joins them all.
func (p *process) run(ctx context.Context, parts ...part) error {
	metrics, err := p.metricsPart()
	if err != nil {
		return err
	}
	err = p.telling(ctx, append(parts, metrics))
	p.endRows()
	err = errors.Join(err, p.endStream())
	p.log.Info("stopped")
	return err
}

func together(ctx context.Context, parts ...part) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range parts {
		g.Go(func() error { return run(ctx) })
	}
	return g.Wait()
}

// beside runs f while the parts run, and returns what it returns.
func beside(ctx context.Context, parts []part, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- together(ctx, parts...) }()
	err := f(ctx)
	cancel()
	return errors.Join(err, <-ended)
}

type allCmd struct{ dataFlags }

// Help implements kong.HelpProvider.
func (*allCmd) Help() string {
	return "What has an address in the configuration is in that engine: kafka.brokers, " +
		"cassandra.hosts, redis.addresses. What has none is in the directory, and the last 15 " +
		"minutes and limits are in this process. Without a configuration everything is in the " +
		"directory, and the first start makes an API key and prints it.\n\nExample: ringwatch " +
		"all --data /var/lib/ringwatch"
}

// Run serves ingest as soon as the stream is there: agents that are told to come again come later
// each time, and Cassandra and its tables take the longest. Whatever cannot be reached in time is
// named at once.
func (c *allCmd) Run(ctx context.Context) error {
	p, err := c.prepare("all")
	if err != nil {
		return err
	}
	if err := p.config.directoryMoved(); err != nil {
		return err
	}
	ends, giveUp := context.WithCancel(ctx)
	defer giveUp()
	p.giveUp = giveUp
	err = c.runAll(ends, p)
	if errors.Is(err, context.Canceled) && ends.Err() != nil {
		return ctx.Err() // nil: the directory is given up
	}
	return err
}

func (c *allCmd) runAll(ctx context.Context, p *process) error {
	needed := []engine{p.config.kafka(), p.config.cassandra(), p.config.redis()}
	if err := readable(needed...); err != nil {
		return err
	}
	if p.keeps() {
		if err := p.ownAccounts(); err != nil {
			return err
		}
	}
	first := needed[0]
	all := make(chan error, 1)
	reaching, stop := context.WithCancel(ctx)
	defer stop()
	go func() { all <- reach(reaching, p.log, c.Wait, needed...) }()
	patient, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	// the other one says it
	if err := first.reach(patient, slog.New(slog.DiscardHandler)); err != nil {
		return <-all
	}
	ingest, err := p.ingestParts(ctx)
	if err != nil {
		return err
	}
	return p.run(ctx, append(ingest, func(ctx context.Context) error {
		if err := <-all; err != nil {
			return err
		}
		return p.beyondIngest(ctx, c.bare())
	})...)
}

// beyondIngest wires and runs what needs the store. A bare process has no configuration.
func (p *process) beyondIngest(ctx context.Context, bare bool) error {
	var parts []part
	for _, role := range []func(context.Context) ([]part, error){p.storeParts, p.recentParts,
		p.rulesParts, p.apiParts} {
		more, err := role(ctx)
		if err != nil {
			return err
		}
		parts = append(parts, more...)
	}
	if p.keeps() {
		p.noteAccounts()
	}
	keys, err := p.keyParts()
	if err != nil {
		return err
	}
	parts = append(parts, keys...)
	if p.Cassandra.Dir != "" {
		parts = append(parts, p.keySocket(p.database.Load()))
	}
	if bare {
		key, err := firstKey(ctx, p.database.Load(), p.Accounts[0].Name)
		if err != nil {
			return err
		}
		p.welcome(os.Stdout, key)
	}
	return together(ctx, parts...)
}

// keyParts keeps the stored keys read. A process that has no other use for Cassandra connects in
// the background: what the configuration has is enough to start with.
func (p *process) keyParts() ([]part, error) {
	if !p.Keys.Stored {
		return nil, nil
	}
	if p.database.Load() != nil {
		return []part{p.keyring.Run}, nil
	}
	if err := readable(p.config.cassandra()); err != nil {
		return nil, err
	}
	p.Cassandra.Log = p.log
	db, err := store.New(p.Cassandra, nil)
	if err != nil {
		return nil, err
	}
	p.database.Store(db)
	return []part{p.keyring.Run, func(ctx context.Context) error {
		defer db.Close()
		if err := db.Connect(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		<-ctx.Done()
		return nil
	}}, nil
}

// bindKey binds a key to the node that first uses it.
func (p *process) bindKey(ctx context.Context, id, account string,
	node uuid.UUID) (uuid.UUID, error) {
	db := p.database.Load()
	if db == nil {
		return uuid.Nil, store.ErrNotConnected
	}
	ctx, cancel := context.WithTimeout(ctx, bindTimeout)
	defer cancel()
	return db.BindKey(ctx, id, account, node)
}

// nodeIDs is how ingest learns which nodes there are; nil where it has no Cassandra.
func (p *process) nodeIDs() func(context.Context, string) ([]uuid.UUID, error) {
	if !p.Keys.Stored {
		return nil
	}
	return func(ctx context.Context, account string) ([]uuid.UUID, error) {
		db := p.database.Load()
		if db == nil {
			return nil, store.ErrNotConnected
		}
		return db.Reader(store.Dashboard(account), memory.Unbounded()).NodeIDs(ctx, account)
	}
}

// bindTimeout bounds how long a frame waits for its key to be bound; its sender sends it again.
const bindTimeout = 3 * time.Second

// readKeys is what the keyring reads with.
func (p *process) readKeys(ctx context.Context) ([]account.StoredKey, error) {
	db := p.database.Load()
	if db == nil {
		return nil, store.ErrNotConnected
	}
	return db.Keys(ctx)
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/ingest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// process is what the roles of one process share.
type process struct {
	*config
	role    string
	keyring *account.Keyring
	door    *account.Door // one for all listeners: guessing at one counts at the other
	selfKey string        // the process's own, for its own metrics; "": it has made none
	metrics *prometheus.Registry
	log     *slog.Logger
	limit   *memory.Limit  // of the whole process
	budget  *memory.Budget // half of it, for work whose size accounts decide

	from        time.Time                   // where the store role walks back to; zero: nowhere
	ingest      *ingest.Server              // once the role ingest is there
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
	registry, err := p.makesKey(registry)
	if err != nil {
		return nil, err
	}
	p.keyring = account.NewKeyring(c.Keys, registry, p.readKeys, p.metrics, p.log)
	p.door = account.NewDoor(p.keyring.Authenticate)
	p.metrics.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		version.NewCollector("ringwatch"), p.door)
	if err := p.bound(); err != nil {
		return nil, err
	}
	if len(c.Redis.Addresses) == 0 && role != "watch" {
		p.log.Info("redis.addresses is empty: the last 15 minutes, limits and shares are this " +
			"process's own; all else is read from the store")
	}
	p.log.Info("starting", "role", role, "version", versionLine(), "config", file,
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

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

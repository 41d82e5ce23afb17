// Package wire builds a role of a configuration. A Process is what the roles of one process share;
// a function for each role (Ingest, Store, Recent, Rules, API, Watch) wires the drawing that stands
// above it and returns Parts, which run until the process ends. Whoever starts a role calls Start,
// such a function, and Process.Run. Below it are the rooms engine (what must be there before),
// topic (of the stream), datadir (the directory of what has no engine) and logs.
package wire

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/program"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/logs"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/ingest"
	"github.com/ringwatch/ringwatch/memory"
	people "github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store"
)

// Process is what the roles of one process share.
type Process struct {
	Config  *settings.Config
	Role    string
	From    time.Time // where the store role walks back to; zero: nowhere
	Metrics *prometheus.Registry
	Log     *slog.Logger
	keyring *account.Keyring
	Door    *account.Door  // one for all listeners: guessing at one counts at the other
	selfKey string         // the process's own, for its own metrics; "": it has made none
	limit   *memory.Limit  // of the whole process
	budget  *memory.Budget // half of it, for work whose size accounts decide

	// What is opened once, by the first role that asks for it.
	Topics   *topic.Topics
	Database atomic.Pointer[store.Store]
	Throttle *throttle.Throttle
	reader   *recent.Reader

	// What roles are, once they are there.
	ingest      *ingest.Server
	StoreState  storeState
	RecentReady func(context.Context) error
	RulesReady  func(context.Context) error
	people      *people.Notifier // of the role rules; nil: nobody is told
	engine      atomic.Pointer[query.Engine]
	insights    atomic.Pointer[insights] // of the role api
}

// Start loads the configuration and waits for the engines that the caller picks from it.
func Start(ctx context.Context, f *settings.RoleFlags, role string,
	pick func(*settings.Config) []engine.Engine) (*Process, error) {
	p, err := Prepare(f, role)
	if err != nil {
		return nil, err
	}
	return p, p.need(ctx, f.Wait, pick(p.Config)...)
}

// need waits for engines.
func (p *Process) need(ctx context.Context, patience time.Duration,
	engines ...engine.Engine) error {
	if err := engine.Named(engines...); err != nil {
		return err
	}
	return engine.ReachAll(ctx, p.Log, patience, engines...)
}

// Prepare loads the configuration and waits for nothing.
func Prepare(f *settings.RoleFlags, role string) (*Process, error) {
	c, registry, err := f.Load()
	if err != nil {
		return nil, err
	}
	p, err := newProcess(role, f.File(), c, registry)
	if err == nil && (role == "rules" || role == "api") {
		stepBack(p.Log)
	}
	return p, err
}

// newProcess makes a process of a configuration, which file has.
func newProcess(role, file string, c *settings.Config, registry *account.Registry) (*Process,
	error) {
	p := &Process{Config: c, Role: role, Metrics: prometheus.NewRegistry(), Log: logs.New(c.Log)}
	p.Config.Redis.Log = p.Log
	p.Topics = topic.New(c, role, p.Metrics, p.Log)
	registry, err := p.makesKey(registry)
	if err != nil {
		return nil, err
	}
	p.keyring = account.NewKeyring(c.Keys, registry, p.readKeys, p.Metrics, p.Log)
	p.Door = account.NewDoor(p.keyring.Authenticate)
	p.Metrics.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		version.NewCollector("ringwatch"), p.Door)
	if err := p.bound(); err != nil {
		return nil, err
	}
	if len(c.Redis.Addresses) == 0 && role != "watch" {
		p.Log.Info("redis.addresses is empty: the last 15 minutes, limits and shares are this " +
			"process's own; all else is read from the store")
	}
	p.Log.Info("starting", "role", role, "version", program.Version(), "config", file,
		"memory", p.limit.String())
	return p, nil
}

// Part is one role's blocking run.
type Part func(context.Context) error

// run runs the parts until ctx ends or one of them fails, and joins them all.
func (p *Process) Run(ctx context.Context, parts ...Part) error {
	metrics, err := p.MetricsPart()
	if err != nil {
		return err
	}
	err = p.telling(ctx, append(parts, metrics))
	p.EndRows()
	err = errors.Join(err, p.Topics.Close())
	p.Log.Info("stopped")
	return err
}

// Together runs parts until all have ended. The first that fails ends the others.
func Together(ctx context.Context, parts ...Part) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range parts {
		g.Go(func() error { return run(ctx) })
	}
	return g.Wait()
}

// Beside runs f while the parts run, and returns what it returns.
func Beside(ctx context.Context, parts []Part, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- Together(ctx, parts...) }()
	err := f(ctx)
	cancel()
	return errors.Join(err, <-ended)
}

// PrepareOnData is Prepare for a command that works on a directory, too.
func PrepareOnData(f *settings.DataFlags, role string) (*Process, error) {
	c, registry, err := f.Load()
	if err != nil {
		return nil, err
	}
	file := f.File()
	if f.Bare() {
		file = "none"
	}
	return newProcess(role, file, c, registry)
}

// StartOnData is Start for a command that works on a directory, too.
func StartOnData(
	ctx context.Context, f *settings.DataFlags, role string,
	pick func(*settings.Config) []engine.Engine,
) (*Process, error) {
	p, err := PrepareOnData(f, role)
	if err != nil {
		return nil, err
	}
	return p, p.need(ctx, f.Wait, pick(p.Config)...)
}

package wire

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/store"
)

// OpenStore connects once per process and sees to the tables.
func (p *Process) OpenStore(ctx context.Context) (*store.Store, error) {
	if db := p.Database.Load(); db != nil {
		return db, nil
	}
	db, err := p.ConnectStore(ctx)
	if err != nil {
		return nil, err
	}
	p.StoreState.store.Store(db)
	if err := engine.Retry(ctx, p.Log, "the tables", store.Retryable, db.Apply); err != nil {
		db.Close()
		return nil, err
	}
	db.Warning(ctx) // it says so itself
	p.Database.Store(db)
	return db, nil
}

// inUsePatience is how long ringwatch all waits for a directory of rows that another process has.
// ringwatch key has it for a moment when it comes first. A second ringwatch all fails at the
// stream.
const inUsePatience = 10 * time.Second

// ConnectStore connects and looks at nothing.
func (p *Process) ConnectStore(ctx context.Context) (*store.Store, error) {
	p.Config.Cassandra.Log, p.Config.Cassandra.Now, p.Config.Cassandra.Memory = p.Log, clock.Now,
		p.budget
	p.Config.Cassandra.Ring, p.Config.Cassandra.Registerer = p.Config.Ring,
		prometheus.WrapRegistererWith(
			prometheus.Labels{"reader": "store"}, p.Metrics)
	if p.Throttle != nil {
		p.Config.Cassandra.Admit = p.Throttle.In(p.Config.Cassandra.Datacenter)
	}
	if p.Config.Cassandra.Dir != "" {
		// there is no ring
		p.Config.Cassandra.Registerer, p.Config.Cassandra.DirNow = p.Metrics, clock.Now
	}
	if p.Role != "all" {
		if err := datadir.DirectoryThere(p.Config); err != nil {
			return nil, err
		}
	}
	var db *store.Store
	metrics := store.NewMetrics(p.Metrics)
	patient, cancel := context.WithTimeout(ctx, inUsePatience)
	defer cancel()
	soonFree := func(err error) bool { return p.Role == "all" && errors.Is(err, store.ErrInUse) }
	err := engine.Retry(patient, p.Log, "the rows", soonFree, func(context.Context) (err error) {
		if db, err = store.New(p.Config.Cassandra, metrics); err != nil {
			return err
		}
		return db.Connect(ctx)
	})
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.Canceled): // it is told to end while it waits
		return nil, ctx.Err()
	default:
		return nil, datadir.ConnectError(p.Config, err)
	}
	if p.Config.Cassandra.Dir != "" {
		p.Log.Info("rows are kept in files", "directory", p.Config.Cassandra.Dir)
	}
	return db, nil
}

// StoreState is what the role store says of itself in /-/ready.
type storeState struct {
	store  atomic.Pointer[store.Store]  // once it is connected
	writer atomic.Pointer[store.Writer] // once there are tables
}

func (s *storeState) Ready(ctx context.Context) error {
	if w := s.writer.Load(); w != nil {
		return w.Ready(ctx)
	}
	if db := s.store.Load(); db != nil {
		if err := db.Ready(ctx); err != nil {
			return err
		}
	}
	return errors.New("store: the role is starting")
}

func (s *storeState) Warning(ctx context.Context) string {
	var list []string
	if w := s.writer.Load(); w != nil {
		list = append(list, w.Deferred())
	}
	if db := s.store.Load(); db != nil {
		list = append(list, db.Warning(ctx))
	}
	return joined(list, "\nwarning: ")
}

// Warning is what an operator should know of the store and the stream although they answer.
func (p *Process) Warning(db *store.Store) func(context.Context) string {
	return func(ctx context.Context) string {
		return joined([]string{db.Warning(ctx), p.Topics.Warning()}, "; ")
	}
}

// joined joins the texts that say something.
func joined(list []string, between string) string {
	return strings.Join(slices.DeleteFunc(list, func(text string) bool { return text == "" }),
		between)
}

// EndRows gives up a directory of rows, when no role uses it any more.
func (p *Process) EndRows() {
	if db := p.Database.Load(); db != nil && p.Config.Cassandra.Dir != "" {
		db.Close()
	}
}

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/store"
)

// openStore connects once per process and sees to the tables.
func (p *process) openStore(ctx context.Context) (*store.Store, error) {
	if db := p.database.Load(); db != nil {
		return db, nil
	}
	db, err := p.connectStore(ctx)
	if err != nil {
		return nil, err
	}
	p.storeState.store.Store(db)
	if err := retry(ctx, p.log, "the tables", store.Retryable, db.Apply); err != nil {
		db.Close()
		return nil, err
	}
	db.Warning(ctx) // it says so itself
	p.database.Store(db)
	return db, nil
}

// inUsePatience is how long ringwatch all waits for a directory of rows that another process has.
// ringwatch key has it for a moment when it comes first. A second ringwatch all fails at the
// stream.
const inUsePatience = 10 * time.Second

// connectStore connects and looks at nothing.
func (p *process) connectStore(ctx context.Context) (*store.Store, error) {
	p.Cassandra.Log, p.Cassandra.Now, p.Cassandra.Memory = p.log, clock, p.budget
	p.Cassandra.Ring, p.Cassandra.Registerer = p.Ring, prometheus.WrapRegistererWith(
		prometheus.Labels{"reader": "store"}, p.metrics)
	if p.throttle != nil {
		p.Cassandra.Admit = p.throttle.In(p.Cassandra.Datacenter)
	}
	if p.Cassandra.Dir != "" {
		p.Cassandra.Registerer, p.Cassandra.DirNow = p.metrics, clock // there is no ring
	}
	if p.role != "all" {
		if err := p.directoryThere(); err != nil {
			return nil, err
		}
	}
	var db *store.Store
	metrics := store.NewMetrics(p.metrics)
	patient, cancel := context.WithTimeout(ctx, inUsePatience)
	defer cancel()
	soonFree := func(err error) bool { return p.role == "all" && errors.Is(err, store.ErrInUse) }
	err := retry(patient, p.log, "the rows", soonFree, func(context.Context) (err error) {
		if db, err = store.New(p.Cassandra, metrics); err != nil {
			return err
		}
		return db.Connect(ctx)
	})
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.Canceled): // it is told to end while it waits
		return nil, ctx.Err()
	default:
		return nil, p.connectError(err)
	}
	if p.Cassandra.Dir != "" {
		p.log.Info("rows are kept in files", "directory", p.Cassandra.Dir)
	}
	return db, nil
}

// storeState is what the role store says of itself in /-/ready.
type storeState struct {
	store  atomic.Pointer[store.Store]  // once it is connected
	writer atomic.Pointer[store.Writer] // once there are tables
}

func (s *storeState) ready(ctx context.Context) error {
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

func (s *storeState) warning(ctx context.Context) string {
	var list []string
	if w := s.writer.Load(); w != nil {
		list = append(list, w.Deferred())
	}
	if db := s.store.Load(); db != nil {
		list = append(list, db.Warning(ctx))
	}
	return strings.Join(slices.DeleteFunc(list, func(text string) bool { return text == "" }),
		"\nwarning: ")
}

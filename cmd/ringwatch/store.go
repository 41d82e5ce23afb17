package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

type storeCmd struct {
	roleFlags
	From string `help:"Read Kafka again from this time (2026-11-20T08:00:00Z, or 3h for three hours ago), then go on as usual. Stored data stays as it is. The role reads the partitions that this process has: all of them while no other store process runs." placeholder:"TIME"`
}

func (c *storeCmd) Run(ctx context.Context) error {
	from, err := parseFrom(c.From, time.Now())
	if err != nil {
		return usageError{err}
	}
	p, err := c.start(ctx, "store", func(c *config) []engine {
		return []engine{c.kafka(), c.cassandra()}
	})
	if err != nil {
		return err
	}
	p.from = from
	// at once: making the topic and the tables may have to wait
	ops, err := p.ops(p.Store, p.storeState.ready, p.storeState.warning)
	if err != nil {
		return err
	}
	return p.run(ctx, ops, func(ctx context.Context) error {
		parts, err := p.storeParts(ctx)
		if err != nil {
			return err
		}
		return together(ctx, parts...)
	})
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
		list = append(list, w.Aside())
	}
	if db := s.store.Load(); db != nil {
		list = append(list, db.Warning(ctx))
	}
	return strings.Join(slices.DeleteFunc(list, func(text string) bool { return text == "" }),
		"\nwarning: ")
}

// parseFrom reads a time in the past: RFC 3339, or a duration before now. Empty is the zero time.
func parseFrom(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if d, notDuration := time.ParseDuration(text); notDuration == nil {
		at, err = now.Add(-d), nil
	}
	switch {
	case err != nil:
		return at, fmt.Errorf("--from: %q is neither a time such as 2026-11-20T08:00:00Z nor a "+
			"duration such as 3h", text)
	case !at.Before(now):
		return at, errors.New("--from lies in the future: give a time in the past")
	}
	return at, nil
}

// storeParts wires Kafka → Cassandra.
func (p *process) storeParts(ctx context.Context) ([]part, error) {
	topics, err := p.ensureTopic(ctx, p.Kafka.framesConfig)
	if err != nil {
		return nil, err
	}
	_, parts, err := p.throttled()
	if err != nil {
		return nil, err
	}
	db, err := p.openStore(ctx)
	if err != nil {
		return nil, err
	}
	writer := store.NewWriter(db)
	p.storeState.writer.Store(writer)
	config := stream.DefaultConsumerConfig(p.Kafka.Topic, storeGroup)
	config.From = p.from
	consumer, err := stream.NewConsumer(topics, config, writer, p.metrics, p.log)
	if err != nil {
		return nil, err
	}
	return append(parts, consumer.Run, writer.Run, p.tellProgress(consumer, db)), nil
}

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
	db, err := store.New(p.Cassandra, store.NewMetrics(p.metrics))
	if err != nil {
		return nil, err
	}
	if err := db.Connect(ctx); err != nil {
		return nil, p.connectError(err)
	}
	if p.Cassandra.Dir != "" {
		p.log.Info("rows are kept in files", "directory", p.Cassandra.Dir)
	}
	return db, nil
}

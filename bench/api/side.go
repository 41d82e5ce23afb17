package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/store"
)

// The two sides.
const (
	redisSide     = "redis"
	cassandraSide = "cassandra"
)

// sides are the engines and the two API processes.
type sides struct {
	line.Engines
	store *store.Store
	api   map[string]*line.Role
	key   string
}

func start(ctx context.Context, o options, dir string) (*sides, error) {
	s := &sides{api: map[string]*line.Role{}, key: account.NewKey()}
	if err := s.start(ctx, o, dir); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *sides) start(ctx context.Context, o options, dir string) (err error) {
	if err := s.StartEngines(ctx, dir,
		engines.CassandraConfig{Heap: "512M", Progress: bench.Say}, nil); err != nil {
		return err
	}
	c := store.DefaultConfig()
	c.Hosts, c.Log = []string{s.Cassandra.Addr()}, slog.New(slog.DiscardHandler)
	if s.store, err = node.OpenStore(ctx, c,
		store.NewMetrics(prometheus.NewRegistry())); err != nil {
		return err
	}
	nobody, err := engines.FreePort("127.0.0.1") // where no Redis is
	if err != nil {
		return err
	}
	for side, redis := range map[string]string{redisSide: s.Redis.Addr(),
		cassandraSide: fmt.Sprintf("127.0.0.1:%d", nobody)} {
		text := fmt.Sprintf("accounts:\n%scassandra: {hosts: [%q]}\nredis: {addresses: [%q]}\n%s",
			line.Account(accountName, s.key, "read"), s.Cassandra.Addr(), redis, line.Unlimited)
		if s.api[side], err = line.NewRole(o.binary, dir, "api-"+side, text, []string{"api"},
			"api"); err != nil {
			return err
		}
		if err := s.api[side].Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop ends what was started.
func (s *sides) stop() {
	for _, r := range s.api {
		r.End()
	}
	if s.store != nil {
		s.store.Close()
	}
	s.KillEngines()
}

// pids are those whose CPU a side uses.
func (s *sides) pids(side string) map[string]int {
	return map[string]int{"api": s.api[side].Pid(), "redis": s.Redis.Pid(),
		"cassandra": s.Cassandra.Pid()}
}

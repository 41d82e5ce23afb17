package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

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
	store   *store.Store
	api     map[string]*engines.Process
	address map[string]string
	key     string
}

func start(ctx context.Context, o options, dir string) (*sides, error) {
	s := &sides{api: map[string]*engines.Process{}, address: map[string]string{},
		key: account.NewKey()}
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
		port, err := engines.FreePort("127.0.0.1")
		if err != nil {
			return err
		}
		s.address[side] = fmt.Sprintf("127.0.0.1:%d", port)
		file := filepath.Join(dir, side+".yaml")
		text := fmt.Sprintf(`accounts:
  - {name: bench, clusters: ["*"], keys: [{name: reader, sha256: %s, scopes: [read]}]}
cassandra: {hosts: [%q]}
redis: {addresses: [%q]}
api: {listen: %q}
limits: {requests_per_second: 1000000, burst: 1000000, node_requests_per_second: 1000000, node_burst: 1000000}
`, account.Hash(s.key), s.Cassandra.Addr(), redis, s.address[side])
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		if s.api[side], err = engines.StartProcess(engines.ProcessConfig{Name: "the API on " + side,
			Path: o.binary, Args: []string{"api", "--config", file},
			Log: filepath.Join(dir, side+".log")}); err != nil {
			return err
		}
		if err := line.Ready(ctx, s.api[side], "http://"+s.address[side]); err != nil {
			return err
		}
	}
	return nil
}

// stop ends what was started.
func (s *sides) stop() {
	for _, p := range s.api {
		p.Kill()
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

// metrics returns the figures of an API process.
func (s *sides) metrics(ctx context.Context, side string) (map[string]float64, error) {
	b, err := line.Get(ctx, line.Plain, "http://"+s.address[side]+"/metrics", "")
	return line.Series(b), err
}

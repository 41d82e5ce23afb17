package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
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
	cassandra *engines.Cassandra
	redis     *engines.Redis
	store     *store.Store
	api       map[string]*engines.Process
	address   map[string]string
	key       string
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
	if s.cassandra, err = engines.StartCassandra(ctx,
		engines.CassandraConfig{Dir: filepath.Join(dir, "cassandra"), Heap: "512M",
			Progress: func(t string) { bench.Progress("%s", t) }}); err != nil {
		return err
	}
	if s.redis, err = engines.StartRedis(ctx,
		engines.RedisConfig{Dir: filepath.Join(dir, "redis")}); err != nil {
		return err
	}
	c := store.DefaultConfig()
	c.Hosts, c.Log = []string{s.cassandra.Addr()}, slog.New(slog.DiscardHandler)
	if s.store, err = store.New(c, store.NewMetrics(prometheus.NewRegistry())); err != nil {
		return err
	}
	if err := s.store.Connect(ctx); err != nil {
		return err
	}
	if err := s.store.Apply(ctx); err != nil {
		return err
	}
	nobody, err := engines.FreePort("127.0.0.1") // where no Redis is
	if err != nil {
		return err
	}
	for side, redis := range map[string]string{redisSide: s.redis.Addr(),
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
`, account.Hash(s.key), s.cassandra.Addr(), redis, s.address[side])
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		if s.api[side], err = engines.StartProcess(engines.ProcessConfig{Name: "the API on " + side,
			Path: o.binary, Args: []string{"api", "--config", file},
			Log: filepath.Join(dir, side+".log")}); err != nil {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		err = line.Until(wait, "the API on "+side, func(ctx context.Context) error {
			if !s.api[side].Running() {
				b, _ := os.ReadFile(s.api[side].LogFile())
				return fmt.Errorf("it ended: %s", b)
			}
			_, err := s.metrics(ctx, side)
			return err
		})
		if err != nil {
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
	if s.redis != nil {
		s.redis.Kill()
	}
	if s.cassandra != nil {
		s.cassandra.Kill()
	}
}

// pids are those whose CPU a side uses.
func (s *sides) pids(side string) map[string]int {
	return map[string]int{"api": s.api[side].Pid(), "redis": s.redis.Pid(),
		"cassandra": s.cassandra.Pid()}
}

// metrics returns the counters of an API process, as name{value of each label,…}.
func (s *sides) metrics(ctx context.Context, side string) (map[string]float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address[side]+"/metrics",
		nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/metrics answered %s, %w", answer.Status, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(b)))
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for name, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetValue())
			}
			values[name+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() +
				m.GetGauge().GetValue()
		}
	}
	return values, nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// ours is Ringwatch: real engines, what the roles store and recent do, and an API process for
// each part.
type ours struct {
	line.Engines
	dir, binary string
	store       *node.Keeper
	recent      *recent.Writer
	key         map[string]string
	api         *line.Role

	handling sync.Mutex // of recent, which is given frames one call at a time
}

// handle puts a frame into Redis.
func (r *ours) handle(ctx context.Context, account, cluster string, b []byte) error {
	r.handling.Lock()
	defer r.handling.Unlock()
	return r.recent.Handle(ctx, []stream.Record{{Account: account, Cluster: cluster, Value: b}})
}

func newOurs(binary, dir string) *ours {
	r := &ours{dir: dir, binary: binary, key: map[string]string{}}
	for _, name := range []string{shortAccount, trendAccount, fleetAccount} {
		r.key[name] = account.NewKey()
	}
	return r
}

func (r *ours) start(ctx context.Context) (err error) {
	err = r.StartEngines(ctx, r.dir, engines.CassandraConfig{Heap: "1G", Progress: bench.Say,
		// settling is not what is timed
		Extra: map[string]any{"compaction_throughput": "0MiB/s"}}, nil)
	if err != nil {
		return err
	}
	c := store.DefaultConfig()
	c.Hosts = []string{r.Cassandra.Addr()}
	if r.store, err = node.Keep(ctx, c, store.NewMetrics(nil)); err != nil {
		return err
	}
	rc := recent.DefaultConfig()
	rc.Addresses, rc.ActiveFor, rc.WriteTimeout = []string{r.Redis.Addr()}, 0, time.Minute
	r.recent, err = recent.NewWriter(rc, nil, prometheus.NewRegistry())
	return err
}

func (r *ours) stop() {
	r.api.End()
	if r.recent != nil {
		r.recent.Close()
	}
	if r.store != nil {
		r.store.Close()
	}
	r.KillEngines()
}

// startAPI starts an API process, in place of the last part's, and waits until its index of
// series is loaded.
func (r *ours) startAPI(ctx context.Context) error {
	if r.api != nil {
		if err := r.api.Stop(ctx); err != nil {
			return err
		}
	}
	accounts := "accounts:\n"
	for name, key := range r.key {
		accounts += line.Account(name, key, "read")
	}
	var err error
	r.api, err = line.NewRole(r.binary, r.dir, "api", fmt.Sprintf("%scassandra: {hosts: [%q]}\n"+
		"redis: {addresses: [%q]}\n%s", accounts, r.Cassandra.Addr(), r.Redis.Addr(),
		line.Unlimited), []string{"api"}, "api")
	if err == nil {
		err = r.api.Begin()
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	told := time.Now()
	return line.Until(ctx, "the API", func(ctx context.Context) error {
		if !r.api.Running() {
			cancel()
			b, _ := os.ReadFile(r.api.LogFile())
			return fmt.Errorf("it ended: %s", b)
		}
		state, err := r.ready(ctx)
		if err == nil && state != "ok" {
			err = fmt.Errorf("its series: %s", state)
		}
		if err != nil && time.Since(told) > 2*time.Second {
			told = time.Now()
			bench.Progress("the API is not ready: %v", err)
		}
		return err
	})
}

// ready returns the API's word on its index.
func (r *ours) ready(ctx context.Context) (string, error) {
	b, err := line.Get(ctx, line.Plain, r.api.URLs["api"]+"/-/ready", "")
	if err != nil {
		return "", err
	}
	var state struct{ Series string }
	return state.Series, json.Unmarshal(b, &state)
}

// side is what an account's questions are asked of.
func (r *ours) side(name string) *side {
	return &side{Name: "ringwatch", url: func() string { return r.api.URLs["api"] },
		key: r.key[name], restart: r.startAPI, pids: func() []process {
			return []process{{"API", r.api.Pid()}, {"Cassandra", r.Cassandra.Pid()},
				{"Redis", r.Redis.Pid()}}
		}}
}

// settle brings what was written to disk, as hours would.
func (r *ours) settle(ctx context.Context) error {
	if err := node.Tool(ctx, r.Cassandra, "flush", store.DefaultConfig().Keyspace); err != nil {
		return err
	}
	return node.Settled(ctx, r.Cassandra, store.DefaultConfig().Keyspace)
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/bench/profiled"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// ours is Ringwatch: real engines, what the roles store and recent do, and an API process for
// each part.
type ours struct {
	line.Engines
	dir, binary string
	store       *store.Store
	writer      *store.Writer
	recent      *recent.Writer
	now         atomic.Int64 // the clock of what is written, ms; 0: the machine's
	key         map[string]string
	api         *engines.Process
	address     string
	samples     int64 // a histogram is one

	handling sync.Mutex // of recent, which is given frames one call at a time
}

// handle puts a frame into Redis.
func (r *ours) handle(ctx context.Context, account, cluster string, b []byte) error {
	r.handling.Lock()
	defer r.handling.Unlock()
	return r.recent.Handle(ctx, []stream.Record{{Account: account, Cluster: cluster, Value: b}})
}

func (r *ours) clock() time.Time {
	if at := r.now.Load(); at > 0 {
		return time.UnixMilli(at)
	}
	return time.Now()
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
	c.Hosts, c.Timeout, c.Now, c.Log = []string{r.Cassandra.Addr()}, grace*time.Millisecond/2,
		r.clock, slog.New(slog.DiscardHandler)
	// With a longer timeout frames count as late before their window ends.
	if r.store, err = node.OpenStore(ctx, c,
		store.NewMetrics(prometheus.NewRegistry())); err != nil {
		return err
	}
	r.writer = store.NewWriter(r.store)
	rc := recent.DefaultConfig()
	rc.Addresses, rc.ActiveFor, rc.WriteTimeout, rc.Clock = []string{r.Redis.Addr()}, 0,
		time.Minute, r.clock
	r.recent, err = recent.NewWriter(rc, nil, prometheus.NewRegistry())
	return err
}

// end ends Cassandra in good order, so that its data may be read again.
func (r *ours) end(ctx context.Context) error { return r.Cassandra.Stop(ctx) }

func (r *ours) stop() {
	if r.api != nil {
		r.api.Kill()
	}
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
	port, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return err
	}
	r.address = fmt.Sprintf("127.0.0.1:%d", port)
	accounts := ""
	for name, key := range r.key {
		accounts += fmt.Sprintf("  - {name: %s, clusters: [\"*\"], keys: [{name: reader, sha256: "+
			"%s, scopes: [read]}]}\n", name, account.Hash(key))
	}
	text := fmt.Sprintf(`accounts:
%scassandra: {hosts: [%q]}
redis: {addresses: [%q]}
api: {listen: %q}
limits: {requests_per_second: 1000000, burst: 1000000, node_requests_per_second: 1000000, node_burst: 1000000}
`, accounts, r.Cassandra.Addr(), r.Redis.Addr(), r.address)
	file := filepath.Join(r.dir, "api.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	if r.api, err = engines.StartProcess(engines.ProcessConfig{Name: "the API", Path: r.binary,
		Args: []string{"api", "--config", file}, Env: []string{profiled.Env + "=" + r.profile()},
		Log: filepath.Join(r.dir, "api.log")}); err != nil {
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
	b, err := line.Get(ctx, line.Plain, "http://"+r.address+"/-/ready", "")
	if err != nil {
		return "", err
	}
	var state struct{ Series string }
	return state.Series, json.Unmarshal(b, &state)
}

// side is what an account's questions are asked of.
func (r *ours) side(name string) *side {
	return &side{Name: "ringwatch", url: func() string { return "http://" + r.address },
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

// How many frames are written at once, and how many nodes' windows are closed.
const (
	framesAtOnce = 32
	nodesAtOnce  = 8
)

// close closes a window, and makes the hour and the day that end with it.
func (r *ours) close(ctx context.Context, name string, node uuid.UUID, start int64) error {
	if err := patient(ctx, func() error {
		return r.writer.CloseWindow(ctx, memory.Unbounded(), name, node, start)
	}); err != nil {
		return err
	}
	end := start + frame.WindowMillis
	if end%rollup.Hour.Millis == 0 {
		if err := patient(ctx, func() error {
			return r.writer.MakeHour(ctx, memory.Unbounded(), name, node, end-rollup.Hour.Millis)
		}); err != nil {
			return err
		}
	}
	if end%rollup.Day.Millis == 0 {
		return patient(ctx, func() error {
			return r.writer.MakeDay(ctx, memory.Unbounded(), name, node, end-rollup.Day.Millis)
		})
	}
	return nil
}

// patience is how long loading goes on trying while Cassandra is too busy to answer.
const patience = 5 * time.Minute

// patient does what may be tried again until it is done.
func patient(ctx context.Context, f func() error) error {
	for began := time.Now(); ; {
		err := f()
		if err == nil || !store.Retryable(err) || time.Since(began) > patience {
			return err
		}
		if bench.Pass(ctx, time.Second) != nil {
			return err
		}
	}
}

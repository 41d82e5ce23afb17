package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/crowd"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// accountName is whose the fleet is, and warmName whose nodes warm the engines up.
const accountName, warmName = "bench", "warm"

// roles are started in this order.
var roles = []string{"ingest", "store", "recent", "rules", "api"}

// process is a role or an engine.
type process struct {
	name string
	pid  int
	dir  string // what it writes; empty: nothing
	url  string // a role's /metrics are below it
}

// system is everything that runs.
type system struct {
	line.Engines
	key       string // of the fleet's account
	warmKey   string
	processes []process
	started   []*engines.Process
}

// startLine starts engines and roles and waits until they are ready. What has started is to be
// stopped even if there is an error.
func startLine(ctx context.Context, o *options, dir string) (l *system, err error) {
	l = &system{key: account.NewKey(), warmKey: account.NewKey()}
	if err := l.StartEngines(ctx, dir,
		engines.CassandraConfig{Heap: o.cassandraHeap, Progress: bench.Say},
		&engines.KafkaConfig{Heap: o.kafkaHeap, Progress: bench.Say}); err != nil {
		return l, err
	}
	l.processes = []process{
		{name: "Cassandra", pid: l.Cassandra.Pid(), dir: l.Cassandra.Dir},
		{name: "Kafka", pid: l.Kafka.Pid(), dir: l.Kafka.Dir},
		{name: "Redis", pid: l.Redis.Pid()},
	}
	return l, l.startRoles(ctx, o, dir)
}

func (l *system) startRoles(ctx context.Context, o *options, dir string) error {
	config := fmt.Sprintf(`accounts:
  - {name: %s, clusters: ["*"], keys: [{name: all, sha256: %s, scopes: [read, write]}]}
  - {name: %s, clusters: ["*"], keys: [{name: all, sha256: %s, scopes: [write]}]}
cassandra: {hosts: [%q]}
kafka: {brokers: [%q]}
redis: {addresses: [%q]}
`, accountName, account.Hash(l.key), warmName, account.Hash(l.warmKey), l.Cassandra.Addr(),
		l.Kafka.Addr(), l.Redis.Addr())
	ports := map[string]int{}
	for _, role := range roles {
		port, err := engines.FreePort("127.0.0.1")
		if err != nil {
			return err
		}
		ports[role] = port
		config += fmt.Sprintf("%s: {listen: \"127.0.0.1:%d\"}\n", role, port)
	}
	file := filepath.Join(dir, "ringwatch.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	for _, role := range roles {
		p, err := engines.StartProcess(engines.ProcessConfig{Name: role, Path: o.binary,
			Args: []string{role, "--config", file}, Log: filepath.Join(dir, role+".log")})
		if err != nil {
			return err
		}
		l.started = append(l.started, p)
		address := fmt.Sprintf("http://127.0.0.1:%d", ports[role])
		l.processes = append(l.processes, process{name: role, pid: p.Pid(), url: address})
	}
	for i, p := range l.started {
		if err := line.Ready(ctx, p, l.url(roles[i])); err != nil {
			return err
		}
	}
	return nil
}

// stop stops what has started, roles first.
func (l *system) stop() {
	for _, p := range l.started {
		_ = p.Kill()
	}
	l.KillEngines()
}

// url is where a role listens.
func (l *system) url(role string) string {
	for _, p := range l.processes {
		if p.name == role {
			return p.url
		}
	}
	panic(role + " is no role")
}

// get returns a role's answer if it is 200 OK.
func (l *system) get(ctx context.Context, role, path string, form url.Values) ([]byte, error) {
	return line.Get(ctx, line.Plain, l.url(role)+path+"?"+form.Encode(), l.key)
}

// newest returns when a node's newest value was taken, in ms.
func (l *system) newest(ctx context.Context, node string) (int64, error) {
	return line.Newest(ctx, l.url("api"), l.key, node)
}

// ask asks the api and returns how long that took. Browsers, Grafana and Prometheus all take gzip.
func (l *system) ask(ctx context.Context, q *crowd.Question) (time.Duration, error) {
	start := time.Now()
	address := l.url("api") + q.Path
	if form := q.Form(q.Words, start); len(form) > 0 {
		address += "?" + form.Encode()
	}
	_, err := line.Get(ctx, line.Plain, address, l.key, "Accept-Encoding", "gzip")
	return time.Since(start), err
}

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
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
}

// system is everything that runs.
type system struct {
	line.Engines
	key       string // of the fleet's account
	warmKey   string
	processes []process
	roles     map[string]*line.Role
}

// startLine starts engines and roles and waits until they are ready. What has started is to be
// stopped even if there is an error.
func startLine(ctx context.Context, o *options, dir string) (l *system, err error) {
	l = &system{key: account.NewKey(), warmKey: account.NewKey(), roles: map[string]*line.Role{}}
	if err := l.StartEngines(ctx, dir,
		engines.CassandraConfig{Heap: o.cassandraHeap, Progress: bench.Say},
		&engines.KafkaConfig{Heap: o.kafkaHeap, Progress: bench.Say}); err != nil {
		return l, err
	}
	l.processes = []process{
		{name: "driver", pid: os.Getpid()},
		{name: "Cassandra", pid: l.Cassandra.Pid(), dir: l.Cassandra.Dir},
		{name: "Kafka", pid: l.Kafka.Pid(), dir: l.Kafka.Dir},
		{name: "Redis", pid: l.Redis.Pid()},
	}
	config := fmt.Sprintf("accounts:\n%s%scassandra: {hosts: [%q]}\nkafka: {brokers: [%q]}\n"+
		"redis: {addresses: [%q]}\n", line.Account(accountName, l.key, "read, write"),
		line.Account(warmName, l.warmKey, "write"), l.Cassandra.Addr(), l.Kafka.Addr(),
		l.Redis.Addr())
	for _, name := range roles {
		r, err := line.NewRole(o.binary, dir, name, config, []string{name}, name)
		if err != nil {
			return l, err
		}
		l.roles[name] = r
		if err := r.Start(ctx); err != nil {
			return l, err
		}
		l.processes = append(l.processes, process{name: name, pid: r.Pid()})
	}
	return l, nil
}

// stop stops what has started, roles first.
func (l *system) stop() {
	for _, r := range l.roles {
		r.End()
	}
	l.KillEngines()
}

// url is where a role listens.
func (l *system) url(role string) string { return l.roles[role].URLs[role] }

// get returns a role's answer if it is 200 OK.
func (l *system) get(ctx context.Context, role, path string, form url.Values) ([]byte, error) {
	return line.Get(ctx, line.Plain, l.url(role)+path+"?"+form.Encode(), l.key)
}

// newest returns when a node's newest value was taken, in ms.
func (l *system) newest(ctx context.Context, node string) (int64, error) {
	return line.Newest(ctx, l.url("api"), l.key, node)
}

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/crowd"
	benchline "github.com/ringwatch/ringwatch/bench/line"
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

// line is everything that runs.
type line struct {
	key       string // of the fleet's account
	warmKey   string
	cassandra *engines.Cassandra
	kafka     *engines.Kafka
	redis     *engines.Redis
	processes []process
	started   []*engines.Process
}

// startLine starts engines and roles and waits until they are ready. What has started is to be
// stopped even if there is an error.
func startLine(ctx context.Context, o *options, dir string) (l *line, err error) {
	l = &line{key: account.NewKey(), warmKey: account.NewKey()}
	tell := func(text string) { bench.Progress("%s", text) }
	l.cassandra, err = engines.StartCassandra(ctx, engines.CassandraConfig{
		Dir: filepath.Join(dir, "cassandra"), Heap: o.cassandraHeap, Progress: tell})
	if err != nil {
		return l, err
	}
	l.kafka, err = engines.StartKafka(ctx, engines.KafkaConfig{Dir: filepath.Join(dir, "kafka"),
		Heap: o.kafkaHeap, Progress: tell})
	if err != nil {
		return l, err
	}
	if l.redis, err = engines.StartRedis(ctx, engines.RedisConfig{Dir: dir}); err != nil {
		return l, err
	}
	l.processes = []process{
		{name: "Cassandra", pid: l.cassandra.Pid(), dir: l.cassandra.Dir},
		{name: "Kafka", pid: l.kafka.Pid(), dir: l.kafka.Dir},
		{name: "Redis", pid: l.redis.Pid()},
	}
	return l, l.startRoles(ctx, o, dir)
}

func (l *line) startRoles(ctx context.Context, o *options, dir string) error {
	config := fmt.Sprintf(`accounts:
  - {name: %s, clusters: ["*"], keys: [{name: all, sha256: %s, scopes: [read, write]}]}
  - {name: %s, clusters: ["*"], keys: [{name: all, sha256: %s, scopes: [write]}]}
cassandra: {hosts: [%q]}
kafka: {brokers: [%q]}
redis: {addresses: [%q]}
`, accountName, account.Hash(l.key), warmName, account.Hash(l.warmKey), l.cassandra.Addr(),
		l.kafka.Addr(), l.redis.Addr())
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
	ctx, cancel := context.WithTimeout(ctx, engines.StartTimeout)
	defer cancel()
	for i, p := range l.started {
		err := benchline.Until(ctx, roles[i], func(ctx context.Context) error {
			if !p.Running() {
				cancel()
				words, _ := engines.LastWords(p.LogFile())
				return fmt.Errorf("it ended: %q", words)
			}
			_, err := l.get(ctx, roles[i], "/-/ready", nil)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stop stops what has started, roles first.
func (l *line) stop() {
	for _, p := range l.started {
		_ = p.Kill()
	}
	if l.redis != nil {
		_ = l.redis.Kill()
	}
	if l.kafka != nil {
		_ = l.kafka.Kill()
	}
	if l.cassandra != nil {
		_ = l.cassandra.Kill()
	}
}

// url is where a role listens.
func (l *line) url(role string) string {
	for _, p := range l.processes {
		if p.name == role {
			return p.url
		}
	}
	panic(role + " is no role")
}

var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64,
	DisableCompression: true}}

// get returns a role's answer if it is 200 OK.
func (l *line) get(ctx context.Context, role, path string, form url.Values) ([]byte, error) {
	return l.getCoded(ctx, role, path, form, "identity")
}

// getCoded is get, with what the body is coded in if the role can do that.
func (l *line) getCoded(
	ctx context.Context, role, path string, form url.Values, coding string,
) ([]byte, error) {
	address := l.url(role) + path
	if len(form) > 0 {
		address += "?" + form.Encode()
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Authorization", "Bearer "+l.key)
	q.Header.Set("Accept-Encoding", coding)
	a, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", a.Status, b)
	}
	return b, err
}

// newest returns when a node's newest value was taken, in ms.
func (l *line) newest(ctx context.Context, node string) (int64, error) {
	b, err := l.get(ctx, "api", "/v1/nodes/"+node+"/metrics",
		url.Values{"metrics": {"jvm_heap_used_bytes"}})
	if err != nil {
		return 0, err
	}
	return benchline.Newest(b)
}

// ask asks the api and returns how long that took. Browsers, Grafana and Prometheus all take gzip.
func (l *line) ask(ctx context.Context, q *crowd.Question) (time.Duration, error) {
	start := time.Now()
	_, err := l.getCoded(ctx, "api", q.Path, q.Form(q.Words, start), "gzip")
	return time.Since(start), err
}

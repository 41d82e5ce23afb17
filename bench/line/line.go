// Package line runs the whole of Ringwatch on free ports: Cassandra with the agent in it, Kafka,
// Redis and every role in one process. The end-to-end tests and the benchmarks that need all of
// it share it.
package line

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
)

// Config says what to run. Dir, Binary and Jar are needed.
type Config struct {
	Dir       string        // data, logs and configuration
	Binary    string        // bin/ringwatch
	Jar       string        // the agent; empty: Cassandra without it
	Interval  time.Duration // the agent's; 5 s by default
	Self      time.Duration // how often the roles send their own metrics; 0: never
	Cassandra string        // more keys of the section cassandra, as ", grace: 1s"
	Accounts  []string      // more accounts, for all clusters
	More      string        // more sections of the configuration, as YAML
	Env       []string      // more environment of the roles
	Progress  func(string)  // may be nil
}

// Line is what runs.
type Line struct {
	Engines
	API     string // URL without a path
	Ingest  string
	Scrape  string // the agent's /metrics
	Key     string // may read and write, account "default"
	Account string
	Keys    map[string]string // by account of Config.Accounts: one that may read and write

	config    Config
	yaml      string
	ringwatch *engines.Process
}

// Start starts everything and waits until the roles are ready. What it started dies with this
// process; Stop ends it earlier.
func Start(ctx context.Context, c Config) (*Line, error) {
	if c.Interval == 0 {
		c.Interval = 5 * time.Second
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	api, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return nil, err
	}
	ingest, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return nil, err
	}
	l := &Line{config: c, Key: account.NewKey(), Account: "default",
		API:    fmt.Sprintf("http://127.0.0.1:%d", api),
		Ingest: fmt.Sprintf("http://127.0.0.1:%d", ingest)}
	var args []string
	if c.Jar != "" {
		scrape, err := engines.FreePort("127.0.0.1")
		if err != nil {
			return nil, err
		}
		l.Scrape = fmt.Sprintf("http://127.0.0.1:%d/metrics", scrape)
		agent := filepath.Join(c.Dir, "agent.yaml")
		text := fmt.Sprintf("ingest:\n  urls: [%q]\n  key: %s\ninterval: %dms\nlisten: "+
			"127.0.0.1:%d\n", l.Ingest, l.Key, c.Interval.Milliseconds(), scrape)
		if err := os.WriteFile(agent, []byte(text), 0o600); err != nil {
			return nil, err
		}
		jar, err := filepath.Abs(c.Jar)
		if err != nil {
			return nil, err
		}
		args = append(args, "-javaagent:"+jar+"="+agent)
	}
	if err := l.StartEngines(ctx, c.Dir, engines.CassandraConfig{Heap: "768M", JVMArgs: args,
		Progress: c.Progress}, &engines.KafkaConfig{Progress: c.Progress}); err != nil {
		l.Stop()
		return nil, err
	}
	l.yaml = filepath.Join(c.Dir, "ringwatch.yaml")
	text := fmt.Sprintf(`accounts:
%s%skafka: {brokers: [%q], partitions: 4, instance_id: line}
cassandra: {hosts: [%q]%s}
redis: {addresses: [%q]}
ingest: {listen: "127.0.0.1:%d"}
api: {listen: "127.0.0.1:%d"}
lookup: {tables: [{table: shop.orders, accounts: [default]}]}
`, Account("default", l.Key, "read, write, rules, admin"), l.accounts(), l.Kafka.Addr(),
		l.Cassandra.Addr(), c.Cassandra,
		l.Redis.Addr(), ingest, api)
	text += Unlimited + c.More
	if c.Self > 0 {
		text += fmt.Sprintf("self: {url: %q, key: %s, interval: %dms}\n", l.Ingest, l.Key,
			c.Self.Milliseconds())
	}
	if err := os.WriteFile(l.yaml, []byte(text), 0o600); err != nil {
		l.Stop()
		return nil, err
	}
	if err := l.StartRingwatch(ctx); err != nil {
		l.Stop()
		return nil, err
	}
	return l, nil
}

// accounts makes the further accounts, and returns them as YAML.
func (l *Line) accounts() (text string) {
	l.Keys = map[string]string{}
	for _, name := range l.config.Accounts {
		l.Keys[name] = account.NewKey()
		text += Account(name, l.Keys[name], "read, write")
	}
	return text
}

// StartRingwatch starts the roles and waits until both listeners are ready.
func (l *Line) StartRingwatch(ctx context.Context) error {
	p, err := engines.StartProcess(engines.ProcessConfig{Name: "ringwatch", Path: l.config.Binary,
		Args: []string{"all", "--config", l.yaml}, Env: l.config.Env,
		Log: filepath.Join(l.config.Dir, "ringwatch.log")})
	if err != nil {
		return err
	}
	l.ringwatch = p
	return Ready(ctx, p, l.Ingest, l.API)
}

// Ready waits until a process of ours says at each URL that it is ready.
func Ready(ctx context.Context, p *engines.Process, urls ...string) error {
	ctx, cancel := context.WithTimeout(ctx, engines.StartTimeout)
	defer cancel()
	for _, base := range urls {
		err := Until(ctx, base+" to be ready", func(ctx context.Context) error {
			if !p.Running() {
				cancel()
				words, _ := engines.LastWords(p.LogFile())
				return fmt.Errorf("it ended: %q", words)
			}
			_, err := Get(ctx, Plain, base+"/-/ready", "")
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RestartRingwatch ends the roles in order, and starts them again as StartRingwatch does.
func (l *Line) RestartRingwatch(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := l.ringwatch.Stop(bounded); err != nil {
		return err
	}
	return l.StartRingwatch(ctx)
}

// KillRingwatch ends the roles as a crash would.
func (l *Line) KillRingwatch() error { return l.ringwatch.Kill() }

// Stop ends everything; it is safe on a Line that is half started.
func (l *Line) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if l.ringwatch != nil {
		l.ringwatch.Stop(ctx)
	}
	l.KillEngines()
}

// Get asks the API for a path with its query and decodes the JSON answer.
func (l *Line) Get(ctx context.Context, path string, into any) error {
	return get(ctx, l.API+path, l.Key, into)
}

// Text asks the API and returns the answer as it is.
func (l *Line) Text(ctx context.Context, path string) (text string, err error) {
	return text, get(ctx, l.API+path, l.Key, &text)
}

// Post gives ingest a frame of the key's account, again while it is told to wait.
func (l *Line) Post(ctx context.Context, key string, b []byte) error {
	for {
		taken, _, err := Post(ctx, http.DefaultClient, l.Ingest, key, b)
		if taken || err != nil {
			return err
		}
		if err := bench.Pass(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// Send gives an ingest a frame until it takes it, also if nobody answers, or refuses it for good.
// It pauses for as long as pause makes of what ingest said.
func Send(ctx context.Context, client *http.Client, ingest, key string, b []byte,
	pause func(after time.Duration) time.Duration) error {
	for {
		taken, after, err := Post(ctx, client, ingest, key, b)
		if taken || errors.Is(err, ErrRefused) {
			return err
		}
		if err := bench.Pass(ctx, pause(after)); err != nil {
			return err
		}
	}
}

// ErrRefused is Post's when an ingest takes a frame neither now nor later.
var ErrRefused = errors.New("ingest refuses the frame")

// Post gives an ingest a frame once. One that it does not take, with 429 or 5xx, may be sent again,
// after the time that it said, if it did. The error is ErrRefused, or why there was no answer.
func Post(ctx context.Context, client *http.Client, ingest, key string,
	b []byte) (taken bool, after time.Duration, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, ingest+"/v1/frames",
		bytes.NewReader(b))
	if err != nil {
		return false, 0, err
	}
	q.Header.Set("Authorization", "Bearer "+key)
	q.Header.Set("Content-Type", frame.ContentType)
	a, err := client.Do(q)
	if err != nil {
		return false, 0, err
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(a.Body, 300)) // to its end, so the connection stays
	switch {
	case a.StatusCode/100 == 2:
		return true, 0, nil
	case a.StatusCode/100 == 5 || a.StatusCode == http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		return false, time.Duration(seconds) * time.Second, nil
	}
	return false, 0, fmt.Errorf("%w: it answers %s: %s", ErrRefused, a.Status, text)
}

func get(ctx context.Context, address, key string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	b, err := Get(ctx, http.DefaultClient, address, key)
	if err != nil {
		return err
	}
	if text, is := into.(*string); is {
		*text = string(b)
		return nil
	}
	return json.Unmarshal(b, into)
}

// Plain is a client for many questions. Answers come unpacked, as nobody is to pack on the cores
// that are measured.
var Plain = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64,
	DisableCompression: true}}

// Get returns an answer that is 200 OK; key may be empty. headers are names and values in turn.
func Get(ctx context.Context, client *http.Client, address, key string,
	headers ...string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if key != "" {
		q.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 1; i < len(headers); i += 2 {
		q.Header.Set(headers[i-1], headers[i])
	}
	a, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s: %.300s", address, a.Status, b)
	}
	return b, err
}

// Node is one entry of /v1/nodes.
type Node struct{ ID, Cluster, Datacenter, Rack string }

// Nodes returns what /v1/nodes lists.
func (l *Line) Nodes(ctx context.Context) (nodes []Node, err error) {
	return nodes, l.Get(ctx, "/v1/nodes", &nodes)
}

// Payload is the part of a metrics answer that tests and benches read.
type Payload struct {
	Metric string
	Type   string
	Labels map[string]string
	Values []map[string]any
}

// Metrics returns a node's newest values of a selector, or those of a time range when query
// (&period=15m) says so.
func (l *Line) Metrics(ctx context.Context, node, selector, query string) ([]Payload, error) {
	var answer []struct{ Payload []Payload }
	if err := l.Get(ctx, "/v1/nodes/"+node+"/metrics?metrics="+url.QueryEscape(selector)+query,
		&answer); err != nil {
		return nil, err
	}
	var all []Payload
	for _, a := range answer {
		all = append(all, a.Payload...)
	}
	return all, nil
}

// Until calls try until it succeeds, every 20 ms or, where a try takes long, less often. It
// returns the last error when ctx ends.
func Until(ctx context.Context, what string, try func(context.Context) error) error {
	for {
		began := time.Now()
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain for %s: %w", what, err)
		case <-time.After(pauseAfter(time.Since(began))):
		}
	}
}

// pauseAfter is how long Until waits after a try that took so long: what is waited for needs the
// processors more than whoever asks for it.
func pauseAfter(took time.Duration) time.Duration {
	return min(max(4*took, 20*time.Millisecond), time.Second)
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/dev/engines"
	wait "github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/rules/notify"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/following"
)

// rulesLine is ingest and rules as processes, a Kafka, a Redis and an Alertmanager, and a few nodes
// of two accounts that send a frame every second.
type rulesLine struct {
	*testing.T
	kafka  *engines.Kafka
	am     *engines.Alertmanager
	dir    string
	self   string
	ingest int // port
	keys   map[string]string
	roles  map[string]*engines.Process // of rules, by name
	ports  map[string]int

	mu     sync.Mutex
	nodes  []*lineNode
	topic  []notify.Alert         // changes in their order
	states map[string]rules.State // by account/cluster
	// the newest instant at which an alert was pending, by account, name and node
	pending map[string]int64
	told    map[string][]string // by people's Alertmanager: states by account and name
	board   *rules.Status
}

// lineNode is a node whose load a test sets.
type lineNode struct {
	*frametest.Node
	account string
	load    float64
}

const lineRules = `
groups:
- name: quick
  interval: 1s
  rules:
  - {alert: High, expr: node_load1 > 3, for: 4s}
  - {alert: Higher, expr: node_load1 > 30}
  - {alert: Down, expr: up == 0}
  - {record: "cluster:load:max", expr: max by (cluster) (node_load1)}
`

func newRulesLine(t *testing.T) *rulesLine {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := &rulesLine{T: t, dir: t.TempDir(), self: self, keys: map[string]string{},
		roles: map[string]*engines.Process{}, ports: map[string]int{},
		states: map[string]rules.State{}, pending: map[string]int64{}, told: map[string][]string{}}
	people := httptest.NewServer(http.HandlerFunc(l.hear))
	t.Cleanup(people.Close)
	l.kafka = engines.MustKafka(t)
	redis := engines.MustRedis(t)
	l.am = engines.MustAlertmanager(t, fmt.Sprintf(`
route: {receiver: people, group_by: [account, alertname], group_wait: 200ms, group_interval: 500ms, repeat_interval: 4h}
receivers: [{name: people, webhook_configs: [{url: %q, send_resolved: true}]}]
`, people.URL))
	ports := engines.FreePorts(t, 5)
	l.ingest = ports[0]
	l.ports["one"], l.ports["two"] = ports[1], ports[2]
	gossip := map[string]int{"one": ports[3], "two": ports[4]}
	own := map[string]string{"": lineRules,
		"zeta": "groups: [{name: own, interval: 1s, rules: [{alert: Own, expr: node_load1 > 3}]}]"}
	for of, text := range own {
		if err := os.WriteFile(l.file(of), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	accounts := ""
	for _, name := range []string{"acme", "zeta"} {
		l.keys[name] = account.NewKey()
		accounts += fmt.Sprintf("  - {name: %s, clusters: [\"*\"], keys: [{name: all, sha256: "+
			"%s, scopes: [read, write]}]}\n",
			name, account.Hash(l.keys[name]))
	}
	for name, port := range l.ports {
		text := fmt.Sprintf(`accounts:
%s
keys: {stored: false}
kafka: {brokers: [%q], partitions: 4, instance_id: %s}
redis: {addresses: [%q]}
ingest: {listen: "127.0.0.1:%d"}
rules: {listen: "127.0.0.1:%d", shipped: false, files: [%q], accounts: {zeta: [%q]}, resend_delay: 3s, delay: 500ms, settle: 5s}
notify:
  dir: %q
  alertmanagers: [{static_configs: [{targets: [%q]}]}]
  late_spacing: 2s
  firing_lasts: %s
  gossip: {listen: "127.0.0.1:%d", peers: ["127.0.0.1:%d", "127.0.0.1:%d"]}
  route: {receiver: people, group_by: [account, alertname, node], group_wait: 200ms, group_interval: 500ms, repeat_interval: 4h}
  receivers: [{name: people, webhook_configs: [{url: %q}]}]
`, accounts, l.kafka.Addr(), name, redis.Addr(), l.ingest, port, l.file(""), l.file("zeta"),
			filepath.Join(l.dir, name), l.am.Addr(), wait.Patience,
			gossip[name], gossip["one"], gossip["two"], people.URL+ownWay)
		if err := os.WriteFile(l.config(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ingest := l.process("ingest", "one")
	l.start("one")
	for port, p := range map[int]*engines.Process{l.ingest: ingest,
		l.ports["one"]: l.roles["one"]} {
		eventually(t, "the roles to be ready", func(ctx context.Context) error {
			if !p.Running() {
				t.Fatalf("%s has ended", p.LogFile())
			}
			_, err := metricsOf(ctx, fmt.Sprintf("http://127.0.0.1:%d/-/ready", port))
			return err
		})
	}
	l.follow()
	return l
}

func (l *rulesLine) config(role string) string { return filepath.Join(l.dir, role+".yaml") }
func (l *rulesLine) file(of string) string     { return filepath.Join(l.dir, "rules"+of+".yml") }

// Process starts a role. It is killed when the test ends.
func (l *rulesLine) process(role, config string) *engines.Process {
	l.Helper()
	p, err := engines.StartProcess(engines.ProcessConfig{Name: "ringwatch " + role, Path: l.self,
		Args: []string{role, "--config", l.config(config)}, Env: []string{asRingwatch},
		Log: filepath.Join(l.dir, role+"-"+config+".log")})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() {
		p.Kill()
		if b, err := os.ReadFile(p.LogFile()); l.Failed() && err == nil {
			l.Logf("the end of %s's log:\n%s", role, b[max(0, len(b)-6<<10):])
		}
	})
	return p
}

// Start starts the role rules under a name; kill ends it as a crash does.
func (l *rulesLine) start(name string) { l.roles[name] = l.process("rules", name) }

func (l *rulesLine) kill(t *testing.T, name string) {
	t.Helper()
	if err := l.roles[name].Kill(); err != nil {
		t.Fatal(err)
	}
}

// ownWay is the path at which people hear what the processes tell without an Alertmanager beside
// them. An alert's name ends with it then.
const ownWay = "/own"

// hear is the webhook of Alertmanager, and of the processes themselves.
func (l *rulesLine) hear(_ http.ResponseWriter, r *http.Request) {
	var m struct {
		Alerts []struct {
			Status string
			Labels map[string]string
		}
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range m.Alerts {
		key := a.Labels["account"] + " " + a.Labels["alertname"]
		if r.URL.Path == ownWay {
			key += ownWay
		}
		key += " " + a.Labels["node"]
		if n := len(l.told[key]); n == 0 || l.told[key][n-1] != a.Status { // a group is told whole
			l.told[key] = append(l.told[key], a.Status)
		}
	}
}

// Log opens one of the topics that processes write beside the frames.
func (l *rulesLine) log(c stream.LogConfig) *stream.Log {
	l.Helper()
	of := stream.DefaultConfig()
	of.Partitions = 4
	k := mustStream(l, l.kafka)
	if err := line.Until(l.Context(), "the topic "+c.Topic, func(ctx context.Context) error {
		return stream.EnsureLog(ctx, k, of, c)
	}); err != nil {
		l.Fatal(err)
	}
	log, err := stream.NewLog(k, of, c, prometheus.NewRegistry())
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(log.Close)
	return log
}

// follow reads what the roles say, for as long as the test runs.
func (l *rulesLine) follow() {
	p := &wire.Process{Config: &settings.Config{Kafka: settings.DefaultKafka()}}
	p.Config.Kafka.Partitions = 4
	alerts := notify.DefaultConfig().Topic
	alerts.Partitions = 4
	c := rules.DefaultConfig()
	c.Shipped, c.Files, c.Accounts = false, []string{l.file("")},
		map[string][]string{"zeta": {l.file("zeta")}}
	board, err := rules.NewStatus(c, rules.Deps{})
	if err != nil {
		l.Fatal(err)
	}
	l.board = board
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	l.Cleanup(func() { cancel(); all.Wait() })
	read := func(c stream.LogConfig, take func(stream.Entry) error) {
		log := l.log(c)
		all.Go(func() {
			for ctx.Err() == nil {
				at, err := log.Read(ctx, nil, take)
				if err == nil {
					err = log.Follow(ctx, at, take)
				}
				if err != nil && ctx.Err() == nil {
					clock.Pause(ctx, 100*time.Millisecond)
				}
			}
		})
	}
	seen := map[string]bool{}
	read(alerts, func(e stream.Entry) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		place := fmt.Sprint(e.Partition, " ", e.Offset)
		if a, err := notify.AlertOf(e); err == nil && !seen[place] {
			seen[place] = true
			l.topic = append(l.topic, a)
		}
		return nil
	})
	read(topic.StatesLog(p.Config.Kafka.Partitions), func(e stream.Entry) error {
		s, err := rules.UnpackState(e.Value)
		if err != nil {
			return nil
		}
		l.board.Put(s)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.states[e.Account+"/"+e.Cluster] = s
		return nil
	})
	all.Go(func() { l.frames(ctx) })
	all.Go(func() { l.live(ctx) })
}

// frames follows what rules record: the series ALERTS, for what is pending.
func (l *rulesLine) frames(ctx context.Context) {
	client, err := kgo.NewClient(kgo.SeedBrokers(l.kafka.Addr()),
		kgo.ConsumeTopics("ringwatch.frames"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		l.Error(err)
		return
	}
	defer client.Close()
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			h, _, err := frame.Parse(r.Value)
			if err != nil || !frame.IsRecorder(h.Node) {
				return
			}
			who, _, _ := strings.Cut(string(r.Key), "/")
			f := following.New(window.Node{}, nil) // such a frame stands alone
			_, _ = f.Frame(nil, r.Value, func(c *following.Cell) {
				of := c.Labels()
				if of.Get("__name__") == "ALERTS" && of.Get("alertstate") == "pending" {
					l.mu.Lock()
					l.pending[who+" "+of.Get("alertname")+" "+of.Get("node")] = h.At
					l.mu.Unlock()
				}
			})
		})
	}
}

// Live lets the nodes send their frames in order, each until it is taken.
func (l *rulesLine) live(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var wait [][]byte
	var whose []string
	for {
		l.mu.Lock()
		for _, n := range l.nodes {
			n.Entities[0][0].Cells[1].Double = n.load
			wait, whose = append(wait, n.Frame(time.Now().UnixMilli())), append(whose, n.account)
		}
		l.mu.Unlock()
		for len(wait) > 0 && l.post(ctx, whose[0], wait[0]) {
			wait, whose = wait[1:], whose[1:]
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *rulesLine) post(ctx context.Context, who string, b []byte) bool {
	bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(bounded, http.MethodPost,
		fmt.Sprintf("http://127.0.0.1:%d/v1/frames", l.ingest), strings.NewReader(string(b)))
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+l.keys[who])
	req.Header.Set("Content-Type", frame.ContentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if c := resp.StatusCode; c/100 == 4 && c != http.StatusTooManyRequests {
		l.Errorf("ingest refuses a frame: %s %s", resp.Status, text)
		return true
	}
	return resp.StatusCode/100 == 2
}

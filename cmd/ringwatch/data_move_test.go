package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/account"
	"github.com/ringwatch/ringwatch/engines"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// steady sends frames of a fleet to one address, as agents do: what is not taken is sent again, in
// order.
type steady struct {
	fleet  *promFleet
	ingest string

	mu   sync.Mutex
	sent []int64 // times of the frames that were taken
	stop context.CancelFunc
	done chan struct{}
}

func (s *steady) start() {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		for ctx.Err() == nil {
			at := time.Now().UnixMilli()
			for _, n := range s.fleet.nodes {
				n.Step()
				b := n.Frame(at)
				for s.fleet.post(context.Background(), s.ingest, b) != nil && ctx.Err() == nil {
					pause(ctx, 20*time.Millisecond)
				}
			}
			if ctx.Err() != nil {
				return // some of these may be missing
			}
			s.mu.Lock()
			s.sent = append(s.sent, at)
			s.mu.Unlock()
			pause(ctx, 300*time.Millisecond)
		}
	}()
}

func (s *steady) taken() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// await waits until more frames are taken.
func (s *steady) await(t *testing.T, more int) {
	t.Helper()
	want := len(s.taken()) + more
	eventually(t, "more frames", func(context.Context) error {
		if n := len(s.taken()); n < want {
			return fmt.Errorf("%d, not %d", n, want)
		}
		return nil
	})
}

// movingLine is a directory that moves into a Cassandra and a Kafka.
type movingLine struct {
	directory
	line   string // the configuration after the move
	cass   *engines.Cassandra
	broker *engines.Kafka
	sender *steady
	base   int64
}

// questions are about the time before; their answers never change.
func (d *movingLine) questions() map[string]string {
	node := d.fleet.nodes[0].ID.String()
	span := fmt.Sprintf("&from=%d&to=%d", d.base-pastSpan, d.base-1)
	over := func(q string) string {
		return "/api/v1/query_range?" + url.Values{
			"query": {q},
			"start": {fmt.Sprint((d.base - pastSpan) / 1000)},
			"end":   {fmt.Sprint(d.base / 1000)},
			"step":  {"15"},
		}.Encode()
	}
	at := func(q string) string {
		return "/api/v1/query?" + url.Values{
			"query": {q},
			"time":  {fmt.Sprint(d.base / 1000)},
		}.Encode()
	}
	return map[string]string{
		"a gauge": over(`node_load1{cluster="moving-prod"}`),
		"a rate": over(
			`sum by (node) (rate(node_cpu_seconds_total{cluster="moving-prod"}[2m]))`,
		),
		"a quantile": over(
			`histogram_quantile(0.99, sum(rate(` +
				`cassandra_table_read_latency_seconds{cluster="moving-prod"}[3m])))`,
		),
		"over time": at(`count_over_time(node_load1{cluster="moving-prod"}[11m])`),
		"samples of a table": "/v1/nodes/" + node + `/metrics?metrics=` + url.QueryEscape(
			`{__name__=~"cassandra_table_.*"}`,
		) + span,
		"the clusters": "/v1/clusters",
	}
}

// ask returns what there is of all questions.
func (d *movingLine) ask(ctx context.Context) (map[string]string, error) {
	got := map[string]string{}
	for name, path := range d.questions() {
		text, err := d.get(ctx, d.fleet.key, path)
		if err != nil {
			return nil, err
		}
		if data := dataOf(text); data != nil {
			text = string(data)
		}
		if name == "the clusters" {
			text = fmt.Sprint(strings.Count(text, `"`+d.fleet.cluster+`"`))
		}
		got[name] = text
	}
	return got, nil
}

// others are answers that change, without what changes in them.
func (d *movingLine) others(t *testing.T) map[string]string {
	t.Helper()
	flags := clientFlags{API: d.api, Key: d.fleet.key}
	api, err := flags.client()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	list, err := api.alerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		name := a.Labels["alertname"]
		ours := name == "NodeIsThere" && a.Labels["cluster"] == d.fleet.cluster
		if ours || name == "OverAllClusters" {
			got["alert "+name+a.Labels["node"]] = fmt.Sprint(a.State, " since ", a.ActiveAt)
		}
	}
	for _, path := range []string{"/v1/nodes", "/api/v1/rules?type=alert"} {
		text, err := d.get(t.Context(), d.fleet.key, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{`"NodeIsThere"`, `"OverAllClusters"`,
			d.fleet.nodes[0].ID.String(), d.fleet.nodes[2].ID.String()} {
			got[path] += fmt.Sprint(word, strings.Contains(text, word), " ")
		}
	}
	return got
}

// move runs the command in this process.
func (d *movingLine) move(
	t *testing.T,
	config string,
	change ...func(*dataMoveCmd),
) (string, error) {
	t.Helper()
	c := dataMoveCmd{Config: config, Data: d.data, Wait: time.Minute}
	for _, f := range change {
		f(&c)
	}
	var out bytes.Buffer
	err := c.run(t.Context(), &out)
	t.Logf("ringwatch data move: %v\n%s", err, &out)
	return out.String(), err
}

func (d *movingLine) configs(t *testing.T, accounts, more string) string {
	t.Helper()
	return configFile(
		t,
		fmt.Sprintf("accounts: [%s]\ningest: {listen: %q}\napi: {listen: %q}\n%s", accounts,
			strings.TrimPrefix(d.ingest, "http://"), strings.TrimPrefix(d.api, "http://"), more),
	)
}

// lineOf is a configuration that names both engines.
func (d *movingLine) lineOf(t *testing.T, accounts, keyspace, more string) string {
	t.Helper()
	return d.configs(
		t,
		accounts,
		fmt.Sprintf("cassandra: {hosts: [%q], keyspace: %s, grace: 1s}\nkafka: {brokers: [%q]%s}\n",
			d.cass.Addr(), keyspace, d.broker.Addr(), more),
	)
}

// TestMoveToTheLine moves the directory of a process that takes frames and is asked all the time
// into Cassandra and Kafka. The mover is killed on the way, and Cassandra, too.
func TestMoveToTheLine(t *testing.T) {
	engines.Needed(t, "Cassandra and Kafka")
	ports := engines.FreePorts(t, 2)
	d := &movingLine{cass: engines.MustCassandra(t), broker: engines.MustKafka(t)}
	d.data, d.log = filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "log")
	d.ingest, d.api = fmt.Sprintf(
		"http://127.0.0.1:%d",
		ports[0],
	), fmt.Sprintf(
		"http://127.0.0.1:%d",
		ports[1],
	)
	t.Cleanup(func() {
		if b, err := os.ReadFile(d.log); t.Failed() && err == nil {
			t.Logf("the end of the log:\n%s", b[max(0, len(b)-16<<10):])
		}
	})
	configured := account.NewKey()
	mover := fmt.Sprintf(
		"{name: mover, keys: [{name: fixed, sha256: %s, scopes: [read]}]}",
		account.Hash(configured),
	)
	d.config = d.configs(t, mover+", {name: other}", "cassandra: {grace: 1s}\n")
	d.line = d.lineOf(t, mover+", {name: other}", "moved_here", "")
	d.begin(t)
	d.fleet = &promFleet{cluster: "moving-prod", load: map[int64][]float64{},
		key: d.keyOf(t, "all", account.Read, account.Write, account.Rules)}
	for n := range 3 {
		node := frametest.New(d.fleet.cluster, uint64(8200+n), 12)
		node.Interval = pastEvery
		d.fleet.nodes = append(d.fleet.nodes, node)
	}
	large := &promFleet{cluster: "large-prod", load: map[int64][]float64{}, key: d.fleet.key}
	for n := range 6 { // rows do not lie in files before they are many
		node := frametest.New(large.cluster, uint64(8300+n), 1500)
		node.Interval = pastEvery
		large.nodes = append(large.nodes, node)
	}
	rules := filepath.Join(t.TempDir(), "whole.yaml")
	if err := os.WriteFile(rules, []byte(wholeRules), 0o600); err != nil {
		t.Fatal(err)
	}
	apply := rulesApplyCmd{
		clientFlags: clientFlags{API: d.api, Key: d.fleet.key},
		Files:       []string{rules},
	}
	if err := apply.run(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	d.base = time.Now().UnixMilli() / pastEvery * pastEvery
	for at := d.base - pastSpan; at < d.base; at += pastEvery {
		d.fleet.send(t, d.ingest, at)
		large.send(t, d.ingest, at)
	}
	d.sender = &steady{fleet: d.fleet, ingest: d.ingest}
	d.sender.start()
	t.Cleanup(func() { d.sender.stop(); <-d.sender.done })
	var before, settled map[string]string
	eventually(t, "answers that stay", func(ctx context.Context) (err error) {
		before, settled = settled, nil
		if settled, err = d.ask(ctx); err == nil &&
			(!maps.Equal(before, settled) || strings.Count(settled["over time"], `"65"`) != 3) {
			err = fmt.Errorf("they change: %.300s", settled["over time"])
		}
		return err
	})
	eventually(t, "the alerts", func(context.Context) error {
		if got := d.others(t); len(got) != 6 || strings.Contains(fmt.Sprint(got), "pending") {
			return fmt.Errorf("there is %v", got)
		}
		return nil
	})
	others := d.others(t)
	t.Run("Refused", d.testMoveRefused)
	t.Run("DryRun", func(t *testing.T) {
		said, err := d.move(t, d.line, func(c *dataMoveCmd) { c.DryRun = true })
		if err != nil || !strings.Contains(said, "nothing was done") ||
			isThere(filepath.Join(d.data, moveName)) {
			t.Errorf("%v: %s", err, said)
		}
	})
	files, err := filepath.Glob(filepath.Join(d.data, "rows", "rows", "*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("the directory has %d files of rows: %v", len(files), err)
	}
	d.keepAsking(t, before)
	d.interrupted(t)
	d.sender.await(t, 3)
	if got, err := d.ask(t.Context()); err != nil || !maps.Equal(got, before) {
		t.Fatalf("%v, answers beside a move that was interrupted: %.1000v", err, got)
	}

	said, err := d.move(t, d.line)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, "start ringwatch all --config "+d.line+" now") {
		t.Errorf("it does not say what to start: %s", said)
	}
	<-d.Done()
	log, err := os.ReadFile(d.log)
	if err != nil ||
		!strings.Contains(
			string(log),
			"ringwatch data move takes the directory over; this process ends",
		) ||
		!strings.Contains(string(log), "msg=stopped") {
		t.Errorf("the process does not say why it ends: %v", err)
	}
	if _, err := d.move(t, d.line); err == nil ||
		!strings.Contains(err.Error(), d.data+" was moved to keyspace moved_here at") {
		t.Errorf("a second move: %v", err)
	}
	d.refused(t, "was moved to keyspace moved_here at", "all")

	old := d.config
	d.config = d.line
	d.begin(t)
	d.config = old
	eventually(t, "the same answers", func(ctx context.Context) error {
		got, err := d.ask(ctx)
		for name := range before {
			if err == nil && got[name] != before[name] {
				err = fmt.Errorf("%s is\n%.2000s\nand was\n%.2000s", name, got[name], before[name])
			}
		}
		return err
	})
	eventually(t, "the same alerts", func(context.Context) error {
		if got := d.others(t); !maps.Equal(got, others) {
			return fmt.Errorf("there is\n%v\nand was\n%v", got, others)
		}
		return nil
	})
	if _, err := d.get(t.Context(), configured, "/v1/clusters"); err != nil {
		t.Errorf("the key of the configuration: %v", err)
	}
	d.sender.await(t, 5)
	d.sender.stop()
	<-d.sender.done
	d.allThere(t)
	d.firedOnce(t)
	longest := int64(0)
	for i, at := range d.sender.taken()[1:] {
		longest = max(longest, at-d.sender.taken()[i])
	}
	t.Logf("a frame waited %d ms for its turn at most", longest)
}

// TestGivesUpItsDirectory: who is asked to gives its directory up, with exit code 0.
func TestGivesUpItsDirectory(t *testing.T) {
	ports := engines.FreePorts(t, 2)
	d := &movingLine{}
	d.ingest, d.api = fmt.Sprintf(
		"http://127.0.0.1:%d",
		ports[0],
	), fmt.Sprintf(
		"http://127.0.0.1:%d",
		ports[1],
	)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, data := d.configs(t, "{name: alone}", ""), filepath.Join(t.TempDir(), "data")
	cmd := exec.CommandContext(t.Context(), self, "all", "--config", config, "--data", data)
	cmd.Env = append(os.Environ(), asRingwatch)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process", func(ctx context.Context) error { return ready(ctx, d.api) })
	running := askRunning(data)
	defer running.Close()
	eventually(t, "the socket", func(ctx context.Context) error {
		has, err := running.Move(ctx)
		if err == nil &&
			(len(has.Accounts) != 1 || has.Accounts[0].Name != "alone" ||
				has.Topic != "ringwatch.frames") {
			t.Fatalf("it has %+v", has)
		}
		return err
	})
	if err := running.GiveUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v\n%s", err, &stderr)
	}
	for _, want := range []string{"this process ends", "msg=stopped"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("it does not say %q: %s", want, &stderr)
		}
	}
}

// keyOf makes an API key of the account mover.
func (d *movingLine) keyOf(t *testing.T, name string, scopes ...account.Scope) string {
	t.Helper()
	var out bytes.Buffer
	c := keyCreateCmd{keyFlags: d.keyFlags(), Name: name, Account: "mover", Scopes: scopes}
	if err := c.run(t.Context(), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// keepAsking asks until the test's end. Whoever answers, says the same.
func (d *movingLine) keepAsking(t *testing.T, want map[string]string) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	asked := 0
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			got, err := d.ask(ctx)
			if err != nil { // nobody is there, or the answer waits for what is on its way
				pause(ctx, 50*time.Millisecond)
				continue
			}
			asked++
			for name := range want {
				if got[name] != want[name] && ctx.Err() == nil {
					t.Errorf(
						"meanwhile %s is\n%.1000s\nand was\n%.1000s",
						name,
						got[name],
						want[name],
					)
					return
				}
			}
			pause(ctx, 200*time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Logf("asked %d times meanwhile", asked); asked == 0 {
			t.Error("nothing was answered meanwhile")
		}
	})
}

// interrupted kills a mover, and then the Cassandra of another.
func (d *movingLine) interrupted(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	begin := func() *engines.Process {
		p, err := engines.StartProcess(engines.ProcessConfig{
			Name: "ringwatch data move", Path: self,
			Args: strings.Fields("data move --config " + d.line + " --data " + d.data + " --wait 10s"),
			Env:  []string{asRingwatch}, Log: filepath.Join(t.TempDir(), "log"),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Kill() })
		return p
	}
	copied := func(p *engines.Process, n int) {
		t.Helper()
		for {
			s, err := readMove(d.data)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Copied) >= n {
				return
			}
			select {
			case <-p.Done():
				b, err := os.ReadFile(p.LogFile())
				t.Fatalf("the mover has ended: %v\n%s", err, b)
			case <-time.After(2 * time.Millisecond):
			}
		}
	}
	away := begin()
	copied(away, 1)
	if err := d.cass.Pause(); err != nil {
		t.Fatal(err)
	}
	<-away.Done()
	b, err := os.ReadFile(away.LogFile())
	if err != nil || !strings.Contains(string(b), "rows cannot be moved now") ||
		!strings.Contains(string(b), "nothing is lost, and who has "+d.data+" goes on: run this again") {
		t.Errorf("a mover whose Cassandra is away: %v\n%s", err, b)
	}
	if err := d.cass.Resume(); err != nil {
		t.Fatal(err)
	}
	s, err := readMove(d.data)
	if err != nil {
		t.Fatal(err)
	}
	killed := begin()
	copied(killed, len(s.Copied)+1)
	if err := killed.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := ready(t.Context(), d.ingest); err != nil {
		t.Fatalf("the process ends with the mover: %v", err)
	}
}

func (d *movingLine) testMoveRefused(t *testing.T) {
	c, _, err := (&roleFlags{Config: d.lineOf(t, "{name: mover}", "occupied", "")}).load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.New(c.Cassandra, nil)
	if err == nil {
		err = errors.Join(db.Connect(t.Context()), db.Apply(t.Context()),
			db.CreateKey(t.Context(), store.Key{ID: "k", Account: "mover", Name: "n"}))
		db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	mover := fmt.Sprintf(
		"{name: mover, keys: [{name: fixed, sha256: %s, scopes: [read]}]}",
		account.Hash(account.NewKey()),
	)
	whole, err := os.ReadFile(d.line)
	if err != nil {
		t.Fatal(err)
	}
	change := func(from, to string) string {
		return configFile(t, strings.Replace(string(whole), from, to, 1))
	}
	for name, config := range map[string]string{
		"kafka.brokers is empty: name the line's with --config": d.configs(t, "{name: mover}", ""),
		"accounts: other is missing: the process that has " + d.data + " has it": d.lineOf(t, mover,
			"refused", ""),
		"accounts: key fixed of mover is missing": d.lineOf(t, mover+", {name: other}", "refused", ""),
		"kafka.topic is another: the process that has " + d.data + " has ringwatch.frames": change(
			"kafka: {", "kafka: {topic: another, "),
		"kafka.partitions is 2, and ringwatch.frames has 16 in ": change("kafka: {",
			"kafka: {partitions: 2, "),
		"the keyspace has other data: table api_keys of occupied has rows: name another": change(
			"moved_here", "occupied"),
	} {
		_, err := d.move(t, config)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if isThere(filepath.Join(d.data, moveName)) {
		t.Error("a move that was refused has begun")
	}
	empty := t.TempDir()
	if _, err := d.move(t, d.line, func(c *dataMoveCmd) { c.Data = empty }); err == nil ||
		!strings.Contains(err.Error(), "has neither rows nor a stream") {
		t.Errorf("an empty directory: %v", err)
	}
}

// allThere looks for each frame that was taken, once and with its values.
func (d *movingLine) allThere(t *testing.T) {
	t.Helper()
	sent := d.sender.taken()
	path := fmt.Sprintf("/metrics?metrics=node_load1&from=%d&to=%d", d.base, sent[len(sent)-1])
	for _, n := range d.fleet.nodes {
		eventually(t, "all frames", func(ctx context.Context) error {
			text, err := d.get(ctx, d.fleet.key, "/v1/nodes/"+n.ID.String()+path)
			if err != nil {
				return err
			}
			var list []struct {
				Payload []struct{ Values []struct{ Time time.Time } }
			}
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				return fmt.Errorf("%w: %.500s", err, text)
			}
			var got []int64
			for _, of := range list {
				for _, s := range of.Payload {
					for _, v := range s.Values {
						got = append(got, v.Time.UnixMilli())
					}
				}
			}
			if !slices.Equal(got, sent) {
				return fmt.Errorf(
					"%d frames, and %d were taken: %v, %v",
					len(got),
					len(sent),
					got,
					sent,
				)
			}
			return nil
		})
	}
}

// firedOnce looks into the topic of alerts: none has ended, or begun again.
func (d *movingLine) firedOnce(t *testing.T) {
	t.Helper()
	begun := map[string]map[time.Time]bool{}
	log, err := stream.NewLog(
		mustStream(t, d.broker),
		stream.DefaultConfig(),
		notify.DefaultConfig().Topic,
		prometheus.NewRegistry(),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, err = log.Read(t.Context(), nil, func(e stream.Entry) error {
		a, err := notify.AlertOf(e)
		if err != nil || a.Cluster == "large-prod" {
			return err
		}
		key := a.Labels.String()
		if begun[key] == nil {
			begun[key] = map[time.Time]bool{}
		}
		begun[key][a.StartsAt] = true
		if len(begun[key]) > 1 || !a.EndsAt.IsZero() {
			return fmt.Errorf("%s began at %v and ended at %v", key, begun[key], a.EndsAt)
		}
		return nil
	})
	if err != nil || len(begun) != 4 {
		t.Errorf("%v: %v", err, begun)
	}
}

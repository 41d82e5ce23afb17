package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/data"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/rulefiles"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/store"
)

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
	apply := rulefiles.RulesApplyCmd{
		Flags: client.Flags{API: d.api, Key: d.fleet.key},
		Files: []string{rules},
	}
	if err := apply.RunTo(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	d.base = time.Now().UnixMilli() / pastEvery * pastEvery
	for at := d.base - pastSpan; at < d.base; at += pastEvery {
		d.fleet.nodes[0].Events = []frame.Event{{At: at, Kind: "stop", Text: "before the move"}}
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
			(!maps.Equal(before, settled) || strings.Count(settled["over time"], `"65"`) != 3 ||
				strings.Count(settled["events"], `"before the move"`) != pastSpan/pastEvery) {
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
		said, err := d.move(t, d.line, func(c *data.DataMoveCmd) { c.DryRun = true })
		if err != nil || !strings.Contains(said, "nothing was done") ||
			datadir.Exists(filepath.Join(d.data, datadir.MoveName)) {
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
	running := datadir.AskRunning(data)
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
			Args: strings.Fields("data move --config " + d.line + " --data " + d.data +
				" --wait 10s"),
			Env: []string{asRingwatch}, Log: filepath.Join(t.TempDir(), "log"),
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
			s, err := datadir.ReadMove(d.data)
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
		!strings.Contains(string(b),
			"nothing is lost, and who has "+d.data+" goes on: run this again") {
		t.Errorf("a mover whose Cassandra is away: %v\n%s", err, b)
	}
	if err := d.cass.Resume(); err != nil {
		t.Fatal(err)
	}
	s, err := datadir.ReadMove(d.data)
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
	c, _, err := (&settings.RoleFlags{Config: d.lineOf(t, "{name: mover}", "occupied", "")}).Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.New(c.Cassandra, nil)
	if err == nil {
		err = errors.Join(db.Connect(t.Context()), db.Apply(t.Context()),
			db.CreateKey(t.Context(), account.StoredKey{ID: "k", Account: "mover", Name: "n"}))
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
		"accounts: key fixed of mover is missing": d.lineOf(t, mover+", {name: other}", "refused",
			""),
		"kafka.topic is another: the process that has " + d.data + " has ringwatch.frames": change(
			"kafka: {", "kafka: {topic: another, "),
		"kafka.partitions is 2, and ringwatch.frames has 16 in ": change("kafka: {",
			"kafka: {partitions: 2, "),
		"the keyspace has other data: table api_keys of occupied has rows: name another": change(
			"moved_here", "occupied"),
	} {
		_, err := d.move(t, config)
		if !errors.As(err, new(exit.UsageError)) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if datadir.Exists(filepath.Join(d.data, datadir.MoveName)) {
		t.Error("a move that was refused has begun")
	}
	empty := t.TempDir()
	if _, err := d.move(t, d.line, func(c *data.DataMoveCmd) { c.Data = empty }); err == nil ||
		!strings.Contains(err.Error(), "has neither rows nor a stream") {
		t.Errorf("an empty directory: %v", err)
	}
}

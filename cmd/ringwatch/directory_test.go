package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/alerts"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/data"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/keys"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/rulefiles"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/dev/engines"
	wait "github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// directory is a ringwatch all that has no engine.
type directory struct {
	promLine
	*engines.Process
	fleet             *promFleet
	config, data, log string
	given             string // a key of the configuration; "": there is none
	program           string // of another version; "": this one
}

func (d *directory) begin(t *testing.T, env ...string) {
	t.Helper()
	d.launch(t, env...)
	for _, base := range []string{d.ingest, d.api} {
		eventually(t, base, func(ctx context.Context) error { return ready(ctx, base) })
	}
}

// launch is begin without waiting for anything.
func (d *directory) launch(t *testing.T, env ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := engines.StartProcess(engines.ProcessConfig{Name: "ringwatch all",
		Path: cmp.Or(d.program, self),
		Args: []string{"all", "--config", d.config, "--data", d.data},
		Env:  append(env, asRingwatch),
		Log:  d.log})
	if err != nil {
		t.Fatal(err)
	}
	d.Process = p
	t.Cleanup(func() { p.Kill() })
}

// newDirectory is one on free ports, of an account alone. Its log is shown if the test fails.
func newDirectory(t *testing.T) *directory {
	t.Helper()
	ports := engines.FreePorts(t, 2)
	d := &directory{data: filepath.Join(t.TempDir(), "data"),
		log: filepath.Join(t.TempDir(), "log")}
	d.ingest, d.api = fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
		fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	t.Cleanup(func() {
		if b, err := os.ReadFile(d.log); t.Failed() && err == nil {
			t.Logf("the end of the log:\n%s", b[max(0, len(b)-8<<10):])
		}
	})
	d.config = configFile(t, fmt.Sprintf(`
accounts: [{name: alone}]
cassandra: {grace: 1s}
ingest: {listen: "127.0.0.1:%d"}
api: {listen: "127.0.0.1:%d"}
`, ports[0], ports[1]))
	return d
}

// configure adds lines to the configuration, before the process begins.
func (d *directory) configure(t *testing.T, lines string) {
	t.Helper()
	before, err := os.ReadFile(d.config)
	if err == nil {
		err = os.WriteFile(d.config, append(before, lines...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (d *directory) keyFlags() keys.KeyFlags {
	return keys.KeyFlags{Config: d.config, Data: d.data, Wait: wait.Patience}
}

// Key makes an API key.
func (d *directory) key(t *testing.T, name string, scopes ...account.Scope) string {
	t.Helper()
	var out bytes.Buffer
	c := keys.KeyCreateCmd{KeyFlags: d.keyFlags(), Name: name, Scopes: scopes}
	if err := c.RunTo(t.Context(), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// refused runs a command that must end with one sentence.
func (d *directory) refused(t *testing.T, want string, command ...string) {
	t.Helper()
	code, stderr := start(t, append(command, "--config", d.config, "--data", d.data)...)
	said := strings.Split(strings.TrimSpace(stderr), "\n")
	if last := said[len(said)-1]; code != exit.Misused || !strings.Contains(last, want) {
		t.Errorf("%v: exit code %d, %s", command, code, stderr)
	}
}

// TestInOneDirectory runs everything without any engine: frames, lists, PromQL, rules, API keys.
// After a kill all that was acknowledged is there, once.
func TestInOneDirectory(t *testing.T) {
	d := newDirectory(t)
	d.begin(t)
	d.fleet = &promFleet{cluster: "alone-prod", load: map[int64][]float64{},
		key: d.key(t, "all", account.Read, account.Write, account.Rules)}
	for n := range 3 {
		node := frametest.New(d.fleet.cluster, uint64(8000+n), 2)
		node.Interval = pastEvery
		d.fleet.nodes = append(d.fleet.nodes, node)
	}
	flags := client.Flags{API: d.api, Key: d.fleet.key}
	rules := filepath.Join(t.TempDir(), "whole.yaml")
	if err := os.WriteFile(rules, []byte(wholeRules), 0o600); err != nil {
		t.Fatal(err)
	}
	apply := rulefiles.RulesApplyCmd{Flags: flags, Files: []string{rules}}
	if err := apply.RunTo(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	base := time.Now().UnixMilli() / pastEvery * pastEvery
	at := base - pastSpan
	send := func(until int64) {
		for ; at <= until; at += pastEvery {
			d.fleet.send(t, d.ingest, at)
		}
	}
	d.happens(at, "before a kill")
	send(base - pastSpan/2)
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	d.key(t, "between", account.Read) // no process has the directory
	d.begin(t)
	d.secondProcesses(t)
	d.happens(at, "after it")
	send(base)
	d.answers(t, base, flags)
	copied := filepath.Join(t.TempDir(), "copy")
	backup := data.DataBackupCmd{Dir: d.data, To: copied}
	if err := backup.RunTo(io.Discard); err != nil {
		t.Fatal(err)
	}
	// The rules' alerts are known there.
	if !datadir.Exists(filepath.Join(copied, settings.NotifyName, "account-alone")) {
		t.Error("the copy has nothing of what people were told")
	}
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, d.data = range []string{d.data, copied} {
		d.begin(t)
		d.answers(t, base, flags)
		if err := d.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(d.data, datadir.SocketName)); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	var out bytes.Buffer
	check := data.DataCheckCmd{Dir: d.data}
	if err := check.RunTo(&out); err != nil || out.String() != "all files are whole\n" {
		t.Errorf("ringwatch data check: %v\n%s", err, &out)
	}
	format := filepath.Join(d.data, "rows", "FORMAT")
	if err := os.Truncate(format, 3); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := check.RunTo(&out); err == nil || !strings.HasPrefix(out.String(), format+": ") {
		t.Errorf("ringwatch data check of a damaged file: %v\n%s", err, &out)
	}
	out.Reset()
	check.JSON = true
	var damaged []data.DamagedFile
	if err := check.RunTo(&out); err == nil || json.Unmarshal(out.Bytes(), &damaged) != nil ||
		len(damaged) != 1 || damaged[0].Path != format {
		t.Errorf("ringwatch data check --json of a damaged file: %v\n%s", err, &out)
	}
}

// secondProcesses are those that somebody starts while the directory has its process.
func (d *directory) secondProcesses(t *testing.T) {
	d.refused(t, filepath.Join(d.data, "stream")+" is used by process ", "all")
	for _, command := range [][]string{{"schema", "show"},
		{"backfill", "--account", "alone", "x"}} {
		d.refused(t, "stop that process first", command...)
	}
	check := data.DataCheckCmd{Dir: d.data}
	if err := check.RunTo(io.Discard); err == nil || !strings.Contains(err.Error(),
		"stop it first") {
		t.Errorf("ringwatch data check of a running process: %v", err)
	}
	info, err := os.Stat(filepath.Join(d.data, datadir.SocketName))
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != fs.ModeSocket {
		t.Errorf("the socket: %v, %v", info, err)
	}
	revoke := keys.KeyRevokeCmd{KeyFlags: d.keyFlags(), Key: "between"}
	if err := revoke.RunTo(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	list := keys.KeyListCmd{KeyFlags: d.keyFlags(), All: true}
	if err := list.RunTo(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" all ", " between ", account.StateRevoked} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("ringwatch key list has no %q:\n%s", want, &out)
		}
	}
}

// happens lets the next frame of a node tell of something.
func (d *directory) happens(at int64, text string) {
	node := d.fleet.nodes[0]
	node.Events = append(node.Events, frame.Event{At: at, Kind: "start", Text: text})
}

// answers looks for each frame that was sent, in all ways, and for events and alerts.
func (d *directory) answers(t *testing.T, base int64, flags client.Flags) {
	t.Helper()
	node := d.fleet.nodes[0].ID.String()
	newest := "/v1/nodes/" + node + `/metrics?metrics={__name__="node_load1"}`
	query := func(q string) string {
		return "/api/v1/query?" +
			url.Values{"query": {q}, "time": {fmt.Sprint(base / 1000)}}.Encode()
	}
	for path, want := range map[string]struct {
		text  string
		times int
	}{
		query("count_over_time(node_load1[11m])"): {`"66"`, 3},
		query("count_over_time(node_load1[3m])"):  {`"18"`, 3},
		newest:                                    {`node_load1`, 1},
		"/v1/nodes?cluster=" + d.fleet.cluster:    {node, 1},
		"/v1/clusters":                            {d.fleet.cluster, 1},
		"/api/v1/query?query=up":                  {d.fleet.cluster, 3},
		"/v1/events?text=before+a+kill":           {node, 1},
		"/v1/events?text=after+it":                {node, 1},
	} {
		eventually(t, path, func(ctx context.Context) error {
			text, err := d.get(ctx, d.fleet.key, path)
			if err == nil && strings.Count(text, want.text) < want.times {
				err = fmt.Errorf("not %d times %s: %s", want.times, want.text, text)
			}
			return err
		})
	}
	api, err := flags.Client()
	if err != nil {
		t.Fatal(err)
	}
	sent := time.Now()
	eventually(t, "the alerts", func(ctx context.Context) error {
		if time.Since(sent) > time.Second { // the nodes live
			sent = time.Now()
			d.fleet.send(t, d.ingest, sent.UnixMilli())
		}
		list, err := alerts.AskAlerts(ctx, api)
		firing := map[string]bool{}
		for _, a := range list {
			firing[a.Labels["alertname"]] = a.State == "firing"
		}
		if err == nil && !(firing["NodeIsThere"] && firing["OverAllClusters"]) {
			err = fmt.Errorf("there are %v", firing)
		}
		return err
	})
	eventually(t, "when they fired", func(ctx context.Context) error {
		var out bytes.Buffer
		past := alerts.AlertsCmd{Flags: flags, Since: "1h"}
		err := past.RunTo(ctx, &out, time.Now())
		if err == nil && !regexp.MustCompile(
			`NodeIsThere +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +fires `).Match(out.Bytes()) {
			err = errors.New(out.String())
		}
		return err
	})
}

// TestRowsBesideKafka: what has an engine is there, the rest in the directory.
func TestRowsBesideKafka(t *testing.T) {
	engines.Needed(t, "Kafka")
	ports := engines.FreePorts(t, 2)
	d := &directory{data: filepath.Join(t.TempDir(), "data"),
		log: filepath.Join(t.TempDir(), "log")}
	d.ingest, d.api = fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
		fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	d.config = configFile(t, fmt.Sprintf(`
accounts: [{name: beside}]
kafka: {brokers: [%q], topic: rows.beside.kafka}
ingest: {listen: "127.0.0.1:%d"}
api: {listen: "127.0.0.1:%d"}
`, engines.SharedKafka(t).Addr(), ports[0], ports[1]))
	d.begin(t)
	key := d.key(t, "all", account.Read, account.Write)
	d.fleet = &promFleet{cluster: "beside-prod", key: key, load: map[int64][]float64{},
		nodes: []*frametest.Node{frametest.New("beside-prod", 8100, 2)}}
	d.fleet.nodes[0].Interval = pastEvery
	base := time.Now().UnixMilli() / pastEvery * pastEvery
	for at := base - 9*pastEvery; at <= base; at += pastEvery {
		d.fleet.send(t, d.ingest, at)
	}
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	d.begin(t)
	ask := url.Values{"query": {"count_over_time(node_load1[5m])"},
		"time": {fmt.Sprint(base / 1000)}}
	eventually(t, "all frames", func(ctx context.Context) error {
		text, err := d.get(ctx, key, "/api/v1/query?"+ask.Encode())
		if err == nil && !strings.Contains(text, `"10"`) {
			err = errors.New(text)
		}
		return err
	})
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if datadir.Exists(filepath.Join(d.data, "stream")) ||
		!datadir.Exists(filepath.Join(d.data, "rows")) {
		t.Error("the stream is in the directory, or the rows are not")
	}
	check := data.DataCheckCmd{Dir: d.data}
	if err := check.RunTo(io.Discard); err != nil {
		t.Error(err)
	}
}

// TestRolesAloneNeedCassandra: a role that is not beside the others says which key to set, and
// ends.
func TestRolesAloneNeedCassandra(t *testing.T) {
	config := configFile(t, "kafka: {brokers: [\"127.0.0.1:1\"]}\nredis: {addresses: "+
		"[\"127.0.0.1:1\"]}\n")
	for role, want := range map[string]string{"store": engine.NoHosts, "api": engine.NoHosts,
		"ingest": engine.NoKeys} {
		code, stderr := start(t, role, "--config", config)
		if code != exit.Misused || !strings.Contains(stderr, "cassandra.hosts is empty: "+want) {
			t.Errorf("%s: exit code %d, %s", role, code, stderr)
		}
	}
}

// TestNoDirectory: only ringwatch all makes a directory, so that a wrong name is no empty store.
func TestNoDirectory(t *testing.T) {
	d := &directory{data: filepath.Join(t.TempDir(), "data"),
		config: configFile(t, "accounts: [{name: alone}]\n")}
	for _, command := range []string{"key list", "schema show", "backfill --account alone x"} {
		d.refused(t, "there are no rows in "+d.data, strings.Fields(command)...)
	}
	if _, err := os.Stat(d.data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a command has made the directory: %v", err)
	}
}

// TestKeyBeforeTheFirstStart: a directory that is empty, as a package makes it, is for the process
// that starts in it. Who wants a key meanwhile waits for that, as long as --wait.
func TestKeyBeforeTheFirstStart(t *testing.T) {
	d := newDirectory(t)
	if err := os.Mkdir(d.data, 0o700); err != nil {
		t.Fatal(err)
	}
	early := keys.KeyCreateCmd{KeyFlags: d.keyFlags(), Name: "early",
		Scopes: []account.Scope{account.Read}}
	none := early
	none.Wait = time.Millisecond
	if err := none.RunTo(t.Context(), io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "there are no rows in "+d.data) {
		t.Errorf("before any start: %v", err)
	}
	made := make(chan error, 1)
	go func() { made <- early.RunTo(t.Context(), io.Discard, io.Discard) }()
	d.begin(t)
	if err := <-made; err != nil {
		t.Error(err)
	}
}

// TestOperatorsKey: the key of the documents may do what they do next, and make another one that
// may.
func TestOperatorsKey(t *testing.T) {
	d := newDirectory(t)
	d.begin(t)
	mine := d.key(t, "me", account.Operator)
	second := mustMakeKey(t, d.api, mine, `{"name":"second","scopes":["operator"]}`)
	file := filepath.Join(t.TempDir(), "my.yaml")
	text := "groups: [{name: g, rules: [{record: \"a:b\", expr: sum by (cluster) (os_load1)}]}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{mine, second} {
		say := func(want int, args ...string) string {
			t.Helper()
			code, _, errs := say(t, append(args, "--api", d.api, "--key", key)...)
			if code != want {
				t.Errorf("%v: exit code %d, want %d\n%s", args, code, want, errs)
			}
			return errs
		}
		say(0, "rules", "apply", file)
		say(0, "rules", "apply", "--remove", "my.yaml")
		if errs := say(exit.Misused, "node", "forget", "nobody"); strings.Contains(errs, "scope") {
			t.Errorf("it may not forget: %s", errs)
		}
	}
}

// TestKeyWhileItStarts: who makes a key while the process starts has the rows for a moment, and the
// process waits for them.
func TestKeyWhileItStarts(t *testing.T) {
	d := newDirectory(t)
	c, _, err := (&settings.DataFlags{RoleFlags: settings.RoleFlags{Config: d.config},
		Data: d.data}).Load()
	if err == nil {
		err = os.MkdirAll(c.Cassandra.Dir, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	key, err := datadir.OpenRows(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	d.launch(t)
	eventually(t, "it waits", func(context.Context) error {
		said, err := os.ReadFile(d.log)
		if err == nil && !strings.Contains(string(said), "the directory is in use") {
			err = fmt.Errorf("it says %s", said)
		}
		return err
	})
	key.Close()
	eventually(t, d.api, func(ctx context.Context) error { return ready(ctx, d.api) })
}

// TestFirstStart: who starts without a configuration gets a key that works, once.
func TestFirstStart(t *testing.T) {
	t.Chdir(t.TempDir())
	p, err := wire.PrepareOnData((&settings.DataFlags{}), "all")
	if err != nil {
		t.Fatal(err)
	}
	if p.Config.Data.Dir != "ringwatch-data" || len(p.Config.Accounts) != 1 ||
		p.Config.Accounts[0].Name != "default" {
		t.Fatalf("%+v, %+v", p.Config.Data, p.Config.Accounts)
	}
	db, err := p.OpenStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.EndRows()
	key, err := wire.FirstKey(t.Context(), db, "default")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := db.Keys(t.Context())
	if err != nil || len(keys) != 1 || keys[0].SHA256 != account.Hash(key) ||
		keys[0].Account != "default" ||
		!slices.Equal(keys[0].Scopes, []account.Scope{account.Read, account.Write}) {
		t.Errorf("the keys are %+v, %v", keys, err)
	}
	var out bytes.Buffer
	wire.PrintWelcome(p, &out, key)
	for _, want := range []string{"ringwatch-data.\n", "http://127.0.0.1:9470/#key=" + key,
		"    key: " + key,
		`["http://127.0.0.1:9471"]`, "-javaagent:", "RINGWATCH_KEY=" + key} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing is said of %q:\n%s", want, &out)
		}
	}
	if again, err := wire.FirstKey(t.Context(), db, "default"); again != "" || err != nil {
		t.Errorf("a second first key: %q, %v", again, err)
	}
}

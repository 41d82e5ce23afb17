package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/roster"
)

const testKey = "rw_test0000000000000000"

// serve runs an API over a fleet of three nodes with 16 minutes of frames, of which the third
// fell silent two minutes ago, and points the environment to it.
func serve(t *testing.T, change ...func(*api.Config)) []*frametest.Node {
	t.Helper()
	return serveNodes(t, []*frametest.Node{frametest.New("prod", 1, 7), frametest.New("prod", 2, 7),
		frametest.New("prod", 3, 7)}, change...)
}

// behindSince is since when frames are on their way to the store of serve, in ms; 0: none are.
var behindSince atomic.Int64

// TestPartialIsSaid: who looks at values hears what they may lack, beside them.
func TestPartialIsSaid(t *testing.T) {
	nodes := serve(t)
	for _, args := range [][]string{{"latest", nodes[0].ID.String()},
		{"series", nodes[0].ID.String(), "node_load1", "--period", "10m"}} {
		if code, out, errs := say(t, args...); code != 0 || out == "" || errs != "" {
			t.Fatalf("%q: exit %d, %q", args, code, errs)
		}
		behindSince.Store(time.Now().Add(-time.Minute).UnixMilli())
		code, out, errs := say(t, args...)
		behindSince.Store(0)
		if code != 0 || out == "" ||
			!strings.HasPrefix(errs, "ringwatch: the answer may lack something: frames that were "+
				"accepted since 20") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d, %q", args, code, errs)
		}
	}
}

// serveNodes serves nodes of which the third is silent.
func serveNodes(t *testing.T, nodes []*frametest.Node,
	change ...func(*api.Config)) []*frametest.Node {
	t.Helper()
	registry, err := account.NewRegistry(
		[]account.Account{{Name: "acme",
			Keys: []account.Key{{Name: "r", Key: testKey,
				Scopes: []account.Scope{account.Read, account.Rules}}}}})
	if err != nil {
		t.Fatal(err)
	}
	store := &apitest.Store{}
	c := api.DefaultConfig()
	c.Listen = "127.0.0.1:0"
	now := time.Now()
	c.Clock = func() time.Time { return now }
	for _, f := range change {
		f(&c)
	}
	sources, left := store.Sources(), &roster.Roster{}
	sources.Roster = left
	sources.Behind = func(context.Context, string, string) (int64, bool) {
		return behindSince.Load(), behindSince.Load() > 0
	}
	server, err := api.New(c, api.Deps{
		Admit:  account.NewDoor(registry.Authenticate).Admit,
		Reader: apitest.MustReader(t, c, sources), StoreReady: store.Ready,
		Lookup: apitest.Tables{"acme": {"shop.items": {
			`"17"`:    `[{"id":17,"name":"spoon\u001b[2J","tags":["a","b"]}]`,
			`"18"`:    `[{"id":18,"name":null,"tags":[]},{"id":18,"name":"fork","tags":null}]`,
			`["x",1]`: `[{"id":1,"name":"","tags":null}]`, `"0"`: `!no replica answers`,
		}}}.Read,
		Forget: func(_ context.Context, rec roster.Record) error {
			left.Take(rec)
			return nil
		},
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for i, n := range nodes {
		end := now
		if i == 2 {
			end = now.Add(-2 * time.Minute)
		}
		for at := now.Add(-16 * time.Minute); !at.After(end); at = at.Add(5 * time.Second) {
			n.Step()
			store.Put("acme", n.Frame(at.UnixMilli()))
		}
	}
	t.Setenv("RINGWATCH_API", "http://"+server.Addr())
	t.Setenv("RINGWATCH_KEY", testKey)
	return nodes
}

// flags are what kong would take from the environment.
func flags() client.Flags {
	return client.Flags{API: os.Getenv("RINGWATCH_API"), Key: os.Getenv("RINGWATCH_KEY")}
}

func expect(t *testing.T, out string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(out) {
			t.Errorf("no %s in\n%s", p, out)
		}
	}
}

func TestTables(t *testing.T) {
	nodes := serve(t)
	ctx := t.Context()
	var out bytes.Buffer
	print := func(err error) string {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		text := out.String()
		out.Reset()
		return text
	}
	expect(t, print((&fleet.ClustersCmd{Flags: flags()}).RunTo(ctx, &out)), `^CLUSTER +KIND +NODES`,
		`^prod +cassandra +3 +2 up, 1 down +0 +dc1 \(3\)$`)
	expect(t, print((&fleet.NodesCmd{Flags: flags()}).RunTo(ctx, &out)),
		`^HOST +ADDRESS +CLUSTER +DC +RACK +KIND +VERSION +STATE +AGE$`,
		`^- +10\.0\.0\.1 +prod +dc1 +rack2 +cassandra +5\.0\.9 +up +0\.0s$`,
		`10\.0\.0\.3 .* down +2m00s$`)
	expect(t, print((&fleet.NodesCmd{Flags: flags(), Wide: true}).RunTo(ctx, &out)),
		`^HOST .* AGE +ID$`, `10\.0\.0\.1 .* up +0\.0s +`+nodes[0].ID.String()+`$`,
		`down +2m00s +`+nodes[2].ID.String()+`$`)

	latest := &fleet.LatestCmd{Flags: flags(), Node: nodes[0].ID.String()[:7],
		Match: []string{"cassandra_table_*"}}
	text := print(latest.RunTo(ctx, &out))
	expect(t, text, `^SERIES +VALUE +P50 +P99 +UNIT$`,
		`^cassandra_table_live_disk_space_bytes\{keyspace="shop",table="table_\d"\} +\d+ +bytes$`,
		`^cassandra_table_read_latency_seconds\{keyspace="shop",table="table_0"\} +\d+ +[\d.]+µs +[\d.]+(ms|µs) +seconds$`)
	if strings.Contains(text, "node_load1") || strings.Count(text, "\n") < 7*3 {
		t.Error(text)
	}
	latest = &fleet.LatestCmd{Flags: flags(), Node: "10.0.0.2",
		Selector: []string{`{request="Read"}`}}
	if text := print(latest.RunTo(ctx, &out)); strings.Count(text, "\n") != 2 {
		t.Error(text)
	}
	// The text has a line break, which must not reach the terminal.
	expect(t,
		print(
			(&fleet.LatestCmd{Flags: flags(), Node: "10.0.0.2",
				Match: []string{"*_version"}}).RunTo(
				ctx, &out)), `^cassandra_node_schema_version +a "quoted.*two lines`)

	for metric, want := range map[string][]string{
		`cassandra_client_request_latency_seconds{request="Read"}`: {`┤`,
			`latency_seconds\{request="Read"\}, p99`, `^TIME +P99$`,
			`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +[\d.]+[µm]s$`, `the newest 20 of 180 rows`},
		"node_cpu_seconds_total": {`┤`,
			`^TIME +SECONDS PER SECOND$`},
		"node_load1": {`┤`, `^TIME +VALUE$`,
			`:\d\d +[\d.]+$`},
		"cassandra_table_memtable_switches_total": {`┤`,
			`^1  cassandra_table_memtable_switches_total\{.*, per second`, `^TIME +1 +2 +3 +4 +5$`,
			`and 2 more series: --top 7`},
		"*_schema_version":          {`^TIME +VALUE$`},
		"cassandra_table_sstables*": {`┤`, `p99`},
	} {
		expect(t,
			print((&fleet.SeriesCmd{Flags: flags(), Node: "10.0.0.1", Metric: metric, Period: "15m",
				Top: 5, Rows: 20}).RunTo(ctx, &out)), want...)
	}
	for metric, want := range map[string][]string{
		`cassandra_client_request_latency_seconds{request="Read"}`: {`, p99$`, `^TIME +P99$`,
			`^\d{4}-\d\d-\d\d \d\d:\d[05]:00 +[\d.]+[µm]s$`},
		"node_cpu_seconds_total": {`^TIME +SECONDS PER SECOND$`,
			`:\d[05]:00 +[\d.]+$`},
		"node_load1": {`┤`, `^TIME +MEAN$`,
			`:\d[05]:00 +[\d.]+$`},
	} {
		expect(t,
			print((&fleet.SeriesCmd{Flags: flags(), Node: "10.0.0.1", Metric: metric, Period: "1d",
				Step: "5m", Top: 5, Rows: 20}).RunTo(ctx, &out)), want...)
	}
	expect(t, print((&fleet.TopCmd{Flags: flags()}).RunOnce(ctx, &out)),
		`^NODE +CLUSTER +DC +KIND +STATE +AGE +REQ/S +READ P99 +WRITE P99 +PENDING\n10\.0\.0\.3 +prod +dc1 +cassandra +down +2m00s +- +- +- +-\n`,
		`^10\.0\.0\.1 +prod +dc1 +cassandra +up +0\.0s +[\d.]+ +[\d.]+(µs|ms) +[\d.]+(µs|ms) +\d+$`)
}

func TestJSON(t *testing.T) {
	nodes := serve(t)
	id := nodes[0].ID.String()
	for name, run := range map[string]func(*bytes.Buffer) error{
		"clusters": func(out *bytes.Buffer) error {
			return (&fleet.ClustersCmd{Flags: flags(), JSON: true}).RunTo(t.Context(), out)
		},
		"nodes": func(out *bytes.Buffer) error {
			return (&fleet.NodesCmd{Flags: flags(), JSON: true}).RunTo(t.Context(), out)
		},
		"latest": func(out *bytes.Buffer) error {
			return (&fleet.LatestCmd{Flags: flags(), Node: id, JSON: true}).RunTo(t.Context(), out)
		},
		"series": func(out *bytes.Buffer) error {
			return (&fleet.SeriesCmd{Flags: flags(), Node: id, Metric: "node_load1", Period: "5m",
				Step: "1m", Top: 5, JSON: true}).RunTo(t.Context(), out)
		},
	} {
		var out bytes.Buffer
		var list []map[string]any
		if err := run(&out); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if err := json.Unmarshal(out.Bytes(), &list); err != nil || len(list) == 0 {
			t.Errorf("%s: %v in %.200s", name, err, out.Bytes())
		}
	}
}

func TestTopIsLiveUntilQ(t *testing.T) {
	serve(t)
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var screen bytes.Buffer
	shown := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- (&fleet.TopCmd{Flags: flags(), Every: 100 * time.Millisecond}).Live(t.Context(),
			tea.WithInput(in),
			tea.WithOutput(&watcher{Buffer: &screen, for_: "10.0.0.3", found: shown}),
			tea.WithWindowSize(120, 20), tea.WithEnvironment([]string{"TERM=xterm-256color"}),
			tea.WithoutSignals())
	}()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	select {
	case <-shown:
	case err := <-ended:
		t.Fatal("it ended by itself:", err)
	case <-deadline.C:
		t.Fatal("the nodes were never shown")
	}
	if _, err := typed.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-deadline.C:
		t.Fatal("q does not end it")
	}
}

// watcher closes found when the text has been written.
type watcher struct {
	*bytes.Buffer
	for_  string
	found chan struct{}
	done  bool
}

func (w *watcher) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if !w.done && strings.Contains(w.Buffer.String(), w.for_) {
		w.done = true
		close(w.found)
	}
	return n, err
}

// TestErrors checks what people see: one sentence, and the exit code.
func TestErrors(t *testing.T) {
	nodes := serve(t)
	id := nodes[0].ID.String()
	t.Chdir(t.TempDir()) // no .ringwatch/cli.yaml here
	for _, c := range []struct {
		args []string
		env  string // RINGWATCH_KEY, or RINGWATCH_API if it has a colon
		code int
		want string
	}{
		{[]string{"nodes"}, "", 0, ""},
		{[]string{"top", "--once"}, "", 0, ""},
		{[]string{"top"}, "", 0, ""}, // stdout is no terminal here
		{[]string{"nodes", "--help"}, "", 0, ""},
		{[]string{"nodes"}, "rw_wrong000000000000000", 1, "unknown API key"},
		{[]string{"nodes"}, "http://127.0.0.1:1", 1, "cannot be reached"},
		{[]string{"nodes"}, "ftp://127.0.0.1:1", 2, "not the address of an API"},
		{[]string{"nodes"}, "-", 2, "no API key"},
		{[]string{"latest", "nosuch"}, "", 2, "this key sees no node"},
		{[]string{"latest", ""}, "", 2, "NODE is empty"},
		{[]string{"latest"}, "", 2, "see ringwatch latest --help"},
		{[]string{"key", "create", "me", "--nosuch"}, "", 2, "see ringwatch key create --help"},
		{[]string{"latest", id, "--match", "nosuch*"}, "", 2, `has no metric "nosuch*": use one of`},
		{[]string{"latest", id, "--selector", "up{"}, "", 2, "not a series selector"},
		{[]string{"series", id, "node_load1", "--period", "soon"}, "", 2, "not a duration"},
		{[]string{"series", id, "nosuch"}, "", 2, `has no metric "nosuch"`},
		{[]string{"series", id, "node_laod1"}, "", 2, "did you mean node_load1?"},
		{[]string{"nodes", "--cluster", "nope"}, "", 2, `sees no cluster "nope"`},
		{[]string{"nodes", "--state", "bad"}, "", 2, "bad"},
		{[]string{"series", id, "node_load1", "--top", "0"}, "", 2, "--top"},
		{[]string{"nosuch"}, "", 2, "see ringwatch --help"},
	} {
		t.Run(strings.Join(c.args, " ")+c.env, func(t *testing.T) {
			switch {
			case c.env == "-":
				t.Setenv("RINGWATCH_KEY", "")
			case strings.Contains(c.env, ":"):
				t.Setenv("RINGWATCH_API", c.env)
			case c.env != "":
				t.Setenv("RINGWATCH_KEY", c.env)
			}
			code, stderr := capture(t, func() int { return run(c.args) })
			if code != c.code || !strings.Contains(stderr, c.want) ||
				c.want != "" && strings.Count(stderr, "\n") != 1 && c.code == 1 {
				t.Errorf("exit %d, want %d %q:\n%s", code, c.code, c.want, stderr)
			}
		})
	}
}

// capture runs f with stdout and stderr in files and returns its exit code and what it wrote to
// stderr.
func capture(t *testing.T, f func() int) (int, string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	errs, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = out, errs
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	code := f()
	text, err := os.ReadFile(errs.Name())
	if err != nil {
		t.Fatal(err)
	}
	return code, string(text)
}

func TestClientFile(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, ".ringwatch"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ".ringwatch", "cli.yaml")
	if err := os.WriteFile(path,
		[]byte("api: http://127.0.0.1:1234\nkey: rw_fromthefile000000000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	c, err := (&client.Flags{}).Client()
	if err != nil || c.Base != "http://127.0.0.1:1234" || c.Key != "rw_fromthefile000000000" {
		t.Errorf("%+v %v", c, err)
	}
	if c, err = (&client.Flags{API: "127.0.0.1:1234", Key: "rw_other"}).Client(); err != nil ||
		c.Key != "rw_other" {
		t.Errorf("%+v %v", c, err)
	}
	if c, err = (&client.Flags{API: "http://127.0.0.1:99"}).Client(); err == nil {
		t.Errorf("the file's key goes to another address: %+v", c)
	}
	if err := os.WriteFile(path, []byte("api: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = (&client.Flags{}).Client(); err == nil ||
		!strings.Contains(err.Error(), "cli.yaml") {
		t.Error(err)
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store"
)

// tables returns the rows of all tables of a keyspace, as sorted JSON. What says when frames were
// written, and not what they say, is left out: two tables, and when a frame was received, for one
// that was sent twice is written twice in any order.
func tables(t *testing.T, session *gocql.Session, keyspace string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	names := session.Query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
		keyspace).IterContext(t.Context())
	for name := ""; names.Scan(&name); {
		columns := "*"
		if name == "fresh" {
			columns = "account, node, window, at, frame, key_at"
		}
		rows := session.Query("SELECT JSON " + columns + " FROM " + keyspace + "." + name).PageSize(
			100).IterContext(t.Context())
		for row := ""; rows.Scan(&row); {
			all[name] = append(all[name], row)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(name, err)
		}
		slices.Sort(all[name])
	}
	if err := names.Close(); err != nil {
		t.Fatal(err)
	}
	delete(all, "late")
	delete(all, "late_clusters")
	delete(all, "progress")
	return all
}

func sameTables(t *testing.T, before, after map[string][]string) {
	t.Helper()
	delete(before, "due") // when windows were closed last, which a replay does anew
	delete(after, "due")
	rows := 0
	for name := range before {
		rows += len(before[name])
		if !slices.Equal(before[name], after[name]) {
			t.Errorf("table %s: %d rows before, %d after, and they differ", name, len(before[name]),
				len(after[name]))
		}
	}
	if rows == 0 || len(before) != len(after) {
		t.Errorf("%d tables with %d rows before, %d tables after", len(before), rows, len(after))
	}
}

// TestReplayChangesNothing walks Kafka again from before the first frame, and holds all tables
// against what they were. The roles are killed once while the frames arrive.
func TestReplayChangesNothing(t *testing.T) {
	engines.Needed(t, "Cassandra, Kafka and Redis")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := line.Start(t.Context(),
		line.Config{Dir: dir, Binary: self, Env: []string{asRingwatch},
			Cassandra: ", grace: 3s",
			// What shipped rules record would hold a window open for as long as they run.
			More: "rules: {shipped: false}\n", Progress: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	first := frame.WindowOf(time.Now().Add(-25 * time.Minute).UnixMilli()) // they are over
	accepted := 0
	what := make([][]sent, 5)
	var nodes []*frametest.Node
	for i := range what {
		n := frametest.New(fmt.Sprintf("cluster-%d", i%2), uint64(i+1), 3)
		nodes = append(nodes, n)
		if i == len(what)/2 {
			if err := l.KillRingwatch(); err != nil {
				t.Fatal(err)
			}
			if err := l.StartRingwatch(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for w := range int64(killWindows) {
			for k := range int64(killFrames) {
				n.Step()
				at := first + w*frame.WindowMillis + k*5000 + 1234
				b := n.Frame(at)
				eventually(t, "a frame to be taken", func(ctx context.Context) error {
					return l.Post(ctx, l.Key, b)
				})
				what[i] = append(what[i],
					sent{at: at, accepted: true, entities: copyEntities(n.Entities)})
				accepted++
			}
		}
	}
	db := mustStore(t, l)
	for i, n := range nodes {
		checkNode(t, db, l.Account, n, what[i], first)
	}
	t.Cleanup(func() { // why windows stay open, or rows differ, only the roles know
		if log, err := os.ReadFile(filepath.Join(dir, "ringwatch.log")); t.Failed() && err == nil {
			t.Logf("the roles' log ends with %s", log[max(0, len(log)-8<<10):])
		}
	})
	eventually(t, "all windows to be closed and rolled up", func(ctx context.Context) error {
		m, err := metricsOf(ctx, l.API+"/metrics")
		open, there := m["ringwatch_store_windows_open"]
		if err == nil && (!there || open > 0) {
			err = fmt.Errorf("%v windows are open (%t)", open, there)
		}
		return err
	})
	if err := l.KillRingwatch(); err != nil {
		t.Fatal(err)
	}
	session := mustCQL(t, l.Cassandra.Addr())
	before := tables(t, session, "ringwatch")
	port := engines.FreePorts(t, 1)[0]
	text, err := os.ReadFile(filepath.Join(dir, "ringwatch.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "replay.yaml")
	if err := os.WriteFile(config, fmt.Appendf(text, "store: {listen: \"127.0.0.1:%d\"}\n", port),
		0o600); err != nil {
		t.Fatal(err)
	}
	p, err := engines.StartProcess(engines.ProcessConfig{Name: "ringwatch store", Path: self,
		Args: []string{"store", "--config", config, "--from", "2h"},
		Env:  []string{asRingwatch}, Log: filepath.Join(dir, "replay.log")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	eventually(t, "all frames to be handled again and all windows to be closed",
		func(ctx context.Context) error {
			m, err := metricsOf(ctx, fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
			if err != nil {
				return err
			}
			if n := m["ringwatch_store_frames_written_total"]; n < float64(accepted) ||
				m["ringwatch_store_windows_open"] > 0 {
				return fmt.Errorf("%v frames of %d, %v windows are open", n, accepted,
					m["ringwatch_store_windows_open"])
			}
			if m[`ringwatch_store_windows_closed_total{result="unchanged"}`] == 0 ||
				m[`ringwatch_store_windows_closed_total{result="written"}`]+
					m[`ringwatch_store_windows_closed_total{result="merged"}`] > 0 {
				return errors.New("windows were written again")
			}
			return nil
		})
	sameTables(t, before, tables(t, session, "ringwatch"))
}

// metricsOf reads counters and gauges of a /metrics page by their names with labels.
func metricsOf(ctx context.Context, url string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	m := map[string]float64{}
	for _, row := range strings.Split(string(b), "\n") {
		if name, value, ok := strings.Cut(row, " "); ok && name != "#" {
			m[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return m, err
}

// backfill runs the command and returns its exit code and output.
type backfill struct {
	self, config string
}

func (b backfill) start(t *testing.T, files ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), b.self,
		append([]string{"backfill", "--config", b.config}, files...)...)
	cmd.Env = append(os.Environ(), asRingwatch)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func (b backfill) run(t *testing.T, files ...string) (code int, out string) {
	t.Helper()
	cmd, buffer := b.start(t, files...)
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	t.Logf("exit %d\n%s", cmd.ProcessState.ExitCode(), buffer)
	return cmd.ProcessState.ExitCode(), buffer.String()
}

// recorded returns n frames of a node, 5 s apart.
func recorded(node *frametest.Node, from int64, n int) (frames [][]byte, what []sent) {
	for i := range int64(n) {
		node.Step()
		at := from + i*5000
		frames = append(frames, node.Frame(at))
		what = append(what, sent{at: at, accepted: true, entities: copyEntities(node.Entities)})
	}
	return frames, what
}

// TestBackfill loads recordings: good, bad, cut, too old, from a pipe that is interrupted, and
// again. What can be loaded is there, what cannot be is named, and the exit code says so.
func TestBackfill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cassandra := engines.SharedCassandra(t)
	b := backfill{self, filepath.Join(dir, "ringwatch.yaml")}
	text := fmt.Sprintf("accounts: [{name: acme}]\ncassandra: {hosts: [%q], keyspace: backfill}\n",
		cassandra.Addr())
	if err := os.WriteFile(b.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(name string, parts ...[]byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bytes.Join(parts, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := frame.WindowOf(time.Now().Add(-3 * time.Hour).UnixMilli())
	nodes := []*frametest.Node{frametest.New("prod", 1, 3), frametest.New("prod", 2, 3),
		frametest.New("prod", 3, 3)}
	goodFrames, good := recorded(nodes[0], first, 150)
	cutFrames, cut := recorded(nodes[1], first, 100)
	longFrames, long := recorded(nodes[2], first, 1200)
	old, _ := recorded(frametest.New("prod", 4, 3), first-15*24*3600_000, 3)
	damaged := bytes.Clone(goodFrames[7])
	damaged[len(damaged)-1] ^= 1

	if code, out := b.run(t); code != exit.Misused || !strings.Contains(out, "file") {
		t.Errorf("without a file: exit %d", code)
	}
	if code, out := b.run(t, file("good.rwf", goodFrames...)); code != exit.Misused ||
		!strings.Contains(out, "--account") {
		t.Errorf("without its account: exit %d", code)
	}
	t.Setenv("RINGWATCH_ACCOUNT", "acme")
	// Everything that can be wrong, and one good file behind it.
	whole := bytes.Join(cutFrames, nil)
	code, out := b.run(t, filepath.Join(dir, "none.rwf"),
		file("text.rwf", []byte("this is no recording at all")),
		file("cut.rwf", whole[:len(whole)-3]),
		file("old.rwf", append(old, damaged)...), file("good.rwf", goodFrames...))
	if code != exit.Failed {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"none.rwf: open", "text.rwf: store: not a recording: byte 0",
		"cut.rwf: store: not a recording: the frame at byte", "cut.rwf: 99 frames loaded",
		"old.rwf: 0 frames loaded, 3 older than cassandra.raw_ttl, 1 damaged",
		"old.rwf: 4 frames were left out", "good.rwf: 150 frames loaded"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	c := store.DefaultConfig()
	c.Hosts, c.Keyspace = []string{cassandra.Addr()}, "backfill"
	c.Timeout = time.Minute // a crowded machine is no outage
	db, err := store.New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	check := func(node *frametest.Node, what []sent, closed bool) {
		t.Helper()
		byAt := map[int64]*sent{}
		for i := range what {
			byAt[what[i].at] = &what[i]
		}
		all, report, err := db.Reader(store.Dashboard("acme"), memory.Unbounded()).Read(t.Context(),
			"acme", node.ID, first, first+3*3600_000)
		if err == nil {
			err = compare(all, node, byAt)
		}
		if err != nil || closed && report.Fresh > 0 || report.Partial() {
			t.Errorf("node %s: %v, %+v", node.ID, err, report)
		}
	}
	check(nodes[0], good, true)
	check(nodes[1], cut[:99], true)

	// A pipe that brings a batch and then nothing, and Ctrl-C: what came is closed.
	pipe := filepath.Join(dir, "pipe.rwf")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, buffer := b.start(t, pipe)
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(bytes.Join(longFrames[:1001], nil)); err != nil {
		t.Fatal(err)
	}
	session := mustCQL(t, cassandra.Addr())
	eventually(t, "the first thousand frames", func(ctx context.Context) error {
		n := 0
		if err := session.Query("SELECT count(*) FROM backfill.fresh").ScanContext(ctx,
			&n); err != nil || n < 150+99+1000 {
			return fmt.Errorf("%d frames are there, %v", n, err)
		}
		return nil
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exit.Failed ||
		!strings.Contains(buffer.String(), "stopped in "+pipe) {
		t.Errorf("exit %d: %s", code, buffer)
	}
	// ten seconds may not be enough to close them on a crowded machine
	check(nodes[2], long[:1000], false)
	if code, _ := b.run(t, file("long.rwf", longFrames...)); code != 0 {
		t.Errorf("again: exit %d", code)
	}
	check(nodes[2], long, true)

	before := tables(t, session, "backfill")
	delete(before, "fresh") // keeps when a frame was received, and a recording does not say
	if code, _ := b.run(t, file("good.rwf", goodFrames...),
		file("long.rwf", longFrames...)); code != 0 {
		t.Errorf("all again: exit %d", code)
	}
	after := tables(t, session, "backfill")
	delete(after, "fresh")
	sameTables(t, before, after)
}

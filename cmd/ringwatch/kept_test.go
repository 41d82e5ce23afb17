package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/data"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/keys"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/rulefiles"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// keep makes the files of a version, of this program: go test ./cmd/ringwatch -run TestKept -keep
// 1.2.0. Those of a released version are never made again.
var keep = flag.String("keep", "", "the version whose data is kept in testdata/kept")

// kept is what a version has stored, and what it answered then. Beside it lie a directory of
// ringwatch all, VERSION.directory.tar.gz, and the rows of a Cassandra, VERSION.rows.gz: a table's
// name and a row as Cassandra's JSON in a line.
type kept struct {
	Made            int64 // ms; the clock of who reads it
	Directory, Rows keptSide
}

type keptSide struct {
	Key, Revoked string
	Answers      map[string]json.RawMessage // by path
}

// Endings of the files of a version.
const (
	keptDirectory = ".directory.tar.gz"
	keptRows      = ".rows.gz"
)

// TestKept opens what each version has stored with this program, at the time when it was stored,
// and asks for values, rollups, events, keys, rules and states of alerts.
func TestKept(t *testing.T) {
	if *keep != "" {
		keepVersion(t, *keep)
	}
	engines.Needed(t, "Cassandra")
	files, err := filepath.Glob("testdata/kept/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no version has kept anything: %v", err)
	}
	for i, file := range files {
		var k kept
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &k)
		}
		if err != nil {
			t.Fatal(err)
		}
		version := strings.TrimSuffix(file, ".json")
		t.Run(filepath.Base(version)+"/Directory", func(t *testing.T) {
			d := keptIn(t, "")
			untar(t, version+keptDirectory, d.data)
			d.begin(t, k.clock(t))
			d.finds(t, &k.Directory)
			if err := d.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			check := data.DataCheckCmd{Dir: d.data}
			if err := check.RunTo(io.Discard); err != nil {
				t.Error(err)
			}
		})
		t.Run(filepath.Base(version)+"/Rows", func(t *testing.T) {
			d := keptIn(t, fmt.Sprint("kept_", i))
			if code, _, errs := say(t, "schema", "apply", "--config", d.config); code != 0 {
				t.Fatal(errs)
			}
			insertRows(t, version+keptRows, fmt.Sprint("kept_", i), k.Made)
			d.begin(t, k.clock(t))
			d.finds(t, &k.Rows)
		})
	}
}

// Now is the environment of a process that begins when the data was stored.
func (k *kept) clock(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clock")
	ahead := time.Until(time.UnixMilli(k.Made))
	if err := os.WriteFile(file, []byte(ahead.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return clockFile + "=" + file
}

// keptIn is a ringwatch all whose rows are in a keyspace; "": in its directory.
func keptIn(t *testing.T, keyspace string) *directory {
	t.Helper()
	d := newDirectory(t)
	text, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	of := "hour_spread: 1s, "
	if keyspace != "" {
		of += fmt.Sprintf("hosts: [%q], keyspace: %s, ", engines.SharedCassandra(t).Addr(),
			keyspace)
	}
	changed := strings.Replace(string(text), "cassandra: {", "cassandra: {"+of, 1)
	if err := os.WriteFile(d.config, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

// finds waits until each answer is what it was.
func (d *directory) finds(t *testing.T, k *keptSide) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(k.Answers)) {
		want := compacted(t, k.Answers[path])
		eventually(t, path, func(ctx context.Context) error {
			text, err := d.get(ctx, k.Key, path)
			if err != nil {
				return err
			}
			got, err := essence(path, text, k.Answers[keptRules])
			if err == nil && string(got) != want {
				err = fmt.Errorf("it is %s, and was %s", got, want)
			}
			return err
		})
	}
	if status, _, err := d.do(t.Context(), k.Revoked, http.MethodGet, "/v1/nodes", nil,
		""); err != nil || status != http.StatusUnauthorized {
		t.Errorf("a key that was revoked gets %d: %v", status, err)
	}
}

func compacted(t *testing.T, text json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// keptRules is where the rule files are. Of alerts those are kept that it names: which alerts there
// are else is a version's own.
const keptRules = "/api/v1/rules"

// essence is what of an answer is the same in all versions.
func essence(path, text string, rules json.RawMessage) ([]byte, error) {
	type named struct{ ID, Cluster, Address string }
	type event struct {
		At         any
		Kind, Text string
		Labels     map[string]string
	}
	type group struct {
		File  string
		Rules []struct{ Name, Query string }
	}
	type alert struct {
		Labels          map[string]string
		State, ActiveAt string
	}
	var all struct {
		Data struct {
			Result json.RawMessage
			Alerts []alert
			Groups []group
		}
		Events []event
	}
	if strings.HasPrefix(path, "/v1/nodes") {
		var nodes []named
		if err := json.Unmarshal([]byte(text), &nodes); err != nil {
			return nil, err
		}
		return json.Marshal(nodes)
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	var of any = all.Data.Result
	switch {
	case strings.HasPrefix(path, "/v1/events"):
		of = all.Events
	case strings.HasPrefix(path, "/api/v1/alerts"):
		var groups []group
		if err := json.Unmarshal(rules, &groups); err != nil {
			return nil, err
		}
		names := map[string]bool{}
		for _, g := range groups {
			for _, r := range g.Rules {
				names[r.Name] = true
			}
		}
		list := slices.DeleteFunc(all.Data.Alerts, func(a alert) bool {
			return !names[a.Labels["alertname"]]
		})
		slices.SortFunc(list, func(a, b alert) int {
			return strings.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels))
		})
		of = list
	case strings.HasPrefix(path, keptRules):
		of = slices.DeleteFunc(all.Data.Groups, func(g group) bool {
			return !strings.Contains(g.File, "kept.yaml")
		})
	}
	return json.Marshal(of)
}

// keepVersion has this program store things, once in a directory and once in a Cassandra, and keeps
// them with what it answers.
func keepVersion(t *testing.T, version string) {
	t.Helper()
	const keyspace = "kept_now"
	name, now := filepath.Join("testdata", "kept", version), time.Now()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	var k kept
	line := keptIn(t, keyspace)
	line.begin(t)
	k.Rows = line.fillKept(t, now)
	writeRows(t, name+keptRows, keyspace)
	if err := line.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	d := keptIn(t, "")
	d.begin(t)
	k.Directory = d.fillKept(t, now)
	rules := filepath.Join(t.TempDir(), "kept.yaml")
	if err := os.WriteFile(rules, []byte(wholeRules), 0o600); err != nil {
		t.Fatal(err)
	}
	apply := rulefiles.RulesApplyCmd{Flags: client.Flags{API: d.api, Key: k.Directory.Key},
		Files: []string{rules}}
	if err := apply.RunTo(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	eventually(t, "alerts that fire", func(ctx context.Context) error {
		text, err := d.get(ctx, k.Directory.Key, "/api/v1/alerts")
		if err == nil && strings.Count(text, `"firing"`) < 3 {
			err = errors.New(text)
		}
		return err
	})
	for _, path := range []string{keptRules, "/api/v1/alerts"} {
		k.Directory.Answers[path] = d.keptAnswer(t, &k.Directory, path)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.Made = time.Now().UnixMilli()
	tarred(t, name+keptDirectory, d.data)
	text, err := json.MarshalIndent(k, "", "\t")
	if err == nil {
		err = os.WriteFile(name+".json", append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// keptEvery is the interval of the nodes whose frames are kept, and keptHours how long they sent.
const (
	keptEvery = 60_000
	keptHours = 1
)

// fillKept makes keys, sends frames until some hours are made, and asks for what is there.
func (d *directory) fillKept(t *testing.T, now time.Time) keptSide {
	t.Helper()
	k := keptSide{Key: d.key(t, "mine", account.Read, account.Write, account.Rules),
		Revoked: d.key(t, "gone", account.Read), Answers: map[string]json.RawMessage{}}
	revoke := keys.KeyRevokeCmd{KeyFlags: d.keyFlags(), Key: "gone"}
	if err := revoke.RunTo(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	d.fleet = &promFleet{cluster: "kept-prod", key: k.Key, load: map[int64][]float64{}}
	for n := range 2 {
		node := frametest.New(d.fleet.cluster, uint64(9500+n), 1)
		node.Interval = keptEvery
		d.fleet.nodes = append(d.fleet.nodes, node)
	}
	until := now.UnixMilli() / keptEvery * keptEvery
	for at := now.Truncate(time.Hour).Add(-keptHours * time.Hour).UnixMilli(); at <= until; {
		if at%(20*keptEvery) == 0 {
			d.fleet.nodes[0].Events = []frame.Event{{At: at, Kind: "slow_query",
				Severity: frame.Warning, Text: fmt.Sprint("at ", at), Labels: []frame.Label{
					{Name: "keyspace", Value: "shop"}, {Name: "table", Value: "items"}}}}
		}
		d.fleet.send(t, d.ingest, at)
		at += keptEvery
	}
	eventually(t, "hours to be made", func(ctx context.Context) error {
		m, err := metricsOf(ctx, d.api+"/metrics")
		hours := 0.0
		for name, n := range m {
			if strings.HasPrefix(name, "ringwatch_store_hours_total{") {
				hours += n
			}
		}
		if err == nil && hours < 2*keptHours {
			err = fmt.Errorf("%v hours", hours)
		}
		return err
	})
	to := until / 1000
	query := func(q string, at int64) string {
		return "/api/v1/query?" + url.Values{"query": {q}, "time": {fmt.Sprint(at)}}.Encode()
	}
	for _, path := range []string{
		query("node_load1", to), query("count_over_time(node_load1[1d])", to),
		query("node_cpu_seconds_total", to-3000),
		query("histogram_count(cassandra_table_read_latency_seconds)", to-600),
		query("max_over_time(cassandra_compaction_pending_tasks[1h])", to-3600),
		query("cassandra_node_schema_version", to), query("count(ringwatch_node_info)", to),
		"/api/v1/query_range?" + url.Values{"query": {"sum_over_time(node_load1[1h])"},
			"start": {fmt.Sprint(to - 3600)}, "end": {fmt.Sprint(to)}, "step": {"1800"}}.Encode(),
		"/v1/nodes?cluster=" + d.fleet.cluster,
		fmt.Sprintf("/v1/events?cluster=%s&from=%d&to=%d", d.fleet.cluster, (to-3*3600)*1000,
			to*1000),
	} {
		k.Answers[path] = d.keptAnswer(t, &k, path)
	}
	return k
}

// keptAnswer is what is kept of an answer.
func (d *directory) keptAnswer(t *testing.T, k *keptSide, path string) json.RawMessage {
	t.Helper()
	text, err := d.get(t.Context(), k.Key, path)
	var of []byte
	if err == nil {
		of, err = essence(path, text, k.Answers[keptRules])
	}
	if err != nil || len(of) < 10 {
		t.Fatalf("%s: %s, %v", path, of, err)
	}
	return of
}

// writeRows keeps all rows of a keyspace.
func writeRows(t *testing.T, name, keyspace string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	session := mustCQL(t, engines.SharedCassandra(t).Addr())
	tables := session.Query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
		keyspace).IterContext(t.Context())
	for table := ""; tables.Scan(&table); {
		rows := session.Query("SELECT JSON * FROM " + keyspace + "." + table).PageSize(100).
			IterContext(t.Context())
		for row := ""; rows.Scan(&row); {
			fmt.Fprintf(z, "%s %s\n", table, row)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(tables.Close(), z.Close())
	if err == nil {
		err = os.WriteFile(name, b.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// insertRows writes kept rows into the tables of today, at the time when they were kept.
func insertRows(t *testing.T, name, keyspace string, made int64) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(mustRead(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	session := mustCQL(t, engines.SharedCassandra(t).Addr())
	n := 0
	lines := bufio.NewScanner(z)
	for lines.Buffer(nil, 1<<20); lines.Scan(); n++ {
		table, row, _ := strings.Cut(lines.Text(), " ")
		if err := session.Query("INSERT INTO "+keyspace+"."+table+" JSON ? USING TIMESTAMP ?", row,
			made*1000).Consistency(gocql.One).ExecContext(t.Context()); err != nil {
			t.Fatalf("%s: %v: %.200s", table, err, row)
		}
	}
	if err := lines.Err(); err != nil || n < 100 {
		t.Fatalf("%s has %d rows: %v", name, n, err)
	}
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tarred keeps a directory's files.
func tarred(t *testing.T, name, dir string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(inside), Mode: 0o600,
			Size: int64(len(text))}); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err = errors.Join(err, w.Close(), z.Close()); err == nil {
		err = os.WriteFile(name, b.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// untar makes a directory of a kept one.
func untar(t *testing.T, name, dir string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(mustRead(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/stream"
)

// TestCutoverAcrossProcesses lets a fleet change from v2 to v3 while frames flow through two
// processes of the role store, which hear of it only from the table. At every moment the API, a
// third process, answers each frame exactly once. The processes' clock is the test's: a minute of
// it takes as long as the frames of a minute.
func TestCutoverAcrossProcesses(t *testing.T) {
	f := startCutover(t)
	first := frame.WindowOf(f.clock().UnixMilli()) + frame.WindowMillis
	// A window before, so that every process has read the table when the cutover is written.
	for i := range int64(3) {
		f.send(t, first+i*20_000)
	}
	f.leapTo(t, first+frame.WindowMillis+30_000)
	f.check(t, first)
	f.awaitClosed(t)
	first += frame.WindowMillis
	f.forget()
	f.leapTo(t, first)
	at := time.UnixMilli(first).Add(12 * time.Minute).UTC()
	// its clock is the machine's, which is behind
	code, out, errs := say(t, "schema", "cutover", "--config", f.config, "--to", "v3", "--at",
		at.Format(time.RFC3339))
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	t.Log(strings.TrimSpace(out))
	cut := frame.WindowOf(at.UnixMilli()-1) + frame.WindowMillis
	for minute := first; minute < cut+11*60_000; minute += 60_000 {
		for i := range int64(3) {
			f.send(t, minute+i*20_000)
		}
		f.leapTo(t, minute+60_000)
		f.check(t, first)
	}
	f.leapTo(t, cut+30*60_000)
	f.awaitClosed(t)
	f.check(t, first)
	// Each window is in the generation of its time.
	session := mustCQL(t, engines.SharedCassandra(t).Addr())
	before, after := (cut-first+frame.WindowMillis)/frame.WindowMillis*int64(len(f.nodes)),
		3*int64(len(f.nodes))
	for query, want := range map[string]int64{
		"SELECT count(*) FROM cutover_os.v2_windows":                                before,
		"SELECT count(*) FROM cutover_os.v3_windows WHERE part = 0 ALLOW FILTERING": after,
	} {
		n := int64(0)
		if err := session.Query(query).ScanContext(t.Context(), &n); err != nil || n != want {
			t.Errorf("%s: %d, want %d, %v", query, n, want, err)
		}
	}
	f.withoutStores(t, first, cut+30*60_000)
}

// withoutStores kills both store processes and sends more frames, new ones and one that is late
// for a closed window. They are in Kafka only: answers must say that something may be missing,
// until there is a store process again and they are whole.
func (f *cutoverFleet) withoutStores(t *testing.T, first, at int64) {
	t.Helper()
	for _, p := range f.processes[:2] {
		p.Kill()
	}
	f.send(t, first+25_000)
	f.send(t, at)
	f.leapTo(t, at+20_000)
	partial := func(ctx context.Context, path string) error {
		b, err := f.get(ctx, f.api+path)
		if err == nil &&
			!strings.Contains(string(b), `"partial":["frames that were accepted since 20`) {
			err = fmt.Errorf("the answer does not say that it is partial: %.300s", b)
		}
		return err
	}
	nodes := f.nodes[0].ID.String()
	now := f.clock().UnixMilli()
	paths := []string{
		fmt.Sprintf("/v1/nodes/%s/metrics?metrics=cassandra_compaction_pending_tasks&from=%d&to=%d",
			nodes, first, now),
		fmt.Sprintf(
			"/v1/nodes/%s/metrics?metrics=cassandra_compaction_pending_tasks&from=%d&to=%d&rollup=5m", nodes, first, now),
		fmt.Sprintf("/v1/nodes/%s/metrics", nodes),
	}
	for _, path := range paths {
		eventually(t, path+" to be partial", func(ctx context.Context) error {
			return partial(ctx, path)
		})
	}
	// From then on no answer may call itself whole.
	for _, path := range paths {
		if err := partial(t.Context(), path); err != nil {
			t.Error(path, err)
		}
	}
	f.startStores(t)
	f.check(t, first)
}

func (f *cutoverFleet) awaitClosed(t *testing.T) {
	t.Helper()
	eventually(t, "both processes to close their windows", func(ctx context.Context) error {
		for _, base := range f.stores {
			m, err := metricsOf(ctx, base+"/metrics")
			if err == nil &&
				(m["ringwatch_store_windows_open"] > 0 ||
					m[`ringwatch_store_windows_closed_total{result="written"}`] == 0) {
				err = fmt.Errorf("%s: %v windows open, %v closed", base,
					m["ringwatch_store_windows_open"],
					m[`ringwatch_store_windows_closed_total{result="written"}`])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// forget leaves out of check what was sent so far.
func (f *cutoverFleet) forget() {
	for i := range f.sent {
		clear(f.sent[i])
	}
}

type cutoverFleet struct {
	config    string
	shift     string   // the file that says how far the processes' clock is ahead
	stores    []string // URLs
	text      string   // of the configuration, but for the store's listener
	dir       string
	ports     []int
	processes []*engines.Process // two stores, the API
	api, key  string
	ahead     time.Duration
	producer  *stream.Producer
	nodes     []*frametest.Node
	sent      []map[int64][2]string // by node and instant: what the two metrics that are read said
}

func startCutover(t *testing.T) *cutoverFleet {
	t.Helper()
	dir := t.TempDir()
	ports := engines.FreePorts(t, 3)
	f := &cutoverFleet{config: filepath.Join(dir, "ringwatch.yaml"),
		shift: filepath.Join(dir, "shift"), key: account.NewKey(),
		api: fmt.Sprintf("http://127.0.0.1:%d", ports[2])}
	f.setClock(t)
	c, broker := stream.DefaultConfig(), engines.SharedKafka(t)
	c.Topic, c.Partitions = "cutover.os", 4
	text := fmt.Sprintf(
		`accounts: [{name: default, keys: [{name: all, sha256: %s, scopes: [read]}]}]
kafka: {brokers: [%q], topic: %s, partitions: %d}
cassandra: {hosts: [%q], keyspace: cutover_os, generation: v2, grace: 2s}
redis: {addresses: [%q]}
api: {listen: "127.0.0.1:%d"}
limits: {requests_per_second: 1000000, burst: 1000000, node_requests_per_second: 1000000, node_burst: 1000000}
`, account.Hash(f.key), broker.Addr(), c.Topic, c.Partitions, engines.SharedCassandra(t).Addr(),
		engines.SharedRedis(t).Addr(), ports[2])
	f.text, f.dir, f.ports, f.processes = text, dir, ports, make([]*engines.Process, 3)
	for i := range ports[:2] {
		f.stores = append(f.stores, fmt.Sprintf("http://127.0.0.1:%d", ports[i]))
	}
	f.startStores(t)
	f.start(t, "api", 2)
	var err error
	if f.producer, err = stream.NewProducer(mustStream(t, broker), c,
		prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.producer.Close)
	for i := range 8 { // of as many clusters, so that each process has some
		f.nodes = append(f.nodes, frametest.New(fmt.Sprint("cluster-", i), uint64(i+1), 1))
		f.sent = append(f.sent, map[int64][2]string{})
	}
	return f
}

func (f *cutoverFleet) startStores(t *testing.T) {
	t.Helper()
	f.start(t, "store", 0)
	f.start(t, "store", 1)
}

// Start runs a role as the i-th process and waits until it is ready.
func (f *cutoverFleet) start(t *testing.T, role string, i int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := f.config
	if role == "store" {
		config = filepath.Join(f.dir, fmt.Sprint("store", i, ".yaml"))
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, "%sstore: {listen: \"127.0.0.1:%d\"}\n", f.text,
		f.ports[i]), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := engines.StartProcess(engines.ProcessConfig{Name: "ringwatch " + role, Path: self,
		Args: []string{role, "--config", config},
		Env:  []string{asRingwatch, clockFile + "=" + f.shift},
		Log:  filepath.Join(f.dir, fmt.Sprint(role, i, ".log"))})
	if err != nil {
		t.Fatal(err)
	}
	f.processes[i] = p
	t.Cleanup(func() {
		p.Kill()
		if b, err := os.ReadFile(p.LogFile()); t.Failed() && err == nil {
			t.Logf("the end of %s's log:\n%s", role, b[max(0, len(b)-4<<10):])
		}
	})
	base := fmt.Sprintf("http://127.0.0.1:%d", f.ports[i])
	eventually(t, role+" to be ready", func(ctx context.Context) error {
		_, err := f.get(ctx, base+"/-/ready")
		return err
	})
}

func (f *cutoverFleet) clock() time.Time { return time.Now().Add(f.ahead) }

func (f *cutoverFleet) leapTo(t *testing.T, at int64) {
	t.Helper()
	if ahead := time.Until(time.UnixMilli(at)); ahead > f.ahead {
		f.ahead = ahead
		f.setClock(t)
	}
}

// setClock replaces the file as a whole, so that nobody reads half of it.
func (f *cutoverFleet) setClock(t *testing.T) {
	t.Helper()
	err := os.WriteFile(f.shift+".new", []byte(f.ahead.String()), 0o600)
	if err == nil {
		err = os.Rename(f.shift+".new", f.shift)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (f *cutoverFleet) send(t *testing.T, at int64) {
	t.Helper()
	for i, n := range f.nodes {
		n.Step()
		if err := f.producer.Publish(t.Context(), "default", n.Cluster, n.Frame(at)); err != nil {
			t.Fatal(err)
		}
		f.sent[i][at] = [2]string{strconv.FormatInt(n.Entities[0][0].Cells[0].Int, 10),
			strconv.FormatInt(n.Entities[1][0].Cells[1].Int, 10)}
	}
}

// check waits until the API answers every frame that was sent, each once and nothing else. An
// instant that is there twice, or never was, is wrong at once.
func (f *cutoverFleet) check(t *testing.T, from int64) {
	t.Helper()
	for i, n := range f.nodes {
		eventually(t, "all frames of node "+n.ID.String(), func(ctx context.Context) error {
			query := fmt.Sprintf("/v1/nodes/%s/metrics?metrics=%s&from=%d&to=%d", n.ID,
				url.QueryEscape(
					`{__name__=~"cassandra_compaction_pending_tasks|cassandra_table_memtable_switches_total"}`), from, f.clock().UnixMilli())
			b, err := f.get(ctx, f.api+query)
			if err != nil {
				return err
			}
			var answer []struct {
				Partial []string
				Payload []fleet.Payload
			}
			if err := json.Unmarshal(b, &answer); err != nil {
				return err
			}
			if len(answer) != 1 || len(answer[0].Payload) != 2 || len(answer[0].Partial) > 0 {
				return fmt.Errorf("the answer is %.300s", b)
			}
			missing := 0
			for _, p := range answer[0].Payload {
				which := 0
				if p.Metric == "cassandra_table_memtable_switches_total" {
					which = 1
				}
				seen := map[int64]bool{}
				for _, v := range p.Values {
					at := v.Time.UnixMilli()
					if want, there := f.sent[i][at]; !there || seen[at] || want[which] != v.Value {
						t.Fatalf("%s at %s is %s: sent %t as %s, seen before %t", p.Metric, v.Time,
							v.Value, there, want[which], seen[at])
					}
					seen[at] = true
				}
				missing += len(f.sent[i]) - len(seen)
			}
			if missing > 0 {
				return fmt.Errorf("%d values are missing", missing)
			}
			return nil
		})
	}
}

func (f *cutoverFleet) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+f.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, b)
	}
	return b, err
}

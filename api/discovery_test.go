package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/stream"
)

type discovered struct {
	Targets []string
	Labels  map[string]string
}

// TestScrapesWait: a cluster's text waits for a place among the account's queries. Who asks for one
// node's values does not wait, nor does another account, nor who asks for what is encoded already.
func TestScrapesWait(t *testing.T) {
	f := newNamedFixture(t, 4, 1, time.Minute, func(c *query.Config) {
		c.MaxConcurrent, c.MaxPerAccount, c.MaxWaiting = 4, 1, 1
	})
	cluster := "/v1/clusters/" + f.nodes[0].Cluster + "/prometheus"
	_, end, err := f.engine.Begin(t.Context(), f.account("acme"))
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan response, 1)
	go func() {
		r := f.ask(acmeKey, cluster, nil)
		for r.status == http.StatusTooManyRequests { // it met the question of the loop below
			r = f.ask(acmeKey, cluster, nil)
		}
		waits <- r
	}()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for waiting := false; !waiting; {
		_, _, err := f.engine.Begin(gone, f.account("acme"))
		_, waiting = errors.AsType[*limit.BusyError](err)
		if len(waits) > 0 {
			t.Fatalf("the scrape does not wait: %v", (<-waits).status)
		}
	}
	if r := f.ask(acmeKey, cluster, nil); r.status != http.StatusTooManyRequests ||
		r.header.Get("Retry-After") == "" ||
		!strings.Contains(string(r.body), "too_many_requests") {
		t.Errorf("one more scrape: %d %v %.300s", r.status, r.header, r.body)
	}
	one := "/v1/nodes/" + f.nodes[0].ID.String() + "/metrics"
	if r := f.ask(acmeKey, one, nil); r.status != http.StatusOK {
		t.Errorf("one node's values: %d %.300s", r.status, r.body)
	}
	if r := f.ask(otherKey, cluster, nil); r.status != http.StatusNotFound {
		t.Errorf("another account: %d %.300s", r.status, r.body)
	}
	end()
	if r := <-waits; r.status != http.StatusOK {
		t.Errorf("the scrape that waited: %d %.300s", r.status, r.body)
	}
	_, end, err = f.engine.Begin(t.Context(), f.account("acme"))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if r := f.ask(acmeKey, cluster, nil); r.status != http.StatusOK {
		t.Errorf("what is encoded already: %d %.300s", r.status, r.body)
	}
}

func TestDiscovery(t *testing.T) {
	f := newFixture(t, inMemory, 3, 1, time.Minute)
	var list []discovered
	f.get("/v1/discovery", nil, &list)
	if len(list) != 3 {
		t.Fatal(list)
	}
	for _, d := range list {
		i := slices.IndexFunc(f.nodes, func(n *frametest.Node) bool {
			return n.ID.String() == d.Labels["node"]
		})
		if i < 0 {
			t.Fatal(d)
		}
		n := f.nodes[i]
		for name, want := range map[string]string{"__scheme__": "http",
			"__metrics_path__": "/v1/nodes/" + n.ID.String() + "/prometheus",
			"instance":         fmt.Sprintf("10.0.0.%d", i+1), "cluster": n.Cluster,
			"datacenter": "dc1", "rack": n.Identity.Rack, "__meta_ringwatch_state": "up",
			"__meta_ringwatch_fact_cassandra_version": "5.0.9"} {
			if d.Labels[name] != want {
				t.Errorf("%s is %q, want %q", name, d.Labels[name], want)
			}
		}
		if len(d.Targets) != 1 || d.Targets[0] != f.server.Addr() {
			t.Errorf("targets are %v", d.Targets)
		}
	}
	list = nil
	f.get("/v1/discovery", url.Values{"by": {"node"}, "cluster": {"fleet-1"}}, &list)
	if len(list) != 1 || list[0].Labels["cluster"] != "fleet-1" {
		t.Error(list)
	}
	list = nil
	f.get("/v1/discovery", url.Values{"by": {"cluster"}}, &list)
	if len(list) != 2 || list[0].Labels["__metrics_path__"] != "/v1/clusters/fleet-0/prometheus" ||
		list[0].Labels["instance"] != "fleet-0" || list[0].Labels["node"] != "" {
		t.Error(list)
	}
	if r := f.ask(acmeKey, "/v1/discovery", url.Values{"by": {"rack"}}); r.status != 400 ||
		!strings.Contains(string(r.body), `"bad_by"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := f.ask(otherKey, "/v1/discovery", nil); r.status != 200 || string(r.body) != "[]\n" ||
		!strings.HasPrefix(r.header.Get("Content-Type"), "application/json") {
		t.Errorf("an empty list: %d %s", r.status, r.body)
	}
	elsewhere, _ := f.serve(func(c *api.Config, _ *api.Deps) {
		c.PublicURL = "https://ringwatch.example:443/"
	})
	if r, _ := f.fetch(elsewhere + "/v1/discovery"); json.Unmarshal(r.body, &list) != nil ||
		list[0].Targets[0] != "ringwatch.example:443" || list[0].Labels["__scheme__"] != "https" {
		t.Errorf("%d %s", r.status, r.body)
	}
	// All nodes of a cluster as one text, in which every metric's lines stand together.
	text := string(f.ask(acmeKey, "/v1/clusters/fleet-0/prometheus", nil).body)
	for i, n := range f.nodes {
		if strings.Contains(text, `node="`+n.ID.String()+`"`) != (i%2 == 0) {
			t.Errorf("node %d of %s in the text of fleet-0", i, n.Cluster)
		}
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(text, -1) {
		if seen[m[1]] {
			t.Errorf("%s is there twice", m[1])
		}
		seen[m[1]] = true
	}
	if r := f.ask(acmeKey, "/v1/clusters/fleet/prometheus", nil); r.status != 404 ||
		!strings.Contains(string(r.body), "unknown_cluster") {
		t.Errorf("%d %s", r.status, r.body)
	}
	// Silent nodes: their values are no longer told as if they were the present's; in the end
	// they are no targets.
	now := f.now.Load()
	f.now.Store(now + 62_000)
	for _, path := range []string{"/v1/nodes/" + f.nodes[0].ID.String() + "/prometheus",
		"/v1/clusters/fleet-0/prometheus"} {
		if r := f.ask(acmeKey, path, nil); r.status != 404 ||
			!strings.Contains(string(r.body), `"silent"`) ||
			!strings.Contains(string(r.body),
				time.UnixMilli(f.newest(0)).UTC().Format("15:04:05")) {
			t.Errorf("a silent node at %s: %d %s", path, r.status, r.body)
		}
	}
	list = nil
	f.get("/v1/discovery", nil, &list)
	if len(list) != 3 || list[0].Labels["__meta_ringwatch_state"] != "down" {
		t.Error("nodes that are down are no targets", list)
	}
	f.now.Store(now + 25*3600_000)
	if f.get("/v1/discovery", nil, &list); len(list) != 0 {
		t.Error("nodes that have been silent for a day are targets", list)
	}
}

// scraper is a real Prometheus, started with the configuration in docs/QUERYING.md.
type scraper struct {
	*testing.T
	url string
}

var configBlock = regexp.MustCompile("(?s)```yaml\n(scrape_configs:.*?)```")

func mustPrometheus(t *testing.T, api, key string) *scraper {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("prometheus is missing: apt-get install prometheus (%v)", err)
	}
	page, err := os.ReadFile("../docs/QUERYING.md")
	if err != nil {
		t.Fatal(err)
	}
	block := configBlock.FindSubmatch(page)
	if block == nil || !strings.Contains(string(block[1]), "127.0.0.1:9470") {
		t.Fatal("docs/QUERYING.md has no configuration for Prometheus")
	}
	dir, port := t.TempDir(), engines.FreePorts(t, 1)[0]
	for name, text := range map[string]string{"prometheus.yml": strings.ReplaceAll(string(block[1]),
		"127.0.0.1:9470", api), "ringwatch.key": key + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &scraper{T: t, url: fmt.Sprintf("http://127.0.0.1:%d", port)}
	log := filepath.Join(dir, "prometheus.log")
	process, err := engines.StartProcess(engines.ProcessConfig{Name: "prometheus", Path: program,
		Dir: dir, Log: log,
		Args: []string{"--config.file=prometheus.yml",
			fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port), "--storage.tsdb.path=data"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("prometheus says\n%s", text)
		}
	})
	return p
}

// sample is a series with its values, or with one value, by time in ms.
type sample struct {
	Metric map[string]string
	Value  [2]any
	Values [][2]any
}

// query asks for an expression; an error is one to try again.
func (p *scraper) query(path string, form url.Values) ([]sample, error) {
	answer, err := http.Get(p.url + path + "?" + form.Encode())
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var body struct {
		Status, Error string
		Data          struct{ Result []sample }
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil || body.Status != "success" {
		return nil, fmt.Errorf("%s %v: %s %s %v", path, form, answer.Status, body.Error, err)
	}
	return body.Data.Result, nil
}

// until polls.
func (p *scraper) until(what string, try func() error) {
	p.Helper()
	for deadline := time.Now().Add(4 * time.Minute); ; <-time.After(200 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("%s: %v", what, err)
		}
	}
}

// ups waits until every target's up is what it should be.
func (p *scraper) ups(want string, nodes int) {
	p.Helper()
	p.until("up is "+want, func() error {
		list, err := p.query("/api/v1/query", url.Values{"query": {`up{job="ringwatch"}`}})
		if err == nil && len(list) != nodes {
			err = fmt.Errorf("%d targets", len(list))
		}
		for _, s := range list {
			if s.Value[1] != want || !strings.HasPrefix(s.Metric["instance"], "10.0.0.") ||
				s.Metric["node"] == "" {
				return fmt.Errorf("%v", s)
			}
		}
		return err
	})
}

// live is a fleet that goes on in real time until its end.
type live struct {
	ended chan struct{}
	stop  context.CancelFunc
}

// goLive lets every node send a frame each second. shape may change the first node's state before
// its frame.
func (f *fixture) goLive(shape func()) *live {
	ctx, stop := context.WithCancel(f.Context())
	l := &live{ended: make(chan struct{}), stop: stop}
	go func() {
		defer close(l.ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				at := now.UnixMilli()
				f.now.Store(at)
				for i, n := range f.nodes {
					n.Step()
					if i == 0 {
						shape()
					}
					f.history[i] = map[int64][][]frametest.Entity{at: n.Copy()}
					b := n.Frame(at)
					f.store.Put(f.account("acme"), b)
					// the store has it in any case
					_ = f.writer.Handle(f.Context(),
						[]stream.Record{{Account: f.account("acme"), Value: b}})
				}
			}
		}
	}()
	f.Cleanup(l.end)
	return l
}

func (l *live) end() { l.stop(); <-l.ended }

// TestPrometheus has a real Prometheus find and scrape a fleet with the configuration that
// docs/QUERYING.md prints.
func TestPrometheus(t *testing.T) {
	engines.Needed(t, "Prometheus")
	f := newFixture(t, inMemory, 0, 0, 0)
	for i := range 4 {
		f.nodes = append(f.nodes, frametest.New(fmt.Sprint("fleet-", i%2), uint64(i+1), 3))
		f.history = append(f.history, nil)
	}
	// On the first node nobody reads the last table until told, and then all reads take one time.
	const bucket, quiet = 20, "table_2"
	first := f.nodes[0]
	metrics := first.Templates[1].Metrics
	latency := slices.IndexFunc(metrics, func(m frame.Metric) bool {
		return m.Kind == frame.Histogram
	})
	upper := first.Bounds[metrics[latency].Bounds].Upper
	var reads int64
	var every atomic.Int64
	l := f.goLive(func() {
		c := &first.Entities[1][2].Cells[latency]
		clear(c.Counts)
		reads += every.Load()
		c.Counts[bucket], c.Sum = reads, reads*upper[bucket]
	})
	// else Prometheus looks again a minute later
	for deadline := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		var nodes []discovered
		if f.get("/v1/discovery", nil, &nodes); len(nodes) == 4 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no nodes")
		}
	}
	p := mustPrometheus(t, f.server.Addr(), acmeKey)
	p.ups("1", 4)

	// What was never counted is not there, also not as zeros; what begins to count is right from
	// its first scrape on.
	of := fmt.Sprintf(`{node=%q,table=%q}`, first.ID, quiet)
	name := metrics[latency].Name
	if list, err := p.query("/api/v1/query",
		url.Values{"query": {`{__name__=~"` + name + `.*",` + of[1:]}}); err != nil ||
		len(list) != 0 {
		t.Errorf("a histogram that never counted: %v %v", list, err)
	}
	if list, err := p.query("/api/v1/query",
		url.Values{"query": {"cassandra_table_live_disk_space_bytes" + of}}); err != nil ||
		len(list) != 1 {
		t.Errorf("the table's other metrics: %v %v", list, err)
	}
	began := time.Now()
	every.Store(10)
	p.until("three scrapes of the reads", func() error {
		list, err := p.query("/api/v1/query",
			url.Values{"query": {"count_over_time(" + name + "_count" + of + "[5m]) >= 3"}})
		if err == nil && len(list) != 1 {
			err = fmt.Errorf("%v", list)
		}
		return err
	})
	list, err := p.query("/api/v1/query_range",
		url.Values{"query": {"histogram_quantile(0.5, sum by (le) (rate(" + name + "_bucket" + of +
			"[20s])))"},
			"start": {strconv.FormatInt(began.Unix(), 10)},
			"end":   {strconv.FormatInt(time.Now().Unix(), 10)}, "step": {"1"}})
	if err != nil {
		t.Fatal(err)
	}
	values := 0
	// the text has every eighth bound
	low, high := float64(upper[bucket/8*8-1])/1e6, float64(upper[bucket/8*8+7])/1e6
	for _, s := range list {
		for _, v := range s.Values {
			q, err := strconv.ParseFloat(fmt.Sprint(v[1]), 64)
			if err != nil || math.IsNaN(q) {
				continue // no reads in that range
			}
			if values++; q < low || q > high {
				t.Errorf("at %v the median is %v, not from %v to %v", v[0], q, low, high)
			}
		}
	}
	if values == 0 {
		t.Errorf("no median in %v", list)
	}

	l.end()
	for i, n := range f.nodes {
		p.until("the last frame of "+n.ID.String(), func() error { return p.sees(f, i) })
	}
	// Only the API's clock goes on: the nodes have fallen silent.
	f.now.Add(62_000)
	p.ups("0", 4)
}

// sees compares the newest samples of a node with its last frame.
func (p *scraper) sees(f *fixture, node int) error {
	n, at := f.nodes[node], f.newest(node)
	list, err := p.query("/api/v1/query",
		url.Values{"query": {fmt.Sprintf(`{node=%q,__name__!~"up|scrape_.+"}[5m]`, n.ID)}})
	if err != nil {
		return err
	}
	want := exposed(n, f.history[node][at], true)
	found := 0
	for _, s := range list {
		last := s.Values[len(s.Values)-1]
		seconds, _ := last[0].(float64)
		if int64(math.Round(seconds*1000)) != at {
			continue // gone since, or not scraped yet
		}
		if s.Metric["cluster"] != n.Cluster || s.Metric["datacenter"] != "dc1" ||
			s.Metric["rack"] != n.Identity.Rack ||
			s.Metric["instance"] != n.Identity.Facts[0].Value || s.Metric["job"] != "ringwatch" {
			p.Fatalf("wrong labels: %v", s.Metric)
		}
		for _, l := range []string{"node", "cluster", "datacenter", "rack", "instance", "job"} {
			delete(s.Metric, l)
		}
		// 1.0 and 1 are one bound
		if bound, err := strconv.ParseFloat(s.Metric["le"], 64); err == nil {
			s.Metric["le"] = strconv.FormatFloat(bound, 'g', -1, 64)
		}
		key := labels.FromMap(s.Metric).String()
		value, err := strconv.ParseFloat(fmt.Sprint(last[1]), 64)
		if expected, there := want[key]; !there || err != nil ||
			math.Abs(value-expected) > 1e-9*math.Abs(expected) {
			p.Fatalf("%s at %d is %v, want %v, %v", key, at, value, expected, there)
		}
		found++
	}
	if found != len(want) {
		return fmt.Errorf("%d of %d series", found, len(want))
	}
	return nil
}

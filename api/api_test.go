package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/events"
)

func TestMain(m *testing.M) { engines.Main(m) }

const (
	acmeKey  = "rw_acme0000000000000000"
	otherKey = "rw_other000000000000000"
	writeKey = "rw_write000000000000000"
	// fleetKey is of acme and limited to the clusters fleet and fleet-1.
	fleetKey = "rw_fleet000000000000000"
)

// inMemory stands for the address of a Redis where the memory of the process is in its place.
const inMemory = ""

// fixture is an API on a real Redis, or without one, with two accounts of which acme has a fleet.
type fixture struct {
	*testing.T
	server  *api.Server
	store   *apitest.Store
	writer  *recent.Writer
	metrics *prometheus.Registry
	now     atomic.Int64 // ms
	// added returns the server's endpoints of other packages; nil: there are none.
	added   func(*read.Reader) []listener.Route
	engine  *query.Engine // of added; nil: there are no names of the catalogue
	keys    keyTable
	nodes   []*frametest.Node
	history []map[int64][][]frametest.Entity // by node, by time
	// happened reads events; nil: nothing happened.
	happened func(events.Query) (events.Page, error)
}

// newFixture makes a fleet whose frames of the last span are in the store and, as far as they are
// recent, in Redis.
func newFixture(t *testing.T, redis string, nodes, tables int, span time.Duration,
	change ...func(*api.Config)) *fixture {
	t.Helper()
	return newFixtureOn(t, &apitest.Store{}, redis, nodes, tables, span, change...)
}

func newFixtureOn(t *testing.T, store *apitest.Store, redis string, nodes, tables int,
	span time.Duration, change ...func(*api.Config)) *fixture {
	t.Helper()
	f := &fixture{T: t, store: store, metrics: prometheus.NewRegistry()}
	f.now.Store(time.Now().UnixMilli())
	f.start(redis, f.store.Sources(), api.Deps{Lookup: lookupTables(f.account("acme")),
		StoreReady: f.store.Ready}, change...)
	f.fill(nodes, tables, span, func(b []byte) { f.store.Put(f.account("acme"), b) })
	return f
}

func (f *fixture) clock() time.Time { return time.UnixMilli(f.now.Load()) }

// start runs a server on a Redis, or without one, and a store.
func (f *fixture) start(redis string, store read.Sources, deps api.Deps,
	change ...func(*api.Config)) {
	f.Helper()
	t := f.T

	rc := recent.DefaultConfig()
	if rc.Clock, rc.Backoff = f.clock, time.Nanosecond; redis == inMemory {
		rc.Memory = recent.NewMemory(1<<30, time.Now, f.metrics)
	} else {
		rc.Addresses = []string{redis}
	}
	rc.ActiveFor = 0 // the writer has no log to read again
	rc.DialTimeout = 10 * time.Second
	rc.ReadTimeout = 10 * time.Second // a crowded machine is no outage
	rc.WriteTimeout = 30 * time.Second
	var err error
	if f.writer, err = recent.NewWriter(rc, nil, f.metrics); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.writer.Close)
	reader, err := recent.NewReader(rc, f.metrics)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)

	registry, err := account.NewRegistry([]account.Account{
		{Name: f.account("acme"),
			Keys: []account.Key{{Name: "r", Key: acmeKey,
				Scopes: []account.Scope{account.Read, account.Admin, account.Rules}},
				{Name: "w", Key: writeKey, Scopes: []account.Scope{account.Write}},
				{Name: "f", Key: fleetKey, Scopes: []account.Scope{account.Read},
					Clusters: []string{"fleet", "fleet-1"}}}},
		{Name: f.account("other"),
			Keys: []account.Key{{Name: "r", Key: otherKey,
				Scopes: []account.Scope{account.Read, account.Admin}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := api.DefaultConfig()
	c.Listen, c.Clock = "127.0.0.1:0", f.clock
	for _, ch := range change {
		ch(&c)
	}
	deps.Admit = account.NewDoor(registry.Authenticate).Admit
	store.Recent, store.Miss, store.Metrics = reader, recent.ErrMiss, f.metrics
	deps.Reader, deps.RecentReady = apitest.MustReader(t, c, store), reader.Ping
	if f.added != nil {
		deps.Routes = f.added(deps.Reader)
		shipped, err := catalog.Shipped()
		if err != nil {
			t.Fatal(err)
		}
		conditions, err := safe.Shipped()
		if err != nil {
			t.Fatal(err)
		}
		deps.Engine, deps.Catalog = f.engine, func(string) *catalog.Catalog { return shipped }
		deps.Safe = func(string) *safe.Conditions { return conditions }
		words, err := advice.Shipped()
		if err != nil {
			t.Fatal(err)
		}
		deps.Advice = func(string) *advice.Rules { return words }
		if deps.Events == nil {
			deps.Events = func(_ context.Context, _ string, q events.Query) (events.Page, error) {
				if f.happened == nil {
					return events.Page{}, nil
				}
				return f.happened(q)
			}
		}
	}
	if deps.Work == nil {
		deps.Work = f.work
	}
	deps.Installed = api.Installation{Stream: "directory", Store: "directory",
		Recent: "memory", Ingest: api.InstalledIngest{Port: 9471}}
	deps.MakeKey = f.keys.maker().Make
	deps.Metrics, deps.Log = f.metrics, slog.New(slog.DiscardHandler)
	f.server, err = api.New(c, deps)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// fill makes the fleet say something every interval for a while up to now, and gives each frame
// to Redis and to put when its time has come.
func (f *fixture) fill(nodes, tables int, span time.Duration, put func(b []byte)) {
	f.Helper()
	now := f.now.Load()
	for i := range nodes {
		f.nodes = append(f.nodes, frametest.New("fleet-"+fmt.Sprint(i%2), uint64(i+1), tables))
		f.history = append(f.history, map[int64][][]frametest.Entity{})
	}
	for at := now - span.Milliseconds(); at <= now; at += 5000 {
		f.now.Store(at)
		for i, n := range f.nodes {
			n.Step()
			f.history[i][at] = n.Copy()
			b := n.Frame(at)
			put(b)
			if err := f.writer.Handle(f.Context(),
				[]stream.Record{{Account: f.account("acme"), Value: b}}); err != nil {
				f.Fatal(err)
			}
		}
	}
	f.now.Store(now)
}

// account makes names of the test's own, for tests share a Redis.
func (f *fixture) account(name string) string {
	return name + "-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(f.Name()))
}

type response struct {
	status int
	header http.Header
	body   []byte
}

func (f *fixture) ask(key, path string, query url.Values, header ...string) response {
	f.Helper()
	return f.send(http.MethodGet, key, path, query, nil, header...)
}

// straight is a client that goes nowhere else: where an answer leads is part of it.
var straight = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
	return http.ErrUseLastResponse
}}

func (f *fixture) send(method, key, path string, query url.Values, content io.Reader,
	header ...string) response {
	f.Helper()
	address := "http://" + f.server.Addr() + path
	if query != nil {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequest(method, address, content)
	if err != nil {
		f.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := straight.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		f.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, body}
}

func (f *fixture) get(path string, query url.Values, into any) {
	f.Helper()
	r := f.ask(acmeKey, path, query)
	if r.status != http.StatusOK {
		f.Fatalf("%s?%s: %d %s", path, query.Encode(), r.status, r.body)
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		f.Fatalf("%s: %v in %.300s", path, err, r.body)
	}
}

// count returns what a counter or a gauge with these labels' values stands at.
func (f *fixture) count(name string, values ...string) float64 {
	f.Helper()
	families, err := f.metrics.Gather()
	if err != nil {
		f.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
	next:
		for _, m := range family.Metric {
			for _, v := range values {
				found := false
				for _, l := range m.Label {
					found = found || l.GetValue() == v
				}
				if !found {
					continue next
				}
			}
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return 0
}

func (f *fixture) metricsPath(node int) string {
	return "/v1/nodes/" + f.nodes[node].ID.String() + "/metrics"
}

func TestBadInput(t *testing.T) {
	f := newFixture(t, inMemory, 1, 1, time.Minute, func(c *api.Config) { c.MaxPoints = 100 })
	path := f.metricsPath(0)
	const metric = "cassandra_compaction_pending_tasks"
	for _, c := range []struct {
		name, key, path, query string
		status                 int
		reason, field          string
	}{
		{"no key", "", path, "", 401, "no_key", "Authorization"},
		{"an unknown key", "rw_0000000000000000000000", path, "", 401, "unknown_key",
			"Authorization"},
		{"a key that may not read", writeKey, path, "", 403, "no_scope", "Authorization"},
		{"an unknown node", acmeKey, "/v1/nodes/6a1b7c1e-0000-4000-8000-000000000000/metrics", "",
			404, "unknown_node", "id"},
		{"no node id", acmeKey, "/v1/nodes/127.0.0.1/metrics", "", 404, "unknown_node", "id"},
		{"an unknown node's text", acmeKey, "/v1/nodes/x/prometheus", "", 404, "unknown_node",
			"id"},
		{"an unknown path", acmeKey, "/v2/nodes", "", 404, "no_such_path", ""},
		{"a rollup that is none", acmeKey, path, "metrics=" + metric + "&period=1h&rollup=2h", 400,
			"bad_rollup", "rollup"},
		{"a rollup of the newest values", acmeKey, path, "metrics=" + metric + "&rollup=1h", 400,
			"bad_rollup", "rollup"},
		{"a rollup and a step", acmeKey, path, "metrics=" + metric + "&period=1h&step=1h&rollup=1h",
			400, "bad_rollup", "rollup"},
		{"a rollup of too long a time", acmeKey, path,
			"metrics=" + metric + "&period=60d&rollup=5m", 400, "range_too_wide", "period"},
		{"a rollup of everything", acmeKey, path, "period=1h&rollup=1h", 400, "no_metrics",
			"metrics"},
		{"an unknown parameter", acmeKey, path, "metric=up", 400, "unknown_parameter", "metric"},
		{"a parameter where there is none", acmeKey, "/v1/me", "cluster=a", 400,
			"unknown_parameter", "cluster"},
		{"a broken query", acmeKey, path, "metrics=%zz", 400, "bad_query", "query"},
		{"a bad matcher", acmeKey, path, "metrics=up{", 400, "bad_matcher", "metrics"},
		{"an expression", acmeKey, path, "metrics=rate(up[1m])", 400, "bad_matcher", "metrics"},
		{"an empty selector", acmeKey, path, "metrics=", 400, "bad_matcher", "metrics"},
		{"a selector of everything", acmeKey, path, "metrics=%7B%7D", 400, "bad_matcher",
			"metrics"},
		{"everything by name", acmeKey, path, "period=5m&metrics={__name__=~%22.*%22}", 400,
			"bad_matcher", "metrics"},
		{"a bad regular expression", acmeKey, path, `metrics={__name__=~"("}`, 400, "bad_matcher",
			"metrics"},
		{"an unknown format", acmeKey, path, "format=xml", 400, "bad_format", "format"},
		{"a bad from", acmeKey, path, "from=yesterday&metrics=" + metric, 400, "bad_time", "from"},
		{"a from that is no number", acmeKey, path, "from=NaN&metrics=" + metric, 400, "bad_time",
			"from"},
		{"an endless from", acmeKey, path, "from=-Inf&metrics=" + metric, 400, "bad_time", "from"},
		{"a from before all time", acmeKey, path, "from=-5&metrics=" + metric, 400, "bad_time",
			"from"},
		{"a bad to", acmeKey, path, "from=1700000000&to=1e99&metrics=" + metric, 400, "bad_time",
			"to"},
		{"to alone", acmeKey, path, "to=1700000000&metrics=" + metric, 400, "bad_time", "from"},
		{"from after to", acmeKey, path, "from=1700000001&to=1700000000&metrics=" + metric, 400,
			"bad_time", "from"},
		{"from in the future", acmeKey, path, "from=2999-01-01T00:00:00Z&metrics=" + metric, 400,
			"bad_time", "from"},
		{"an empty from", acmeKey, path, "from=&metrics=" + metric, 400, "bad_time", "from"},
		{"from and period", acmeKey, path, "from=1700000000&period=5m&metrics=" + metric, 400,
			"bad_time", "period"},
		{"two periods", acmeKey, path, "period=5m&period=6m&metrics=" + metric, 400,
			"repeated_parameter", "period"},
		{"a bad period", acmeKey, path, "period=5&metrics=" + metric, 400, "bad_duration",
			"period"},
		{"no period", acmeKey, path, "period=0s&metrics=" + metric, 400, "bad_duration", "period"},
		{"a bad step", acmeKey, path, "period=5m&step=-1s&metrics=" + metric, 400, "bad_duration",
			"step"},
		{"a step without a range", acmeKey, path, "step=1s&metrics=" + metric, 400, "bad_step",
			"step"},
		{"too long a period", acmeKey, path, "period=32d&metrics=" + metric, 400, "range_too_wide",
			"period"},
		{"too wide a range", acmeKey, path, "from=2020-01-01T00:00:00Z&metrics=" + metric, 400,
			"range_too_wide", "from"},
		{"a range of everything", acmeKey, path, "period=5m", 400, "no_metrics", "metrics"},
		{"a range as text", acmeKey, path, "period=5m&format=prometheus&metrics=" + metric, 400,
			"bad_format", "format"},
		{"too many values", acmeKey, path, "period=5m&metrics={__name__=~%22.%2B%22}", 400,
			"too_many_values", "step"},
		{"too many selectors", acmeKey, path, strings.Repeat("metrics=up&", 33), 400,
			"too_many_metrics", "metrics"},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := c.path
			if c.query != "" {
				target += "?" +
					strings.TrimSuffix(strings.NewReplacer(`"`, "%22", "{", "%7B").Replace(c.query),
						"&")
			}
			r := f.ask(c.key, target, nil)
			var e struct {
				Error struct{ Reason, Field, Message string }
			}
			if err := json.Unmarshal(r.body, &e); err != nil {
				t.Fatalf("%d %.200s: %v", r.status, r.body, err)
			}
			if r.status != c.status || e.Error.Reason != c.reason || e.Error.Field != c.field ||
				e.Error.Message == "" {
				t.Errorf("%d %s, want %d %s %s", r.status, r.body, c.status, c.reason, c.field)
			}
			if r.header.Get("X-Request-Id") == "" ||
				c.status == 401 && r.header.Get("Www-Authenticate") == "" {
				t.Error("headers are missing")
			}
		})
	}
	resp, err := http.Post("http://"+f.server.Addr()+"/v1/nodes", "text/plain",
		strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") == "" {
		t.Error("POST:", resp.Status)
	}
	if r := f.ask(acmeKey, path, url.Values{"metrics": {metric}}); r.status != 200 {
		t.Error("the next good request fails:", r.status)
	}
}

// TestOtherAccount walks every route under /v1 with the key of another account: it must see
// nothing of the first's.
func TestOtherAccount(t *testing.T) {
	f := newFixture(t, inMemory, 2, 2, time.Minute)
	walked := 0
	for _, pattern := range f.server.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		// the last is documentation, for everybody
		if !strings.HasPrefix(path, "/v1/") || path == "/v1/openapi.yaml" {
			continue
		}
		walked++
		switch path {
		case "/v1/me", "/v1/keys", "/v1/session", "/v1/nodes/{id}/forget", "/v1/installation":
			// they say, make and end what is the asking key's own, or is nobody's: TestMe,
			// TestMakeKey, TestSessions of package account, TestForget
			continue
		}
		if method == http.MethodPost {
			f.walkLookup(path)
			continue
		}
		for _, n := range f.nodes {
			target := strings.NewReplacer("{id}", n.ID.String(), "{cluster}", n.Cluster,
				"{datacenter}", n.Identity.Datacenter).Replace(path)
			if r := f.ask(acmeKey, target, nil); r.status != http.StatusOK ||
				!bytes.Contains(r.body, []byte(n.Cluster)) {
				t.Errorf("%s: its own key gets %d %.100s", target, r.status, r.body)
			}
			r := f.ask(otherKey, target, nil)
			// A refusal repeats the name that was asked for.
			told := bytes.ReplaceAll(r.body, []byte(fmt.Sprintf(`no cluster \"%s\"`, n.Cluster)), nil)
			if !(r.status == http.StatusNotFound ||
				r.status == http.StatusOK && string(r.body) == "[]\n") ||
				bytes.Contains(told, []byte("fleet")) {
				t.Errorf("%s: the other's key gets %d %.100s", target, r.status, r.body)
			}
			if r := f.ask("", target, nil); r.status != http.StatusUnauthorized {
				t.Errorf("%s: without a key: %d", target, r.status)
			}
			if r := f.ask(writeKey, target, nil); r.status != http.StatusForbidden {
				t.Errorf("%s: without the scope: %d", target, r.status)
			}
		}
	}
	if walked < 6 {
		t.Error("walked", walked, "routes")
	}
}

func TestNodesAndClusters(t *testing.T) {
	f := newFixture(t, inMemory, 3, 1, time.Minute)
	newest := map[string]int64{}
	for i, n := range f.nodes {
		for at := range f.history[i] {
			newest[n.ID.String()] = max(newest[n.ID.String()], at)
		}
	}
	type node struct {
		ID, Cluster, Datacenter, Rack, Address, State string
		Facts                                         map[string]string
		LastSeen                                      time.Time `json:"last_seen"`
		AgeSeconds                                    float64   `json:"age_seconds"`
		IntervalMS                                    int64     `json:"interval_ms"`
	}
	var nodes []node
	for _, s := range []struct {
		later time.Duration
		state string
	}{{0, "up"}, {15 * time.Second, "up"}, {20 * time.Second, "late"}, {61 * time.Second, "down"}} {
		now := f.now.Load()
		f.now.Add(s.later.Milliseconds())
		f.get("/v1/nodes", nil, &nodes)
		if len(nodes) != 3 {
			t.Fatal(nodes)
		}
		for _, n := range nodes {
			age := float64(f.now.Load()-newest[n.ID]) / 1000
			if n.State != s.state || n.LastSeen.UnixMilli() != newest[n.ID] ||
				n.AgeSeconds != age || n.Datacenter != "dc1" ||
				n.Facts["cassandra_version"] != "5.0.9" ||
				!strings.HasPrefix(n.Address, "10.0.0.") || n.IntervalMS != 5000 {
				t.Errorf("%v later: %+v", s.later, n)
			}
		}
		f.now.Store(now)
	}
	var clusters []struct {
		Cluster         string
		Nodes, Up, Down int
		Datacenters     []struct {
			Datacenter string
			Nodes      int
		}
	}
	f.get("/v1/clusters", nil, &clusters)
	if len(clusters) != 2 || clusters[0].Cluster != "fleet-0" || clusters[0].Nodes != 2 ||
		clusters[0].Up != 2 || clusters[1].Nodes != 1 || clusters[0].Datacenters[0].Nodes != 2 {
		t.Errorf("%+v", clusters)
	}
}

func TestHealth(t *testing.T) {
	redis := engines.MustRedis(t)
	f := newFixture(t, redis.Addr(), 1, 1, time.Minute)
	ready := func(status int, store, recent bool) {
		t.Helper()
		r := f.ask("", "/-/ready", nil)
		var a struct {
			Ready         bool
			Store, Recent string
		}
		if err := json.Unmarshal(r.body, &a); err != nil || r.status != status ||
			a.Ready != store || (a.Store == "ok") != store || (a.Recent == "ok") != recent {
			t.Errorf("%d %s %v", r.status, r.body, err)
		}
	}
	ready(200, true, true)
	f.store.SetDown(true)
	ready(503, false, true)
	f.store.SetDown(false)
	if err := redis.Kill(); err != nil {
		t.Fatal(err)
	}
	ready(200, true, false)
	for path, want := range map[string]string{"/-/healthy": "healthy",
		"/": "<title>Ringwatch</title>", "/metrics": "ringwatch_api_requests_total"} {
		if r := f.ask("", path, nil); r.status != 200 || !bytes.Contains(r.body, []byte(want)) {
			t.Errorf("%s: %d %.100s", path, r.status, r.body)
		}
	}
}

func TestGzip(t *testing.T) {
	f := newFixture(t, inMemory, 1, 3, time.Minute)
	plain := f.ask(acmeKey, f.metricsPath(0), nil, "Accept-Encoding", "gzip;q=0")
	packed := f.ask(acmeKey, f.metricsPath(0), nil, "Accept-Encoding", "br, gzip;q=0.5")
	if plain.header.Get("Content-Encoding") != "" ||
		packed.header.Get("Content-Encoding") != "gzip" {
		t.Fatal("wrong encodings")
	}
	z, err := gzip.NewReader(bytes.NewReader(packed.body))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(body, plain.body) {
		t.Error("unpacked it is another answer", err)
	}
}

func TestNothingAnswers(t *testing.T) {
	redis := engines.MustRedis(t)
	f := newFixture(t, redis.Addr(), 1, 1, time.Minute)
	f.get("/v1/nodes", nil, new(any)) // the nodes are known now
	f.store.SetDown(true)
	f.get(f.metricsPath(0), nil, new(any)) // Redis alone is enough
	if err := redis.Kill(); err != nil {
		t.Fatal(err)
	}
	r := f.ask(acmeKey, f.metricsPath(0), nil)
	if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" ||
		bytes.Contains(r.body, []byte("apitest")) {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestValidateSaysAllAtOnce(t *testing.T) {
	_, err := api.New(api.Config{Listen: "nowhere", PublicURL: "over there",
		TLS: listener.TLS{KeyFile: "x"}}, api.Deps{})
	for _, want := range []string{"nowhere", "recent_span", "max_range", "nodes_ttl",
		"request_timeout", "shutdown_timeout", "max_points", "max_selectors", "max_series",
		"max_response_bytes", "max_query_bytes", "max_request_bytes", "discovery_span",
		"public_url", "cert_file and key_file"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

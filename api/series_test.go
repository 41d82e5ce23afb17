package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/front"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/promapi"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/rollup"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/selector"
	"github.com/ringwatch/ringwatch/series"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
)

// present is an index that can be exchanged, as by a restart of the API.
type present struct{ atomic.Pointer[series.Index] }

func (p *present) Select(account string, q series.Query) (*series.Selection, error) {
	return p.Load().Select(account, q)
}

// seriesFixture is an API whose index is loaded from a real Cassandra, to which frames come as from the stream.
type seriesFixture struct {
	*fixture
	node   *engines.Cassandra
	config store.Config
	db     *store.Store
	writer *store.Writer
	offset int64
	index  present
	state  atomic.Pointer[series.Loader]
}

func newSeriesFixture(t *testing.T, change ...func(*api.Config)) *seriesFixture {
	f := &seriesFixture{fixture: &fixture{T: t, metrics: prometheus.NewRegistry()}, node: engines.MustCassandra(t)}
	f.added = f.prometheus
	f.config = store.DefaultConfig()
	f.config.Hosts, f.config.Now, f.config.Log = []string{f.node.Addr()}, f.clock, slog.New(slog.DiscardHandler)
	f.config.Timeout = time.Minute // a crowded machine is no outage
	f.now.Store(time.Now().UnixMilli())
	var err error
	if f.db, err = store.New(f.config, store.NewMetrics(f.metrics)); err != nil {
		t.Fatal(err)
	}
	if err := f.db.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.db.Close)
	if err := f.db.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.writer = store.NewWriter(f.db)
	f.restart(f.source())
	sources := realStore{f.db}.sources()
	sources.Rollups = func(ctx context.Context, account string, node uuid.UUID, level rollup.Level, from, to int64, facets []window.Facet, matchers ...*labels.Matcher) ([]rollup.Series, []string, error) {
		list, report, err := realStore{f.db}.reader(ctx, account).ReadRollup(ctx, account, node, level, from, to, facets, matchers...)
		return list, report.Missing(), err
	}
	f.start(engines.SharedRedis(t).Addr(), sources, api.Deps{
		StoreReady: func(context.Context) error { return f.db.Ready(t.Context()) },
		Report:     emptyReport,
		Lookup:     lookupTables(f.account("acme")), Series: &f.index, SeriesState: func() string { return f.state.Load().State() },
	}, change...)
	return f
}

// prometheus returns the endpoints of package promapi.
func (f *seriesFixture) prometheus(r *query.Reader) []front.Route {
	selectors, err := selector.New(selector.DefaultConfig())
	if err != nil {
		f.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock = f.clock
	e, err := query.NewEngine(c, r, &f.index, selectors, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = e.Close() })
	f.engine = e
	applied := map[string]map[string][]byte{f.account("acme"): {"team.yaml": []byte("groups: []")}}
	board, err := rules.NewBoard(rules.DefaultConfig(), rules.Deps{
		Applied: func() map[string]map[string][]byte { return applied },
	})
	if err != nil {
		f.Fatal(err)
	}
	keep := func(context.Context, string, string, []byte) error { return nil }
	return append(promapi.New(promapi.Deps{
		Engine: e, Reader: r, MaxRequestBytes: 1 << 20, Clock: f.clock,
	}).Routes(), board.Routes(keep)...)
}

func (f *seriesFixture) source() series.Source {
	reader := f.db.Reader(store.Dashboard("acme"), memory.Unbounded())
	return series.Source{
		Nodes: func(ctx context.Context, account string) ([]uuid.UUID, error) {
			nodes, err := reader.Nodes(ctx, account)
			var ids []uuid.UUID
			for _, n := range nodes {
				ids = append(ids, n.ID)
			}
			return ids, err
		},
		Of: reader.DictionariesOf, Written: reader.DictionariesWritten, WrittenFor: store.WrittenFor, Read: reader.ReadDictionaries,
	}
}

// restart gives the API an empty index and returns what fills it.
func (f *seriesFixture) restart(s series.Source) *series.Loader {
	f.Helper()
	c := series.DefaultConfig()
	c.Keep, c.Clock, c.Log = f.config.RawTTL, f.clock, f.config.Log
	c.Accounts = func() []string { return []string{f.account("acme"), f.account("other")} }
	index := series.NewIndex(c.MaxBytes)
	loader, err := series.NewLoader(c, s, index, prometheus.NewRegistry())
	if err != nil {
		f.Fatal(err)
	}
	f.index.Store(index)
	f.state.Store(loader)
	return loader
}

func (f *seriesFixture) refresh() {
	f.Helper()
	if err := f.state.Load().Refresh(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// say makes nodes of an account send a key frame at the begin of a window, and closes it.
func (f *seriesFixture) say(account string, at int64, nodes ...*frametest.Node) {
	f.Helper()
	f.now.Store(at)
	for _, n := range nodes {
		n.Step()
		f.offset++
		if err := f.writer.Handle(f.Context(), []stream.Record{{Account: f.account(account), Offset: f.offset, Value: n.Frame(at)}}); err != nil {
			f.Fatal(err)
		}
	}
	f.now.Store(frame.WindowOf(at) + frame.WindowMillis + 30_000)
	if err := f.writer.Tick(f.Context(), f.clock()); err != nil {
		f.Fatal(err)
	}
}

// sets are label sets in text.
type sets map[string]bool

// everything returns what a node has, unfolded.
func everythingOf(nodes ...*frametest.Node) sets {
	all := sets{}
	for _, n := range nodes {
		for t, template := range n.Templates {
			for _, m := range template.Metrics {
				for _, e := range n.Entities[t] {
					set := map[string]string{labels.MetricName: m.Name, "cluster": n.Cluster, "datacenter": n.Identity.Datacenter, "rack": n.Identity.Rack, "node": n.ID.String()}
					for i, l := range template.Labels {
						set[l] = e.Labels[i]
					}
					all[labels.FromMap(set).String()] = true
				}
			}
		}
	}
	return all
}

func (s sets) where(part string) sets {
	found := sets{}
	for text := range s {
		if strings.Contains(text, part) {
			found[text] = true
		}
	}
	return found
}

func (s sets) and(o sets) sets {
	both := maps.Clone(s)
	maps.Copy(both, o)
	return both
}

// found asks for series; what is asked are pairs of parameter and value.
func (f *seriesFixture) found(key string, asked ...string) (sets, http.Header) {
	f.Helper()
	r := f.ask(key, "/v1/series", values(asked))
	var list []map[string]string
	if err := json.Unmarshal(r.body, &list); err != nil || r.status != http.StatusOK {
		f.Fatalf("%v: %d %.300s %v", asked, r.status, r.body, err)
	}
	all := sets{}
	for _, set := range list {
		all[labels.FromMap(set).String()] = true
	}
	if len(all) != len(list) {
		f.Fatalf("%v: %d series of %d are there twice", asked, len(list)-len(all), len(list))
	}
	return all, r.header
}

func values(asked []string) url.Values {
	v := url.Values{}
	for i := 0; i < len(asked); i += 2 {
		v.Add(asked[i], asked[i+1])
	}
	return v
}

func (f *seriesFixture) same(what string, got, want sets) {
	f.Helper()
	for text := range want {
		if !got[text] {
			f.Errorf("%s: %s is missing", what, text)
		}
	}
	for text := range got {
		if !want[text] {
			f.Errorf("%s: %s should not be there", what, text)
		}
	}
}

func (f *seriesFixture) list(key, path string, asked ...string) []string {
	f.Helper()
	r := f.ask(key, path, values(asked))
	var list []string
	if err := json.Unmarshal(r.body, &list); err != nil || r.status != http.StatusOK {
		f.Fatalf("%s %v: %d %.300s %v", path, asked, r.status, r.body, err)
	}
	return list
}

// addTable gives a node another table, with its next key frame.
func addTable(n *frametest.Node, name string) {
	like := n.Copy()[1][0]
	like.Labels = []string{"shop", name}
	n.Entities[1] = append(n.Entities[1], like)
}

// TestSeries: from frames by way of a real Cassandra to /v1/series, over two days: tables come and go, a node comes, Cassandra goes and comes, the API restarts; another
// account sees nothing of it.
func TestSeries(t *testing.T) {
	f := newSeriesFixture(t, func(c *api.Config) { c.MaxSeries = 48 })
	const all = `{node=~".+"}`
	const minute, day = int64(60_000), int64(24 * 60 * 60_000)
	monday := f.now.Load() - f.now.Load()%day - 3*day + day/2 // noon, three days ago
	tuesday := monday + day
	asTime := func(at int64) string { return strconv.FormatInt(at, 10) }

	r := f.ask(acmeKey, "/v1/series", values([]string{"match[]", all}))
	if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" || !strings.Contains(string(r.body), "loading") {
		t.Errorf("before it is loaded: %d %s", r.status, r.body)
	}
	if ready := f.ask("", "/-/ready", nil); ready.status != http.StatusOK || !strings.Contains(string(ready.body), `"series":"loading`) {
		t.Errorf("ready: %d %s", ready.status, ready.body)
	}

	a, b, theirs := frametest.New("fleet-0", 1, 3), frametest.New("fleet-1", 2, 2), frametest.New("fleet-0", 3, 1)
	addTable(theirs, "secret")
	f.say("acme", monday, a, b)
	f.say("other", monday, theirs)
	f.refresh()
	got, header := f.found(acmeKey, "match[]", all)
	f.same("at first", got, everythingOf(a, b))
	if header.Get(api.TotalHeader) != strconv.Itoa(len(got)) || header.Get(api.PartialHeader) != "" {
		t.Errorf("headers %v", header)
	}
	got, _ = f.found(otherKey, "match[]", all)
	f.same("of the other account", got, everythingOf(theirs))
	if list := f.list(acmeKey, "/v1/label/table/values"); !slices.Equal(list, []string{"table_0", "table_1", "table_2"}) {
		t.Errorf("tables %v", list)
	}
	if list := f.list(otherKey, "/v1/label/table/values"); !slices.Equal(list, []string{"secret", "table_0"}) {
		t.Errorf("the other's tables %v", list)
	}
	if list := f.list(acmeKey, "/v1/label/cluster/values", "match[]", `{table="table_2"}`); !slices.Equal(list, []string{"fleet-0"}) {
		t.Errorf("clusters with table_2: %v", list)
	}
	if list := f.list(acmeKey, "/v1/labels"); !slices.Equal(list, []string{"__name__", "cluster", "datacenter", "keyspace", "node", "rack", "request", "table"}) {
		t.Errorf("labels %v", list)
	}
	if list := f.list(acmeKey, "/v1/labels", "match[]", `{request="Read"}`); !slices.Equal(list, []string{"__name__", "cluster", "datacenter", "node", "rack", "request"}) {
		t.Errorf("labels of requests %v", list)
	}

	addTable(a, "brand_new")
	f.say("acme", monday+10*minute, a, b)
	f.refresh()
	got, _ = f.found(acmeKey, "match[]", `{table="brand_new"}`, "match[]", `{cluster="fleet-1",table=~"table_.",__name__!~".*latency.*"}`)
	want := everythingOf(a).where("brand_new")
	for text := range everythingOf(b).where(`table="table_`) {
		if !strings.Contains(text, "latency") {
			want[text] = true
		}
	}
	f.same("a new table or others", got, want)
	ofMonday := everythingOf(a, b)

	a.Entities[1] = a.Entities[1][1:] // table_0 is dropped
	f.say("acme", tuesday, a, b)
	f.refresh()
	got, _ = f.found(acmeKey, "match[]", all)
	f.same("without a time", got, everythingOf(a, b))
	got, _ = f.found(acmeKey, "match[]", all, "from", asTime(monday-minute), "to", asTime(monday+minute))
	f.same("of monday", got, ofMonday)
	got, _ = f.found(acmeKey, "match[]", `{table="table_0"}`, "from", asTime(tuesday-30*minute))
	f.same("of tuesday", got, everythingOf(b).where(`table="table_0"`))
	got, _ = f.found(acmeKey, "match[]", `{table="table_0"}`, "from", asTime(monday))
	f.same("of both days", got, ofMonday.where(`table="table_0"`))
	got, _ = f.found(acmeKey, "match[]", all, "from", asTime(monday-2*day), "to", asTime(monday-day))
	f.same("before there was anything", got, sets{})

	if err := f.node.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.now.Add(minute)
	if err := f.state.Load().Refresh(t.Context()); err == nil {
		t.Error("a refresh without Cassandra says nothing")
	}
	got, _ = f.found(acmeKey, "match[]", all)
	f.same("while Cassandra is away", got, everythingOf(a, b))
	if ready := f.ask("", "/-/ready", nil); ready.status != http.StatusServiceUnavailable || !strings.Contains(string(ready.body), `"series":"as of `) {
		t.Errorf("ready without Cassandra: %d %s", ready.status, ready.body)
	}
	if err := f.node.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := frametest.New("fleet-1", 4, 2) // a node joins
	addTable(b, "after_all")
	f.say("acme", tuesday+20*minute, a, b, c)
	for deadline := time.Now().Add(2 * time.Minute); f.state.Load().Refresh(t.Context()) != nil; { // not all connections are there yet
		if time.Now().After(deadline) {
			t.Fatal("it does not load: ", f.state.Load().State())
		}
	}
	if s := f.state.Load().State(); s != "ok" {
		t.Error("after all it says", s)
	}
	check := func(what string) {
		t.Helper()
		got, _ := f.found(acmeKey, "match[]", `{cluster="fleet-0"}`)
		f.same(what, got, everythingOf(a))
		got, _ = f.found(acmeKey, "match[]", `{cluster="fleet-1"}`)
		f.same(what, got, everythingOf(b, c))
		got, _ = f.found(otherKey, "match[]", all, "from", asTime(monday))
		f.same(what, got, everythingOf(theirs))
		got, _ = f.found(acmeKey, "match[]", `{table=~"table_0|brand_new|after_all"}`, "from", asTime(monday))
		f.same(what, got, ofMonday.and(everythingOf(a, b, c)).where("table_0").and(everythingOf(a).where("brand_new")).and(everythingOf(b).where("after_all")))
	}
	check("after Cassandra's restart")
	testSeriesWhileLoading(t, f, a, b, c, check)
	testSeriesRefusals(t, f)
	testSeriesDamaged(t, f, a)
	if r := f.ask(writeKey, "/v1/series", values([]string{"match[]", all})); r.status != http.StatusForbidden {
		t.Errorf("without the scope: %d", r.status)
	}
}

// testSeriesWhileLoading restarts the API: a node that cannot be read yet is missing in the answers, which say so; then all is as before.
func testSeriesWhileLoading(t *testing.T, f *seriesFixture, a, b, c *frametest.Node, check func(string)) {
	release := make(chan struct{})
	slow := f.source()
	of := slow.Of
	slow.Of = func(ctx context.Context, account string, node uuid.UUID, from int64) ([]window.DictionaryID, error) {
		if node == a.ID {
			<-release
		}
		return of(ctx, account, node, from)
	}
	loader := f.restart(slow)
	done := make(chan error, 1)
	go func() { done <- loader.Refresh(t.Context()) }()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		r := f.ask(acmeKey, "/v1/series", values([]string{"match[]", `{cluster=~"fleet-.",table="table_1"}`}))
		if r.status == http.StatusOK && strings.Count(string(r.body), "__name__") == 8 { // b's and c's, four metrics each
			if r.header.Get(api.PartialHeader) != "1" || strings.Contains(string(r.body), a.ID.String()) {
				t.Errorf("while loading: %v %s", r.header, r.body)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is not loaded: %d %s", r.status, r.body)
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); loader.State() != "loading, 1 nodes are missing"; { // the other account is loaded beside it
		if time.Now().After(deadline) {
			t.Fatal("while loading it says ", loader.State())
		}
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	check("after a restart of the API")
}

func testSeriesRefusals(t *testing.T, f *seriesFixture) {
	const match = "match[]=%7Bnode%3D~%22.%2B%22%7D"
	for _, c := range []struct{ path, reason, field string }{
		{"/v1/series", "no_match", "match[]"},
		{"/v1/series?" + match, "too_many_series", "match[]"},
		{"/v1/series?match[]=%7B", "bad_matcher", "match[]"},
		{"/v1/labels?match[]=rate(x%5B1m%5D)", "bad_matcher", "match[]"},
		{"/v1/series?" + strings.Repeat("match[]=x&", 33), "too_many_metrics", "match[]"},
		{"/v1/series?match=x", "unknown_parameter", "match"},
		{"/v1/series?" + match + "&limit=0", "bad_limit", "limit"},
		{"/v1/series?" + match + "&limit=49", "bad_limit", "limit"},
		{"/v1/labels?limit=many", "bad_limit", "limit"},
		{"/v1/series?" + match + "&from=yesterday", "bad_time", "from"},
		{"/v1/series?" + match + "&from=2&to=1", "bad_time", "from"},
		{"/v1/series?" + match + "&period=400d", "range_too_wide", "period"},
		{"/v1/label/a-b/values", "bad_label", "name"},
	} {
		r := f.ask(acmeKey, c.path, nil)
		var e struct {
			Error struct{ Reason, Field, Message string }
		}
		if err := json.Unmarshal(r.body, &e); err != nil || r.status != http.StatusBadRequest || e.Error.Reason != c.reason || e.Error.Field != c.field || e.Error.Message == "" {
			t.Errorf("%s: %d %s, want %s %s", c.path, r.status, r.body, c.reason, c.field)
		}
	}
	got, header := f.found(acmeKey, "match[]", `{node=~".+"}`, "limit", "7")
	if total, _ := strconv.Atoi(header.Get(api.TotalHeader)); len(got) != 7 || total <= 48 {
		t.Errorf("%d series, %v", len(got), header)
	}
	if list := f.list(acmeKey, "/v1/label/table/values", "limit", "2"); len(list) != 2 {
		t.Error(list)
	}
	if list := f.list(acmeKey, "/v1/label/nosuch/values"); list == nil || len(list) != 0 {
		t.Error(list)
	}
}

// testSeriesDamaged damages a dictionary in Cassandra: what it says is missing after a restart of the API, and answers say that something is.
func testSeriesDamaged(t *testing.T, f *seriesFixture, a *frametest.Node) {
	host, port, err := net.SplitHostPort(f.node.Addr())
	if err != nil {
		t.Fatal(err)
	}
	cluster := gocql.NewCluster(host)
	cluster.Port, _ = strconv.Atoi(port)
	cluster.Keyspace, cluster.Timeout = f.config.Keyspace, time.Minute
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	type row struct {
		day  int64
		hash []byte
	}
	var rows []row
	iter := session.Query("SELECT day, hash FROM series WHERE account = ? AND node = ? AND entity_type = 'client_request' ALLOW FILTERING", f.account("acme"), gocql.UUID(a.ID)).IterContext(t.Context())
	for r := (row{}); iter.Scan(&r.day, &r.hash); r = (row{}) {
		rows = append(rows, r)
	}
	if err := iter.Close(); err != nil || len(rows) != 2 {
		t.Fatalf("%d rows on two days: %v", len(rows), err)
	}
	for _, r := range rows {
		err := session.Query("UPDATE series SET blob = 0xff WHERE account = ? AND node = ? AND day = ? AND entity_type = 'client_request' AND hash = ?",
			f.account("acme"), gocql.UUID(a.ID), r.day, r.hash).ExecContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	f.restart(f.source())
	f.refresh()
	got, header := f.found(acmeKey, "match[]", `{cluster="fleet-0"}`)
	want := everythingOf(a)
	maps.DeleteFunc(want, func(text string, _ bool) bool { return strings.Contains(text, "request=") })
	f.same("with a damaged dictionary", got, want)
	if header.Get(api.PartialHeader) != "1" {
		t.Errorf("it does not say that something is missing: %v", header)
	}
	if s := fmt.Sprint(f.index.Load().Stats().Missing); s != "1" {
		t.Error("missing:", s)
	}
}

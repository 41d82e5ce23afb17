package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/loki"
	"github.com/ringwatch/ringwatch/api/promapi"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// present is an index that can be exchanged, as by a restart of the API.
type present struct{ atomic.Pointer[index.Index] }

func (p *present) Select(account string, q index.Query) (*index.Selection, error) {
	return p.Load().Select(account, q)
}

// seriesFixture is an API whose index is loaded from a real Cassandra, to which frames come as
// from the stream.
type seriesFixture struct {
	*fixture
	node   *engines.Cassandra
	config store.Config
	db     *store.Store
	writer *store.Writer
	offset int64
	index  present
	state  atomic.Pointer[index.Loader]
}

func newSeriesFixture(t *testing.T, change ...func(*api.Config)) *seriesFixture {
	f := &seriesFixture{fixture: &fixture{T: t, metrics: prometheus.NewRegistry()},
		node: engines.MustCassandra(t)}
	f.added = f.prometheus
	f.config = store.DefaultConfig()
	f.config.Hosts, f.config.Now, f.config.Log = []string{f.node.Addr()}, f.clock,
		slog.New(slog.DiscardHandler)
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
	sources.Rollups = func(ctx context.Context, account string, node uuid.UUID, level rollup.Level,
		from, to int64, facets []blobs.Facet, matchers ...*labels.Matcher) ([]rollup.Series,
		[]string, error) {
		list, report, err := realStore{f.db}.reader(ctx, account).ReadRollup(ctx, account, node,
			level, from, to, facets, matchers...)
		return list, report.Missing(), err
	}
	f.start(inMemory, sources, api.Deps{
		StoreReady: func(context.Context) error { return f.db.Ready(t.Context()) },
		Report:     emptyReport,
		Events:     realStore{f.db}.Events,
		Lookup:     lookupTables(f.account("acme")), Series: &f.index, SeriesState: func() string {
			return f.state.Load().State()
		},
	}, change...)
	return f
}

// prometheus returns the endpoints of packages promapi, loki and rules.
func (f *seriesFixture) prometheus(r *read.Reader) []listener.Route {
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
	board, err := rules.NewStatus(rules.DefaultConfig(), rules.Deps{
		Applied: func() map[string]map[string][]byte { return applied },
	})
	if err != nil {
		f.Fatal(err)
	}
	keep := func(context.Context, string, string, []byte) error { return nil }
	nodes := func(ctx context.Context, who account.Principal) ([]window.Node, error) {
		return r.Nodes(ctx, who, 0)
	}
	return slices.Concat(promapi.New(promapi.Deps{
		Engine: e, Reader: r, MaxRequestBytes: 1 << 20, Clock: f.clock,
	}).Routes(), loki.New(loki.Deps{
		Events: realStore{f.db}.Events, Nodes: nodes, Selectors: selectors, Clock: f.clock,
	}).Routes(), board.Routes(keep))
}

func (f *seriesFixture) source() index.Source {
	reader := f.db.Reader(store.Dashboard("acme"), memory.Unbounded())
	return index.Source{
		Nodes: func(ctx context.Context, account string) ([]uuid.UUID, error) {
			nodes, err := reader.Nodes(ctx, account)
			var ids []uuid.UUID
			for _, n := range nodes {
				ids = append(ids, n.ID)
			}
			return ids, err
		},
		Dictionaries: reader.DictionariesOf, Written: reader.DictionariesWritten,
		WrittenFor: store.WrittenFor, Read: reader.ReadDictionaries,
	}
}

// restart gives the API an empty index and returns what fills it.
func (f *seriesFixture) restart(s index.Source) *index.Loader {
	f.Helper()
	c := index.DefaultConfig()
	c.Keep, c.Clock, c.Log = f.config.RawTTL, f.clock, f.config.Log
	c.Accounts = func() []string { return []string{f.account("acme"), f.account("other")} }
	idx := index.New(c.MaxBytes)
	loader, err := index.NewLoader(c, s, idx, prometheus.NewRegistry())
	if err != nil {
		f.Fatal(err)
	}
	f.index.Store(idx)
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
		if err := f.writer.Handle(f.Context(),
			[]stream.Record{{Account: f.account(account), Offset: f.offset,
				Value: n.Frame(at)}}); err != nil {
			f.Fatal(err)
		}
	}
	f.now.Store(frame.WindowOf(at) + frame.WindowMillis + 30_000)
	if err := f.writer.CloseDue(f.Context(), f.clock()); err != nil {
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
					set := map[string]string{labels.MetricName: m.Name, "cluster": n.Cluster,
						"datacenter": n.Identity.Datacenter, "rack": n.Identity.Rack,
						"node": n.ID.String()}
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

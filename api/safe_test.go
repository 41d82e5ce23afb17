package api_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/stream"
)

// said is what a node says of one entity.
type said struct {
	template frame.Template
	labels   []string
	cells    []frametest.Cell
}

// whatMatters are the templates of what the shipped conditions need, and the values of a node that
// is well.
var whatMatters = []said{
	{frame.Template{Type: "node", Metrics: []frame.Metric{
		{Name: "cassandra_node_operation_mode_info", Kind: frame.String},
		{Name: "cassandra_node_schema_version_info", Kind: frame.String},
		{Name: "cassandra_node_version_info", Kind: frame.String},
		{Name: "cassandra_node_native_transport_running", Kind: frame.Gauge},
		{Name: "cassandra_node_gossip_running", Kind: frame.Gauge},
		{Name: "cassandra_node_peers_up", Kind: frame.Gauge},
		{Name: "cassandra_node_streams", Kind: frame.Gauge},
		{Name: "cassandra_compaction_pending_tasks", Kind: frame.Gauge},
		{Name: "cassandra_storage_hints_total", Kind: frame.Counter},
	}}, nil, []frametest.Cell{{Text: "NORMAL"}, {Text: "s1"}, {Text: "5.0.6"}, {Int: 1}, {Int: 1},
		{Int: 2}, {}, {Int: 3}, {}}},
	{frame.Template{Type: "pool", Labels: []string{"pool"}, Metrics: []frame.Metric{
		{Name: "cassandra_thread_pool_active_tasks", Kind: frame.Gauge},
		{Name: "cassandra_thread_pool_pending_tasks", Kind: frame.Gauge},
	}}, []string{"ReadStage"}, []frametest.Cell{{Int: 1}, {Int: 1}}},
	{frame.Template{Type: "request", Labels: []string{"request"}, Metrics: []frame.Metric{
		{Name: "cassandra_client_request_timeouts_total", Kind: frame.Counter},
		{Name: "cassandra_client_request_failures_total", Kind: frame.Counter},
		{Name: "cassandra_client_request_unavailables_total", Kind: frame.Counter},
		{Name: "cassandra_client_request_latency_seconds", Kind: frame.Histogram,
			Unit: "seconds", Exponent: -6, HasSum: true},
	}}, []string{"Read"}, []frametest.Cell{{}, {}, {}, {Counts: make([]int64, 91)}}},
	{frame.Template{Type: "hints_peer", Labels: []string{"peer"}, Metrics: []frame.Metric{
		{Name: "cassandra_hints_peer_created_total", Kind: frame.Counter},
		{Name: "cassandra_hints_peer_delay_seconds", Kind: frame.Histogram, Unit: "seconds",
			Exponent: -6},
	}}, []string{"10.0.0.1"}, []frametest.Cell{{}, {Counts: make([]int64, 91)}}},
	{frame.Template{Type: "peer", Labels: []string{"peer"}, Metrics: []frame.Metric{
		{Name: "cassandra_peer_up", Kind: frame.Gauge},
	}}, []string{"10.0.0.2"}, []frametest.Cell{{Int: 1}}},
	{frame.Template{Type: "replication", Labels: []string{"keyspace", "strategy"},
		Metrics: []frame.Metric{{Name: "cassandra_keyspace_replicas", Kind: frame.Gauge}}},
		[]string{"shop", "NetworkTopologyStrategy"}, []frametest.Cell{{Int: 3}}},
	{frame.Template{Type: "filesystem", Labels: []string{"mount"}, Metrics: []frame.Metric{
		{Name: "os_filesystem_available_bytes", Kind: frame.Gauge},
		{Name: "os_filesystem_size_bytes", Kind: frame.Gauge},
	}}, []string{"/"}, []frametest.Cell{{Int: 60}, {Int: 100}}},
}

// newSafeFixture is an API with three nodes that are well and say what matters, and more.
func newSafeFixture(t *testing.T, left *roster.Roster, more ...said) *fixture {
	f := &fixture{T: t, store: &apitest.Store{}, metrics: prometheus.NewRegistry()}
	f.now.Store(time.Now().UnixMilli())
	f.added = func(r *read.Reader) []listener.Route {
		selectors, err := selector.New(selector.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		c := query.DefaultConfig()
		c.Clock = f.clock
		if f.engine, err = query.NewEngine(c, r, nil, selectors, nil,
			slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.engine.Close() })
		return nil
	}
	sources := f.store.Sources()
	sources.Roster = left
	f.start(inMemory, sources, api.Deps{StoreReady: f.store.Ready})
	for n := range 3 {
		node := frametest.New("fleet", uint64(n+1), 0)
		node.Templates, node.Entities = nil, nil
		for _, of := range slices.Concat(whatMatters, more) {
			cells := slices.Clone(of.cells)
			for i := range cells {
				cells[i].Counts = slices.Clone(cells[i].Counts)
			}
			node.Templates = append(node.Templates, of.template)
			node.Entities = append(node.Entities,
				[]frametest.Entity{{Labels: of.labels, Cells: cells}})
		}
		f.nodes = append(f.nodes, node)
	}
	f.live(40)
	return f
}

// live lets so many intervals pass in which all nodes speak but some.
func (f *fixture) live(intervals int, but ...*frametest.Node) {
	f.Helper()
	for range intervals {
		at := f.now.Add(5000)
		for _, n := range f.nodes {
			if slices.Contains(but, n) {
				continue
			}
			n.Entities[2][0].Cells[3].Counts[40] += 10 // requests
			n.Entities[2][0].Cells[3].Sum += 10_000
			b := n.Frame(at)
			f.store.Put(f.account("acme"), b)
			if err := f.writer.Handle(f.Context(),
				[]stream.Record{{Account: f.account("acme"), Value: b}}); err != nil {
				f.Fatal(err)
			}
		}
	}
}

// TestSafe asks by the API over frames: yes, no with reasons, what is refused, and what another
// account sees.
func TestSafe(t *testing.T) {
	var left roster.Roster
	f := newSafeFixture(t, &left)
	const path = "/v1/clusters/fleet/safe"
	ask := func(query string) (a safe.Answer) {
		t.Helper()
		of, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		f.get(path, of, &a)
		return a
	}
	broken := func(a safe.Answer) string {
		var list []string
		for _, r := range a.Reasons {
			name := r.Condition
			if !r.Known {
				name += "?"
			}
			list = append(list, name)
		}
		return strings.Join(slices.Compact(list), " ")
	}
	id := f.nodes[1].ID.String()
	for _, query := range []string{"for=restart", "for=restart&node=" + id,
		"for=upgrade&node=10.0.0.2", "for=repair&node=" + id[:8]} {
		if a := ask(query); !a.Safe || a.Cluster != "fleet" || len(a.NotChecked) == 0 ||
			strings.Contains(query, "node") && (a.Node != id || a.NodeName == "") {
			t.Errorf("%s: %+v", query, a)
		}
	}
	if a := ask("for=decommission&node=" + id); broken(a) != "enough" {
		t.Errorf("%+v", a.Reasons)
	}
	if a := ask("for=node-replace&node=" + id); broken(a) != "replaced" {
		t.Errorf("%+v", a.Reasons)
	}

	// Of three copies one may be away, of two none.
	if a := ask("for=restart"); len(a.Nodes) != 3 || !a.Nodes[0].Safe {
		t.Errorf("%+v", a.Nodes)
	}
	for _, n := range f.nodes {
		n.Entities[5][0].Cells[0].Int = 2
	}
	f.live(1)
	if a := ask("for=restart"); broken(a) != "quorum" || len(a.Nodes) != 3 || a.Nodes[0].Safe ||
		!strings.Contains(a.Reasons[0].Text, "shop") {
		t.Errorf("%+v", a)
	}
	for _, n := range f.nodes {
		n.Entities[5][0].Cells[0].Int = 3
	}
	f.live(1)

	// Since a step only what was said after it counts.
	since := strconv.FormatFloat(float64(f.now.Load()+1)/1000, 'f', 3, 64)
	f.now.Add(1000)
	if a := ask("for=restart&since=" + since); broken(a) != "fresh?" || len(a.Reasons) != 3 {
		t.Errorf("%+v", a.Reasons)
	}
	f.live(1)
	if a := ask("for=restart&since=" + since); !a.Safe {
		t.Errorf("%+v", a.Reasons)
	}

	// Node 1 was away: node 3 has hints for it, and delivers them.
	hints := f.nodes[2].Entities[3][0].Cells
	hints[0].Int = 7
	f.live(1)
	if a := ask("for=restart&node=" + id); broken(a) != "hints" ||
		!strings.Contains(a.Reasons[0].Text, "has hints for 10.0.0.1") ||
		a.Reasons[0].Node != f.nodes[2].ID.String() {
		t.Errorf("%+v", a.Reasons)
	}
	hints[1].Counts[3] = 7
	f.live(30)
	if a := ask("for=restart&node=" + id); !a.Safe {
		t.Errorf("%+v", a.Reasons)
	}

	// Silence of one node is a no for others, and none for itself. Gossip names one that has left
	// for days.
	for _, n := range f.nodes {
		n.Entities[4][0].Cells[0].Int = 0
		n.Entities[5][0].Cells[0].Int = 0 // copies are elsewhere
	}
	f.live(30, f.nodes[1])
	if a := ask("for=restart&node=" + id); !a.Safe {
		t.Errorf("%+v", a.Reasons)
	}
	if a := ask("for=node-replace&node=" + id); !a.Safe {
		t.Errorf("%+v", a.Reasons)
	}
	if a := ask("for=restart&node=" + f.nodes[0].ID.String()); broken(a) != "fresh? up peers" {
		t.Errorf("%+v", a.Reasons)
	}
	left.Take(roster.Record{Account: f.account("acme"), Cluster: "fleet", Node: f.nodes[1].ID,
		Stamp: 1, Address: "10.0.0.2", End: &roster.End{Why: roster.Forgotten, At: f.now.Load()}})
	if a := ask("for=restart&node=" + f.nodes[0].ID.String()); !a.Safe {
		t.Errorf("%+v", a.Reasons)
	}
	if r := f.ask(acmeKey, path, url.Values{"for": {"restart"}, "node": {id}}); r.status !=
		http.StatusNotFound {
		t.Errorf("a node that left: %d %s", r.status, r.body)
	}
	f.live(1, f.nodes[1])

	// What a node does not say cannot be known.
	f.nodes[0].Entities[0][0].Cells[6].Absent = true
	f.live(1, f.nodes[1])
	if a := ask("for=restart"); broken(a) != "streaming?" ||
		!strings.Contains(a.Reasons[0].Text, "nothing says cassandra_node_streams") {
		t.Errorf("%+v", a.Reasons)
	}

	ahead := strconv.FormatInt(f.now.Load()+60_000, 10)
	for query, want := range map[string]string{
		"":                              "400 bad_for for",
		"for=reboot":                    "400 bad_for for",
		"for=decommission":              "400 no_node node",
		"for=node-replace&node=":        "404 unknown_node node",
		"for=restart&node=10.0.0.9":     "404 unknown_node node",
		"for=restart&since=soon":        "400 bad_time since",
		"for=restart&since=" + ahead:    "400 bad_since since",
		"for=restart&wait=1m":           "400 unknown_parameter wait",
		"for=restart&for=repair":        "400 repeated_parameter for",
		"for=restart&node=" + otherNode: "404 unknown_node node",
	} {
		of, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		r := f.ask(acmeKey, path, of)
		for _, part := range strings.Fields(want) {
			if !strings.Contains(strconv.Itoa(r.status)+string(r.body), part) {
				t.Errorf("%s: %d %s, want %s", query, r.status, r.body, want)
			}
		}
	}
	of := url.Values{"for": {"restart"}}
	for key, want := range map[string]int{otherKey: http.StatusNotFound, "": 401, writeKey: 403} {
		if r := f.ask(key, path, of); r.status != want || strings.Contains(string(r.body), id) {
			t.Errorf("%q: %d %s", key, r.status, r.body)
		}
	}
}

const otherNode = "6a1b7c1e-0000-4000-8000-000000000000"

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
	"github.com/ringwatch/ringwatch/api/activity"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/stream"
)

// doing are the templates of what nodes are doing, by their numbers.
const (
	taskType = iota
	streamType
	taskKindType
	driverType
	repairType
	sessionType
	tableType
	repairNodeType
)

func doing() []frame.Template {
	gauges := func(names ...string) (list []frame.Metric) {
		for _, name := range names {
			kind := frame.Gauge
			switch {
			case strings.HasSuffix(name, "_info"):
				kind = frame.String
			case strings.HasSuffix(name, "_timestamp_seconds"):
			case strings.HasSuffix(name, "_ratio"), strings.HasSuffix(name, "_seconds"):
				kind = frame.GaugeDouble
			case strings.HasSuffix(name, "_total"):
				kind = frame.Counter
			}
			list = append(list, frame.Metric{Name: "cassandra_" + name, Kind: kind})
		}
		return list
	}
	return []frame.Template{
		{Type: "task", Labels: []string{"task", "keyspace", "table", "slot"},
			Metrics: gauges("task_done_bytes", "task_size_bytes", "task_done_ratio",
				"task_started_timestamp_seconds", "task_remaining_seconds", "task_id_info")},
		{Type: "stream", Labels: []string{"operation", "peer", "direction", "slot"},
			Metrics: gauges("stream_done_bytes", "stream_size_bytes", "stream_done_ratio",
				"stream_started_timestamp_seconds", "stream_remaining_seconds", "stream_id_info")},
		{Type: "task_kind", Labels: []string{"task"}, Metrics: gauges("tasks_running",
			"tasks_left_out")},
		{Type: "driver", Labels: []string{"driver_name", "driver_version", "protocol_version",
			"username", "tls"}, Metrics: gauges("driver_connections", "driver_requests_total",
			"driver_addresses_info")},
		{Type: "repair_table", Labels: []string{"keyspace", "table"}, Metrics: gauges(
			"repair_gc_grace_seconds", "repair_last_full_success_timestamp_seconds",
			"repair_last_incremental_success_timestamp_seconds", "repair_due_timestamp_seconds")},
		{Type: "repair_session", Labels: []string{"keyspace", "table", "slot"}, Metrics: gauges(
			"repair_session_done_ratio", "repair_session_started_timestamp_seconds",
			"repair_session_id_info")},
		{Type: "table", Labels: []string{"keyspace", "table"}, Metrics: gauges(
			"table_repaired_bytes", "table_unrepaired_bytes")},
		{Type: "node", Metrics: gauges("repair_sessions_running", "repair_failures_total")},
	}
}

// newActivityFixture is an API with two nodes of a cluster that are doing nothing yet.
func newActivityFixture(t *testing.T) *fixture {
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
	f.start(inMemory, f.store.Sources(), api.Deps{StoreReady: f.store.Ready})
	for n := range 2 {
		node := frametest.New("fleet", uint64(n+1), 0)
		node.Templates = doing()
		node.Entities = make([][]frametest.Entity, len(node.Templates))
		node.Entities[repairNodeType] = []frametest.Entity{{Cells: []frametest.Cell{{}, {}}}}
		f.nodes = append(f.nodes, node)
	}
	return f
}

// pass lets so many intervals pass, before each of which change changes what nodes say.
func (f *fixture) pass(intervals int, change func()) {
	f.Helper()
	for range intervals {
		at := f.now.Add(5000)
		change()
		for _, n := range f.nodes {
			b := n.Frame(at)
			f.store.Put(f.account("acme"), b)
			if err := f.writer.Handle(f.Context(),
				[]stream.Record{{Account: f.account("acme"), Value: b}}); err != nil {
				f.Fatal(err)
			}
		}
	}
}

func whole(v int64) frametest.Cell       { return frametest.Cell{Int: v} }
func real(v float64) frametest.Cell      { return frametest.Cell{Double: v} }
func texts(v string) frametest.Cell      { return frametest.Cell{Text: v} }
func near(v *float64, want float64) bool { return v != nil && *v > want*0.99 && *v < want*1.01 }

var absent = frametest.Cell{Absent: true}

// hostileText is what a name must not be, in a label.
const hostileText = "a\"}) or vector(1) #\x1b[2J<script>\u202e"

// TestTasks: compactions and streams, one of which began in a slot that another one had.
func TestTasks(t *testing.T) {
	f := newActivityFixture(t)
	nothing := func() []frametest.Cell { return slices.Repeat([]frametest.Cell{absent}, 6) }
	old := frametest.Entity{Labels: []string{"compaction", "shop", "orders", "0"}, Cells: nothing()}
	young := frametest.Entity{Labels: []string{"cleanup", hostileText, hostileText, "1"},
		Cells: nothing()}
	stream := frametest.Entity{Labels: []string{"repair", "10.0.0.9", "in", "0"}, Cells: nothing()}
	n := f.nodes[1]
	n.Entities[taskType] = []frametest.Entity{old, young}
	n.Entities[streamType] = []frametest.Entity{stream}
	n.Entities[taskKindType] = []frametest.Entity{{Labels: []string{"compaction"},
		Cells: []frametest.Cell{whole(0), whole(0)}}}
	var list activity.TaskList
	f.pass(1, func() {})
	f.get("/v1/tasks", nil, &list)
	if list.Tasks == nil || len(list.Tasks) != 0 || list.LeftOut != 0 {
		t.Errorf("%+v", list)
	}

	began := f.now.Load() / 1000
	copy(old.Cells, []frametest.Cell{whole(0), whole(1 << 40), real(0.25), whole(began), real(720),
		texts("c-1")})
	copy(stream.Cells, []frametest.Cell{whole(0), whole(5000), real(7), whole(began), absent,
		texts("s-1")})
	n.Entities[taskKindType][0].Cells[1] = whole(3)
	goOn := func() {
		old.Cells[0].Int += 50_000
		stream.Cells[0].Int += 10
	}
	f.pass(40, goOn)
	copy(young.Cells, []frametest.Cell{whole(0), absent, real(0), whole(f.now.Load() / 1000),
		real(-1), absent})
	f.pass(4, func() {
		goOn()
		young.Cells[0].Int += 500
	})
	f.get("/v1/tasks", nil, &list)
	if len(list.Tasks) != 3 || list.LeftOut != 3 || list.Partial.Partial != nil {
		t.Fatalf("%+v", list)
	}
	clean, compaction, repair := list.Tasks[0], list.Tasks[1], list.Tasks[2]
	at := time.UnixMilli(f.now.Load())
	if c := compaction; c.Cluster != "fleet" || c.Node != n.ID.String() ||
		c.Name != n.Identity.Name() || c.Task != "compaction" || c.Keyspace != "shop" ||
		c.Table != "orders" || c.Slot != "0" || c.ID != "c-1" || *c.SizeBytes != 1<<40 ||
		*c.DoneBytes != 2_200_000 || *c.Ratio != 0.25 || c.Started.Unix() != began ||
		c.Ends.Sub(at) != 720*time.Second || c.Peer != "" {
		t.Errorf("%+v", c)
	}
	if s := repair; s.Task != "stream_repair" || s.Peer != "10.0.0.9" || s.Direction != "in" ||
		*s.Ratio != 1 || s.Ends != nil || s.ID != "s-1" || !near(s.BytesPerSecond, 2) {
		t.Errorf("%+v %v", s, s.BytesPerSecond)
	}
	if c := clean; c.Keyspace != strings.ToValidUTF8(hostileText, "") || c.ID != "" ||
		c.SizeBytes != nil || c.Ends != nil || c.BytesPerSecond == nil ||
		*c.BytesPerSecond < 90 || *c.BytesPerSecond > 110 {
		t.Errorf("%+v %v", c, c.BytesPerSecond)
	}

	for of, want := range map[string]int{"node=" + n.ID.String(): 3, "node=10.0.0.2": 3,
		"node=10.0.0.1": 0, "cluster=fleet": 3, "cluster=fleet&node=10.0.0.2": 3} {
		q, err := url.ParseQuery(of)
		if err != nil {
			t.Fatal(err)
		}
		list = activity.TaskList{}
		if f.get("/v1/tasks", q, &list); len(list.Tasks) != want {
			t.Errorf("%s: %+v", of, list)
		}
	}

	// A task that has ended is gone.
	copy(old.Cells, nothing())
	copy(young.Cells, nothing())
	copy(stream.Cells, nothing())
	f.pass(1, func() {})
	list = activity.TaskList{}
	if f.get("/v1/tasks", nil, &list); len(list.Tasks) != 0 || list.LeftOut != 3 {
		t.Errorf("%+v", list)
	}
}

// TestClients: who is connected, by driver, with the addresses, and who has gone.
func TestClients(t *testing.T) {
	f := newActivityFixture(t)
	driver := func(version, user, tls string, connections int64,
		addresses string) frametest.Entity {
		return frametest.Entity{Labels: []string{"DataStax Java", version, "v5", user, tls},
			Cells: []frametest.Cell{whole(connections), whole(0), texts(addresses)}}
	}
	lists := [][]frametest.Entity{
		{driver("4.17.0", "shop", "true", 3, "10.1.0.7:51000,10.1.0.7:51001,10.1.0.8:4"),
			driver("3.11.0", "old", "false", 1, "10.1.0.9:1")},
		{driver("4.17.0", "shop", "true", 2, "10.1.0.7:51002,10.1.0.8:5"),
			driver("9", "gone", "false", 0, ""), driver(hostileText, hostileText, hostileText, 1,
				hostileText)},
	}
	for i, list := range lists {
		f.nodes[i].Entities[driverType] = list
	}
	ask := func() {
		for _, list := range lists {
			list[0].Cells[1].Int += 100
		}
	}
	f.pass(8, ask)
	var list activity.ClientList
	f.get("/v1/clients", nil, &list)
	if v := list.Clients[0].RequestsPerSecond; v == nil || *v < 36 || *v > 44 {
		t.Errorf("%+v of who came lately", list.Clients[0])
	}
	f.pass(32, ask)
	list = activity.ClientList{}
	f.get("/v1/clients", nil, &list)
	if len(list.Clients) != 3 || list.LeftOut != 0 || list.AddressesLeftOut ||
		list.Partial.Partial != nil {
		t.Fatalf("%+v", list)
	}
	if c := list.Clients[0]; c.Cluster != "fleet" || c.Driver != "DataStax Java" ||
		c.DriverVersion != "4.17.0" || c.Protocol != "v5" || c.Username != "shop" || !c.TLS ||
		*c.Connections != 5 || !near(c.RequestsPerSecond, 40) || c.Nodes != 2 ||
		len(c.Addresses) != 5 || c.Addresses[0] != (activity.Address{
		Node: f.nodes[0].ID.String(), Name: f.nodes[0].Identity.Name(),
		Address: "10.1.0.7:51000"}) {
		t.Errorf("%+v", c)
	}
	if c := list.Clients[1]; c.DriverVersion != "3.11.0" || c.TLS || *c.RequestsPerSecond != 0 {
		t.Errorf("%+v", c)
	}
	if c := list.Clients[2]; c.Username != hostileText || c.TLS {
		t.Errorf("%+v", c)
	}
	list = activity.ClientList{}
	f.get("/v1/clients", url.Values{"node": {"10.0.0.1"}}, &list)
	if len(list.Clients) != 2 || *list.Clients[0].Connections != 3 || list.Clients[0].Nodes != 1 {
		t.Errorf("%+v", list)
	}
}

// TestRepairs: worst first, what runs, and what failed; the node that tells of tables changes.
func TestRepairs(t *testing.T) {
	f := newActivityFixture(t)
	now := f.now.Load() / 1000
	table := func(name string, cells ...frametest.Cell) frametest.Entity {
		return frametest.Entity{Labels: []string{"shop", name}, Cells: cells}
	}
	tables := []frametest.Entity{
		table("fine", real(864000), whole(now-100), absent, whole(now+800_000)),
		table("late", real(864000), whole(now-900_000), whole(now-50), whole(now-36_000)),
		table("never", real(864000), absent, absent, absent),
		table("partly", real(864000), whole(now-100), absent, absent),
		table(hostileText, real(60), whole(now-100), absent, whole(1<<60)),
	}
	f.nodes[1].Entities[sessionType] = []frametest.Entity{{Labels: []string{"shop", "fine,late",
		"0"}, Cells: []frametest.Cell{real(0.5), whole(now - 60), texts("r-1")}}}
	for i, n := range f.nodes {
		n.Entities[tableType] = []frametest.Entity{
			table("late", whole(int64(100*i)), whole(300)), table("fine", whole(0), whole(0))}
	}
	before := []frametest.Entity{table("fine", real(864000), whole(now-107), absent,
		whole(now+799_993)), table("dropped", real(1), absent, absent, absent)}
	f.nodes[0].Entities[repairType] = before
	f.nodes[1].Entities[repairType] = tables
	f.pass(2, func() {})
	for _, e := range before {
		copy(e.Cells, slices.Repeat([]frametest.Cell{absent}, 4))
	}
	f.pass(70, func() {}) // a period of rollups and more
	copy(f.nodes[1].Entities[repairNodeType][0].Cells, []frametest.Cell{whole(1), whole(2)})
	f.pass(70, func() {})
	var list activity.RepairList
	f.get("/v1/repairs", nil, &list)
	var names []string
	for _, t := range list.Tables {
		names = append(names, t.Table)
	}
	if got := strings.Join(names, " "); got != "never "+hostileText+" partly late fine" {
		t.Fatalf("%q", got)
	}
	if never := list.Tables[0]; never.LastFull != nil || never.Due != nil ||
		*never.GCGraceSeconds != 864000 || never.UnrepairedBytes != nil {
		t.Errorf("%+v", never)
	}
	if late := list.Tables[3]; late.Cluster != "fleet" || late.Keyspace != "shop" ||
		late.LastFull.Unix() != now-900_000 || late.LastIncremental.Unix() != now-50 ||
		late.Due.Unix() != now-36_000 || *late.UnrepairedBytes != 600 ||
		!near(late.RepairedRatio, 100/700.) {
		t.Errorf("%+v", late)
	}
	if fine := list.Tables[4]; fine.RepairedRatio != nil || // it has no data
		fine.LastFull.Unix() != now-100 {
		t.Errorf("%+v", fine)
	}
	if s := list.Sessions; len(s) != 1 || s[0].ID != "r-1" || *s[0].Ratio != 0.5 ||
		s[0].Name != f.nodes[1].Identity.Name() || s[0].Table != "fine,late" ||
		s[0].Started.Unix() != now-60 || list.Running != 1 || list.Failures <= 0 ||
		list.Partial.Partial != nil {
		t.Errorf("%+v", list)
	}
	if r := f.ask(acmeKey, "/v1/repairs", url.Values{"cluster": {"other"}}); r.status != 404 ||
		!strings.Contains(string(r.body), "unknown_cluster") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestActivityIsOnesOwn: other accounts see nothing, and wrong questions are refused.
func TestActivityIsOnesOwn(t *testing.T) {
	f := newActivityFixture(t)
	f.nodes[0].Entities[taskType] = []frametest.Entity{{Labels: []string{"compaction", "shop",
		"orders", "0"}, Cells: []frametest.Cell{whole(1), whole(2), real(0.5), whole(1), real(1),
		texts("mine")}}}
	f.nodes[0].Entities[driverType] = []frametest.Entity{{Labels: []string{"mine", "1", "v5",
		"mine", "true"}, Cells: []frametest.Cell{whole(1), whole(2), texts("mine")}}}
	f.nodes[0].Entities[repairType] = []frametest.Entity{{Labels: []string{"shop", "mine"},
		Cells: []frametest.Cell{real(1), whole(1), whole(1), whole(1)}}}
	f.pass(2, func() {})
	paths := []string{"/v1/tasks", "/v1/clients", "/v1/repairs"}
	for _, path := range paths {
		if r := f.ask(acmeKey, path, nil); r.status != 200 ||
			!strings.Contains(string(r.body), "mine") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
		for key, want := range map[string]int{otherKey: 200, "": 401, writeKey: 403} {
			for _, of := range []url.Values{nil, {"cluster": {"fleet"}}} {
				want := want
				if want == 200 && of != nil {
					want = 404 // it sees no such cluster
				}
				if r := f.ask(key, path, of); r.status != want ||
					strings.Contains(string(r.body), "mine") {
					t.Errorf("%s %q: %d %s", path, key, r.status, r.body)
				}
			}
		}
		f.store.SetDown(true)
		f.now.Add(60_000) // the list of nodes is read again
		if r := f.ask(acmeKey, path, nil); r.status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
		f.store.SetDown(false)
		f.pass(1, func() {})
	}
	for query, want := range map[string]string{"node=": "404 unknown_node node",
		"node=" + otherNode: "404 unknown_node", "node=10.0.0.": "404 unknown_node",
		"cluster=":                    "404 unknown_cluster cluster",
		"cluster=other&node=10.0.0.1": "404 unknown_cluster cluster",
		"nodes=1":                     "400 unknown_parameter nodes",
		"cluster=a&cluster=b":         "400 repeated_parameter cluster"} {
		of, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		r := f.ask(acmeKey, "/v1/tasks", of)
		for _, part := range strings.Fields(want) {
			if !strings.Contains(strconv.Itoa(r.status)+string(r.body), part) {
				t.Errorf("%s: %d %s, want %s", query, r.status, r.body, want)
			}
		}
	}
	if r := f.ask(otherKey, "/v1/tasks", url.Values{"node": {f.nodes[0].ID.String()}}); r.status !=
		http.StatusNotFound {
		t.Errorf("another's node: %d %s", r.status, r.body)
	}
}

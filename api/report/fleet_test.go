package report_test

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
)

// The day of the made-up fleet.
var (
	day  = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	noon = day.Add(12 * time.Hour)
)

const (
	cluster = "prod"
	gib     = int64(1 << 30)
)

// Templates of the fleet, in their order.
const (
	ofNode = iota
	ofCPU
	ofDisk
	ofRequest
	ofTable
	ofAlert
)

func templates() []frame.Template {
	gauge := func(name string) frame.Metric { return frame.Metric{Name: name, Kind: frame.Gauge} }
	return []frame.Template{
		{Type: "node", Metrics: []frame.Metric{
			gauge("cassandra_compaction_pending_tasks"),
			{Name: "jvm_start_time_seconds", Kind: frame.Gauge, Unit: "seconds", Exponent: -3},
			{Name: "cassandra_node_version_info", Kind: frame.String},
			{Name: "cassandra_node_schema_version_info", Kind: frame.String},
			gauge("cassandra_storage_load_bytes"),
		}},
		{Type: "os_cpu", Labels: []string{"mode"}, Metrics: []frame.Metric{
			{Name: "os_cpu_seconds_total", Kind: frame.Counter, Unit: "seconds", Exponent: -2},
		}},
		{Type: "filesystem", Labels: []string{"device", "mount"}, Metrics: []frame.Metric{
			gauge("os_filesystem_available_bytes"), gauge("os_filesystem_size_bytes"),
		}},
		{Type: "client_request", Labels: []string{"request"}, Metrics: []frame.Metric{
			{Name: "cassandra_client_request_latency_seconds", Kind: frame.Histogram,
				Unit: "seconds", Exponent: -6, HasSum: true},
		}},
		{Type: "table", Labels: []string{"keyspace", "table"}, Metrics: []frame.Metric{
			{Name: "cassandra_table_read_latency_seconds", Kind: frame.Histogram,
				Unit: "seconds", Exponent: -6, HasSum: true},
			{Name: "cassandra_table_write_latency_seconds", Kind: frame.Histogram,
				Unit: "seconds", Exponent: -6, HasSum: true},
			{Name: "cassandra_table_tombstones_scanned", Kind: frame.Histogram, Bounds: 1},
			gauge("cassandra_table_max_partition_size_bytes"),
			gauge("cassandra_table_live_sstables"),
			gauge("cassandra_table_live_disk_space_used_bytes"),
		}},
		{Type: "alert", Labels: []string{"alertname", "alertstate", "severity"},
			Metrics: []frame.Metric{gauge("ALERTS")}},
	}
}

// maker makes what one node says over the day.
type living struct {
	*frametest.Node
	number int
}

func (l *living) entity(template int, labels ...string) *frametest.Entity {
	for i := range l.Entities[template] {
		e := &l.Entities[template][i]
		same := true
		for j := range labels {
			same = same && e.Labels[j] == labels[j]
		}
		if same {
			return e
		}
	}
	e := frametest.Entity{Labels: labels}
	for _, m := range l.Templates[template].Metrics {
		c := frametest.Cell{}
		if m.Kind == frame.Histogram {
			c.Counts = make([]int64, len(l.Bounds[m.Bounds].Upper)+1)
		}
		e.Cells = append(e.Cells, c)
	}
	l.Entities[template] = append(l.Entities[template], e)
	return &l.Entities[template][len(l.Entities[template])-1]
}

// observe counts n observations of a value in units of the bounds.
func (l *living) observe(c *frametest.Cell, bounds int, v, n int64) {
	upper := l.Bounds[bounds].Upper
	i := 0
	for i < len(upper) && upper[i] < v {
		i++
	}
	c.Counts[i] += n
	if bounds == 0 {
		c.Sum += v * n
	}
}

const interval = time.Minute

// live changes a node's values as a minute passes.
func (l *living) live(at time.Time) {
	node := l.entity(ofNode)
	node.Cells[0].Int = 3
	if l.number == 3 && !at.Before(day.Add(6*time.Hour)) && at.Before(day.Add(8*time.Hour)) {
		node.Cells[0].Int = 250 // known: for two hours
	}
	node.Cells[1].Int = day.Add(-240 * time.Hour).UnixMilli()
	version, schema := "5.0.8", "a"
	if l.number == 4 && !at.Before(noon) {
		node.Cells[1].Int, version = noon.UnixMilli(), "5.0.9" // known: an upgrade at noon
	}
	if !at.Before(day.Add(15 * time.Hour)) {
		schema = "b" // known: a new table at three
	}
	node.Cells[2].Text, node.Cells[3].Text = version, schema
	node.Cells[4].Int = 100 * gib
	if l.number == 1 {
		node.Cells[4].Int = 250 * gib // known: uneven
	}
	seconds := int64(interval / time.Second * 100 * 4)
	l.entity(ofCPU, "idle").Cells[0].Int += seconds * 7 / 10
	l.entity(ofCPU, "user").Cells[0].Int += seconds * 3 / 10

	disk := l.entity(ofDisk, "nvme1n1", "/var/lib/cassandra")
	disk.Cells[1].Int = 1000 * gib
	disk.Cells[0].Int = 600 * gib
	if l.number == 5 { // known: it loses 100 GiB a day and has 200 left in the evening
		disk.Cells[0].Int = 200*gib + int64(float64(100*gib)*(1-at.Sub(day).Hours()/24))
	}

	latency := int64(2_000)
	if l.number == 2 && !at.Before(day.Add(18*time.Hour)) && at.Before(day.Add(19*time.Hour)) {
		latency = 3_000_000 // known: slow for an hour
	}
	l.observe(&l.entity(ofRequest, "Read").Cells[0], 0, latency, 6000)
	l.observe(&l.entity(ofRequest, "Write").Cells[0], 0, 1_000, 3000)

	table := func(name string, reads, took, tombstones, partition int64) {
		e := l.entity(ofTable, "shop", name)
		l.observe(&e.Cells[0], 0, took, reads)
		l.observe(&e.Cells[1], 0, 500, 60)
		l.observe(&e.Cells[2], 1, tombstones, reads)
		e.Cells[3].Int, e.Cells[4].Int, e.Cells[5].Int = partition, 8, 10*gib
	}
	table("busy", 6000, 800, 0, 1<<20)
	table("slow", 60, 2_000_000, 0, 1<<20)
	table("graves", 60, 900, 4000, 1<<20)
	table("large", 60, 900, 0, gib)
	if !at.Before(day.Add(15 * time.Hour)) {
		table("young", 60, 900, 0, 1<<20)
	}
	l.Entities[ofAlert] = nil
	if l.number == 3 && !at.Before(day.Add(7*time.Hour)) && at.Before(day.Add(8*time.Hour)) {
		l.entity(ofAlert, "PendingCompactions", "firing", "warning").Cells[0].Int = 1
	}
	if l.number == 4 && !at.Before(noon.Add(time.Minute)) && at.Before(noon.Add(3*time.Minute)) {
		l.entity(ofAlert, "NodeRestarted", "firing", "info").Cells[0].Int = 1 // known: short
	}
}

// fleet is what six nodes said over the day, read as users' queries are.
type fleet struct {
	engine *query.Engine
	who    account.Principal
	nodes  []string
}

func newFleet(t testing.TB) *fleet {
	t.Helper()
	frames := querytest.Frames{}
	f := &fleet{who: querytest.Principal(t, querytest.Account)}
	for n := 1; n <= 6; n++ {
		l := &living{frametest.New(cluster, uint64(n), 0), n}
		l.Interval = interval.Milliseconds()
		l.Templates = templates()
		l.Entities = make([][]frametest.Entity, len(l.Templates))
		l.Bounds[1].Upper = []int64{0, 1, 2, 5, 10, 100, 500, 1000, 2000, 5000, 10000}
		for l.Bounds[0].Upper[len(l.Bounds[0].Upper)-1] < 10_000_000 {
			last := l.Bounds[0].Upper[len(l.Bounds[0].Upper)-1]
			l.Bounds[0].Upper = append(l.Bounds[0].Upper, last*6/5)
		}
		f.nodes = append(f.nodes, "10.0.0."+strconv.Itoa(n))
		had := 0
		for at := day; !at.After(day.Add(24 * time.Hour)); at = at.Add(interval) {
			l.live(at)
			if n == 6 && !at.Before(day.Add(20*time.Hour)) && at.Before(day.Add(21*time.Hour)) {
				continue // known: silent for an hour
			}
			if has := len(l.Entities[ofTable]) + len(l.Entities[ofAlert]); has != had {
				l.Restart(at.UnixMilli()) // a key frame says which entities there are
				had = has
			}
			frames[l.ID] = append(frames[l.ID], l.Frame(at.UnixMilli()))
		}
	}
	f.serve(t, frames)
	return f
}

// serve has the fleet answer of frames.
func (f *fleet) serve(t testing.TB, frames querytest.Frames) {
	t.Helper()
	store := querytest.NewMemory(t, frames)
	clock := func() time.Time { return day.Add(24*time.Hour + time.Minute) }
	r, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Minute,
		Timeout: time.Minute, Clock: clock}, read.Sources{Store: store, Rollups: store.Rollups,
		LastSeen: store.LastSeen})
	if err != nil {
		t.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock, c.Timeout = clock, time.Minute
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	f.engine, err = query.NewEngine(c, r, store.Index(), p, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.engine.Close() })
}

// Query implements report.Source.
func (f *fleet) Query(ctx context.Context, expr string, at time.Time) ([]report.Series, error) {
	return series(f.engine.Instant(ctx, f.who, expr, at, query.Options{}))
}

// QueryRange implements report.Source.
func (f *fleet) QueryRange(ctx context.Context, expr string, from, to time.Time,
	step time.Duration) ([]report.Series, error) {
	return series(f.engine.Range(ctx, f.who, expr, from, to, step, query.Options{}))
}

func series(a *query.Answer, err error) (list []report.Series, _ error) {
	if err != nil {
		return nil, err
	}
	defer a.Close()
	switch v := a.Value.(type) {
	case promql.Vector:
		for _, s := range v {
			list = append(list, report.Series{Labels: s.Metric.Map(),
				Points: []report.Point{{At: s.T, Value: s.F}}})
		}
	case promql.Matrix:
		for _, s := range v {
			one := report.Series{Labels: s.Metric.Map()}
			for _, p := range s.Floats {
				one.Points = append(one.Points, report.Point{At: p.T, Value: p.F})
			}
			list = append(list, one)
		}
	}
	return list, nil
}

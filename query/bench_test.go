package query_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	recorded "github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
)

// benchFleet is a fleet like a recorded one whose newest frames are at hand: it is read.Store and
// read.Recent.
type benchFleet struct {
	read.Store
	nodes  []window.Node
	frames map[uuid.UUID][][]byte
	at     int64
}

// newBenchFleet makes so many nodes with so many frames each, of which the newest counts.
func newBenchFleet(b testing.TB, nodes, tables, frames int) *benchFleet {
	b.Helper()
	const interval = 20_000
	shape, err := recorded.Read("../bench/recordings/busy.rwf", "busy", tables, interval)
	if err != nil {
		b.Fatal(err)
	}
	f := &benchFleet{frames: map[uuid.UUID][][]byte{}}
	f.at = shift + int64(frames-1)*interval
	for i := range nodes {
		n := recorded.NewNode(shape, 1, i)
		var list [][]byte
		for k := range frames {
			one, err := n.Frame(shift + int64(k)*interval)
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, one)
			n.Step()
		}
		if frames > 2 {
			list = [][]byte{list[0], list[frames-1]}
		}
		f.frames[n.ID] = list
		w, _, err := building.Window(window.Node{Account: querytest.Account}, list[:1])
		if err != nil {
			b.Fatal(err)
		}
		f.nodes = append(f.nodes, w.Node)
	}
	size := 0
	for _, list := range f.frames {
		for _, one := range list {
			size += len(one)
		}
	}
	b.Logf("%d bytes a node, %d series", size/nodes, shape.Series)
	return f
}

func (f *benchFleet) Nodes(context.Context, string) ([]window.Node, error) {
	return slices.Clone(f.nodes), nil
}

func (f *benchFleet) Touch(string, string) {}

func (f *benchFleet) Latest(_ context.Context, _ string, n uuid.UUID) ([][]byte, int64, error) {
	return f.frames[n], f.at, nil
}

func (f *benchFleet) Frames(context.Context, string, uuid.UUID, int64, int64) (
	[][]byte, bool, error) {
	return nil, false, nil
}

func (f *benchFleet) Instants(_ context.Context, _ string, nodes []uuid.UUID, _, _ int64) (
	[][]int64, []bool, error) {
	return make([][]int64, len(nodes)), make([]bool, len(nodes)), nil
}

func (f *benchFleet) Claimed(context.Context, string) (map[uuid.UUID]bool, error) {
	return nil, nil
}

func (f *benchFleet) LastSeen(_ context.Context, _ string, nodes []uuid.UUID) (
	map[uuid.UUID]int64, error) {
	seen := make(map[uuid.UUID]int64, len(nodes))
	for _, n := range nodes {
		seen[n] = f.at
	}
	return seen, nil
}

// BenchmarkFleetInstant asks for the newest values of a fleet whose frames are in the recent
// source. kept is for who asks again before nodes have sent.
func BenchmarkFleetInstant(b *testing.B) {
	const nodes = 200
	for _, c := range []struct {
		name   string
		frames int
		kept   int64
	}{{"key", 1, 0}, {"delta", 8, 0}, {"kept", 8, 128 << 20}} {
		f := newBenchFleet(b, nodes, 10, c.frames)
		for _, expr := range []string{
			"sum by (cluster) (cassandra_compaction_pending_tasks)",
			"topk(10, os_load1)",
			"topk(10, sum by (cluster, keyspace, table) (cassandra_table_live_sstables))",
			"histogram_quantile(0.99, sum(cassandra_client_request_latency_seconds))",
		} {
			for _, by := range []string{"engine", "kernel"} {
				b.Run(c.name+"/"+expr+"/"+by, func(b *testing.B) {
					e, who := f.engine(b, c.kept), querytest.Principal(b, querytest.Account)
					if by == "engine" {
						e.Alone()
					}
					b.ReportAllocs()
					before := cpu(b)
					for b.Loop() {
						got, err := e.Instant(b.Context(), who,
							expr, time.UnixMilli(f.at), query.Options{})
						if err != nil {
							b.Fatal(err)
						}
						got.Close()
					}
					b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N)/nodes,
						"cpu-µs/node")
				})
			}
		}
	}
}

func (f *benchFleet) engine(b testing.TB, kept int64) *query.Engine {
	b.Helper()
	clock := func() time.Time { return time.UnixMilli(f.at + 1000) }
	r, err := read.New(read.Config{RecentSpan: 15 * time.Minute,
		NodesTTL: time.Minute,
		Timeout:  time.Minute, KeptBytes: kept, Clock: clock}, read.Sources{Store: f, Recent: f})
	if err != nil {
		b.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock = clock
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	e, err := query.NewEngine(c, r, nil, p, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	return e
}

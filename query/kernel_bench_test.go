package query_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
)

// columns are a store of nodes whose series are at hand: what is measured with it is what an answer
// takes after reading.
type columns struct {
	read.Store
	nodes  []window.Node
	of     map[uuid.UUID][]*window.Window
	at     []int64
	reads  func()                        // is called by each reading; nil: nothing is
	facets atomic.Pointer[[]blobs.Facet] // those of the last reading
}

// newColumns makes so many nodes with so many counters and histograms each, over 6 h at 20 s.
func newColumns(t testing.TB, nodes, series int) *columns {
	t.Helper()
	c := &columns{of: map[uuid.UUID][]*window.Window{}}
	for at := int64(origin); at <= origin+6*3_600_000; at += 20_000 {
		c.at = append(c.at, at)
	}
	bounds := frame.Bounds{Exponent: -6}
	for i, v := 0, int64(1); i < 164; i++ {
		bounds.Upper = append(bounds.Upper, v)
		v = max(v+1, v*6/5)
	}
	of := frame.Frame{Header: frame.Header{Compression: frame.Zstd, Cluster: "c", Started: 1,
		Interval: 20_000},
		Bounds: []frame.Bounds{bounds},
		Templates: []frame.Template{{Type: "table", Labels: []string{"table"},
			Metrics: []frame.Metric{
				{Name: "reads_total", Kind: frame.Counter},
				{Name: "latency_seconds", Kind: frame.Histogram, Exponent: -6, HasSum: true},
			}}}}
	tables := frame.Entities{}
	for k := range series {
		tables.Rows = append(tables.Rows, []string{fmt.Sprintf("table_%02d", k)})
	}
	of.Added = []frame.Entities{tables}
	for i := range nodes {
		n := window.Node{Account: querytest.Account, Cluster: "c",
			ID: uuid.NewSHA1(uuid.Nil, []byte{byte(i), byte(i >> 8)}), Interval: 20_000}
		c.nodes = append(c.nodes, n)
		of.Node = n.ID
		counts := make([][]int64, series)
		for k := range counts {
			counts[k] = make([]int64, 30)
		}
		var frames [][]byte
		for j, at := range c.at {
			of.At, of.Sequence = at, uint64(j)
			reads, times := frame.Column{Metric: 0, All: true}, frame.Column{Metric: 1, All: true}
			for k := range series {
				reads.Ints = append(reads.Ints, int64(1+j*(100+k+i)))
				h := frame.Buckets{Sum: int64(1+j) * 1000}
				for b := range counts[k] {
					if counts[k][b] += int64((b*7 + j + k) % 11); counts[k][b] > 0 {
						h.Index, h.Count = append(h.Index, int32(60+b)), append(h.Count,
							counts[k][b])
					}
				}
				times.Histograms = append(times.Histograms, h)
			}
			of.Values = []frame.Group{{Columns: []frame.Column{reads, times}}}
			b, err := of.Append(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, b)
			if j+1 < len(c.at) && frame.WindowOf(c.at[j+1]) == frame.WindowOf(at) {
				continue
			}
			w, report, err := building.Window(n, frames)
			if err != nil || report.Lost() > 0 {
				t.Fatal(report, err)
			}
			c.of[n.ID], frames = append(c.of[n.ID], w), nil
		}
	}
	return c
}

func (c *columns) Nodes(context.Context, string) ([]window.Node, error) { return c.nodes, nil }

func (c *columns) Windows(
	_ context.Context, _ string, n uuid.UUID, from, to int64, facets []blobs.Facet,
	_ ...*labels.Matcher,
) (read.Windows, error) {
	c.facets.Store(&facets)
	if c.reads != nil {
		c.reads()
	}
	all := read.Windows{Instants: c.at}
	for _, w := range c.of[n] {
		if w.Times[0] <= to && w.Times[len(w.Times)-1] >= from {
			all.List = append(all.List, w)
		}
	}
	return all, nil
}

// BenchmarkKernels asks for what dashboards ask over 5 h of 30 nodes with 7 series each, at a
// minute and at the nodes' own interval, of kernels and of Prometheus's engine alone.
func BenchmarkKernels(b *testing.B) {
	c := newColumns(b, 30, 7)
	for _, question := range []struct{ name, expr string }{
		{"rate", "sum by (cluster) (rate(reads_total[1m]))"},
		{"count", "sum by (cluster) (rate(latency_seconds_count[1m]))"},
		{"histogram_count", "histogram_count(sum by (cluster) (rate(latency_seconds[1m])))"},
		{"max", "max by (cluster) (max_over_time(reads_total[1h]))"},
		{"changes", "sum by (cluster) (changes(reads_total[1h]))"},
		{"min", "min by (cluster) (min_over_time(reads_total[1m]))"},
		{"once", "sum by (cluster) (rate(reads_total[1h] @ end()))"},
		{"topk", "topk by (cluster) (3, rate(reads_total[1m]))"},
		{"quantile", "quantile by (cluster) (0.9, rate(reads_total[1m]))"},
		{"p99", "histogram_quantile(0.99, sum by (cluster) (rate(latency_seconds[1m])))"},
	} {
		for _, step := range []time.Duration{time.Minute, 20 * time.Second} {
			for _, alone := range []bool{true, false} {
				if alone && question.name == "p99" && step < time.Minute {
					continue // it would hold more samples than it may
				}
				by := "kernel"
				if alone {
					by = "engine"
				}
				b.Run(fmt.Sprintf("%s/%v/%s", question.name, step, by), func(b *testing.B) {
					e, who := c.engine(b, func(*query.Config) {}), querytest.Principal(b,
						querytest.Account)
					if alone {
						e.Alone()
					}
					b.ReportAllocs()
					before := cpu(b)
					for b.Loop() {
						got, err := e.Range(b.Context(), who, question.expr,
							time.UnixMilli(origin+3_600_000),
							time.UnixMilli(origin+6*3_600_000), step, query.Options{})
						if err != nil {
							b.Fatal(err)
						}
						if rows(got.Value) == 0 {
							b.Fatal("the answer is empty")
						}
						got.Close()
					}
					b.ReportMetric(float64((cpu(b)-before).Microseconds())/1000/float64(b.N),
						"cpu-ms/op")
					if e.Kernels() == 0 != alone {
						b.Fatal("the wrong one has answered")
					}
				})
			}
		}
	}
}

// cpu returns the time that the process has computed: others may compute beside it.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (c *columns) engine(b testing.TB, change func(*query.Config)) *query.Engine {
	b.Helper()
	clock := func() time.Time { return time.UnixMilli(origin + 6*3_600_000 + 1000) }
	r, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Hour,
		Timeout: time.Minute, Clock: clock}, read.Sources{Store: c})
	if err != nil {
		b.Fatal(err)
	}
	config := query.DefaultConfig()
	config.Clock = clock
	change(&config)
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	e, err := query.NewEngine(config, r, nil, p, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	return e
}

package query_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// listedFleet is a fleet of which only the list is known. It is read.Store.
type listedFleet struct {
	read.Store
	nodes  []window.Node
	index  *index.Index
	behind func(ctx context.Context, account, cluster string) (int64, bool)
}

func (f *listedFleet) Nodes(context.Context, string) ([]window.Node, error) {
	return slices.Clone(f.nodes), nil
}

// newListedFleet makes so many nodes, in clusters of 500, that have the same tables.
func newListedFleet(tb testing.TB, nodes int) *listedFleet {
	tb.Helper()
	f := &listedFleet{index: index.New(0)}
	dictionaries := map[string]*window.Dictionary{}
	for i := range nodes {
		n := window.Node{Account: querytest.Account, Cluster: fmt.Sprintf("cluster-%02d", i/500),
			Interval: 5000}
		n.ID = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%d", i))
		n.Datacenter, n.Rack = fmt.Sprintf("dc%d", i%2), fmt.Sprintf("rack%d", i%3)
		for _, name := range []string{"address", "hostname", "cassandra_version", "java_version",
			"agent_version", "os"} {
			n.Facts = append(n.Facts, frame.Fact{Name: name, Value: fmt.Sprintf("%s-%d", name, i)})
		}
		f.nodes = append(f.nodes, n)
		place := n.Cluster + n.Datacenter + n.Rack
		d := dictionaries[place]
		if d == nil {
			d = &window.Dictionary{Cluster: n.Cluster, Datacenter: n.Datacenter, Rack: n.Rack,
				Type: "table", Labels: []string{"keyspace", "table"}}
			for _, name := range []string{"cassandra_table_reads_total",
				"cassandra_table_writes_total"} {
				d.Metrics = append(d.Metrics, window.Metric{Type: "table", Name: name,
					Kind: frame.Counter})
			}
			for t := range 20 {
				d.Rows = append(d.Rows, []string{"shop", fmt.Sprintf("table_%d", t)})
			}
			dictionaries[place] = d
		}
		h := window.HashOf(blobs.AppendDictionary(nil, d))
		f.index.Add(querytest.Account, n.ID,
			[]window.DictionaryID{{Node: n.ID, Day: origin, Key: "table", Hash: h}},
			map[window.Hash]*window.Dictionary{h: d})
	}
	return f
}

func (f *listedFleet) engine(tb testing.TB) *query.Engine {
	tb.Helper()
	clock := func() time.Time { return time.UnixMilli(origin + 7_200_000) }
	r, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Hour,
		Timeout: time.Minute, Clock: clock}, read.Sources{Store: f, Behind: f.behind})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock, c.NodesTTL, c.MaxSeries = clock, time.Hour, 1_000_000
	e, err := query.NewEngine(c, r, wholeIndex{f.index}, p, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// BenchmarkPlan plans selectors over 10,000 nodes.
func BenchmarkPlan(b *testing.B) {
	f := newListedFleet(b, 10_000)
	e, who := f.engine(b), querytest.Principal(b, querytest.Account)
	var some []string
	for i := range 20 {
		some = append(some, f.nodes[i*450].ID.String())
	}
	for _, of := range []struct {
		name, text string
		nodes      int
	}{
		{"all", `cassandra_table_reads_total`, 10_000},
		{"one-table", `cassandra_table_reads_total{table="table_3"}`, 10_000},
		{"cluster", `cassandra_table_reads_total{cluster="cluster-07"}`, 500},
		{"clusters", `cassandra_table_reads_total{cluster=~"cluster-1.*",datacenter="dc1"}`, 2500},
		{"node", fmt.Sprintf(`cassandra_table_reads_total{node="%s"}`, some[3]), 1},
		{"nodes", fmt.Sprintf(`cassandra_table_reads_total{node=~"%s"}`, strings.Join(some, "|")),
			20},
		{"pattern", `cassandra_table_reads_total{node=~"a.*"}`, -1},
	} {
		matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(of.text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n, err := e.Planned(b.Context(), who, origin+3_600_000, origin+7_200_000, matchers)
				if err != nil || of.nodes >= 0 && n != of.nodes {
					b.Fatal(n, err)
				}
			}
		})
	}
}

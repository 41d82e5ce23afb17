package index

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
)

// BenchmarkSelect asks an index of 1,000 nodes, 50 a cluster, each with 100 tables of 50 metrics
// that its cluster has in common, and says what a node takes: of the heap, and as estimated.
func BenchmarkSelect(b *testing.B) {
	const nodes = 1000
	before := inUse()
	x := New(0)
	for n := range nodes {
		d := &window.Dictionary{Node: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, n)),
			Cluster: fmt.Sprint("cluster-", n/50), Type: "table", Key: "table",
			Labels: []string{"keyspace", "table"}}
		for i := range 100 {
			d.Rows = append(d.Rows, []string{fmt.Sprintf("app%d_%d", n/50, i/10),
				fmt.Sprintf("orders_%02d", i)})
		}
		for i := range 50 {
			d.Metrics = append(d.Metrics, window.Metric{Type: d.Type,
				Name: fmt.Sprintf("m%02d", i)})
		}
		f := factOf("acme", day0, d)
		x.Add(f.account, f.id.Node, []window.DictionaryID{f.id},
			map[window.Hash]*window.Dictionary{f.id.Hash: d})
	}
	perNode := float64(inUse()-before) / nodes
	estimated := float64(x.Stats().Bytes) / nodes
	matcher := labels.MustNewMatcher
	name := matcher(labels.MatchEqual, labels.MetricName, "m07")
	for _, q := range []struct {
		name     string
		matchers []*labels.Matcher
	}{
		{"cluster", []*labels.Matcher{name, matcher(labels.MatchEqual, "cluster", "cluster-3")}},
		{"all", []*labels.Matcher{name}},
		{"regexp", []*labels.Matcher{name, matcher(labels.MatchRegexp, "table", "ord.*[1-4]")}},
		{"nothing", []*labels.Matcher{name, matcher(labels.MatchRegexp, "table", "no.such.*")}},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				s, err := x.Select("acme", Query{From: day0, To: day0,
					Selectors: [][]*labels.Matcher{q.matchers}})
				if err != nil {
					b.Fatal(err)
				}
				s.Count()
			}
			b.ReportMetric(perNode, "heap-B/node")
			b.ReportMetric(estimated, "estimated-B/node")
		})
	}
	runtime.KeepAlive(x)
}

// inUse is the heap after a collection.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

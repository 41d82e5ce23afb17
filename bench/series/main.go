// Command series measures the API's index of series: 10,000 nodes of 10,000 series each, made
// from the recorded node, in clusters of 50 that share keyspaces and tables, over 14 days with a
// new table per cluster and day. How long it takes to fill, what it takes in memory, and how long
// typical questions take, beside a plain inverted index at a size that one can hold.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/query/index"
)

func main() {
	var recordings string
	bench.Recordings(&recordings)
	nodes := flag.Int("nodes", 10_000, "nodes, in clusters of 50")
	perNode := flag.Int("series", 10_000, "series a node")
	small := flag.Int("plain", 100, "nodes in the plain index and in ours beside it")
	inCassandra := flag.Int("cassandra", 1000,
		"nodes that are loaded from a real Cassandra; 0: none")
	asks := flag.Int("asks", 200, "how often each question is asked")
	bench.Main("bench-series", func(_ context.Context, r *bench.Result) error {
		r.Notes = "A fleet made from the recorded node's dictionaries, 50 nodes a cluster, 14 " +
			"days, each cluster one new table a day. series are those of the last day; bytes are " +
			"of the heap after a " +
			"collection, rss_mb is the whole process then. Times are from the selector's " +
			"matchers to all matching series found, counted, not written down; of the last day. " +
			"plain is an inverted index of " +
			"plain_nodes nodes of the last day only, asked in turn with small, ours of as many " +
			"nodes and 14 days; nothing is scaled. apart is a fleet where no two nodes have a " +
			"table in common. cassandra_… is a real one on the same machine, with 14 days of " +
			"dictionaries."
		return measure(r, filepath.Join(recordings, "busy.rwf"), *nodes, *perNode, *small,
			*inCassandra, *asks)
	})
}

func measure(r *bench.Result, recording string, nodes, perNode, small, inCassandra,
	asks int) error {
	today := time.Now().UnixMilli()
	today -= today % dayMillis
	f, err := newFleet(recording, perNode, today)
	if err != nil {
		return err
	}
	at := today + dayMillis/2
	if err := beside(r, f, small, asks, at); err != nil {
		return err
	}
	before := heap()
	x, took, err := build(f, nodes)
	if err != nil {
		return err
	}
	used := float64(heap() - before)
	debug.FreeOSMemory()
	rss := float64(residentBytes())
	stats := x.Stats()
	t := times{}
	found, err := t.ask(x, nodes, asks, at)
	if err != nil {
		return err
	}
	count := 0
	for _, d := range f.dictionaries(0, days-1) {
		count += len(d.Metrics) * len(d.Rows)
	}
	fmt.Printf("%d nodes of %d series: %.1f MB of heap (estimated %.1f), %.0f MB resident, "+
		"filled in %.1f s\n", nodes, count, used/1e6, float64(stats.Bytes)/1e6, rss/1e6,
		took.Seconds())
	for _, q := range queries {
		fmt.Printf("  %-16s %10d found, median %8.3f ms, p99 %8.3f ms\n", q.name,
			found[q.name]/asks, bench.Median(t[q.name]), bench.Quantile(t[q.name], 0.99))
	}
	r.Add("nodes", nodes)
	r.Add("series", nodes*count)
	r.Add("days", days)
	r.Add("bytes_per_series", used/float64(nodes*count))
	r.Add("bytes_per_node", used/float64(nodes))
	r.Add("heap_mb", used/1e6)
	r.Add("estimated_mb", float64(stats.Bytes)/1e6)
	r.Add("rss_mb", rss/1e6)
	r.Add("load_s", took.Seconds())
	r.Add("load_ms_per_node", took.Seconds()*1e3/float64(nodes))
	r.Add("match_ms", t.keep(r, ""))
	runtime.KeepAlive(x)
	x = nil
	if err := apart(r, f, nodes, asks, at); err != nil {
		return err
	}
	if inCassandra > 0 {
		return fromCassandra(r, f, inCassandra)
	}
	return nil
}

// apart is the worst case: no two nodes have a table in common.
func apart(r *bench.Result, f *fleet, nodes, asks int, at int64) error {
	own := *f
	own.apart = true
	before := heap()
	x, _, err := build(&own, nodes)
	if err != nil {
		return err
	}
	used := heap() - before
	t := times{}
	if _, err := t.ask(x, nodes, asks, at); err != nil {
		return err
	}
	fmt.Printf("the same with tables of each node's own: %.0f MB of heap (estimated %.0f)\n",
		float64(used)/1e6, float64(x.Stats().Bytes)/1e6)
	r.Add("apart_bytes_per_node", float64(used)/float64(nodes))
	r.Add("apart_heap_mb", float64(used)/1e6)
	r.Add("apart_match_ms", t.keep(r, "apart_"))
	runtime.KeepAlive(x)
	return nil
}

// build fills an index; only decoding and adding count as time.
func build(f *fleet, nodes int) (*index.Index, time.Duration, error) {
	x := index.New(0)
	var took time.Duration
	for n := range nodes {
		s := f.node(n)
		began := time.Now()
		all, err := s.decoded()
		if err != nil {
			return nil, 0, err
		}
		if left := x.Add("acme", s.id, s.ids, all); left > 0 {
			return nil, 0, fmt.Errorf("%d dictionaries were left out", left)
		}
		took += time.Since(began)
	}
	return x, took, nil
}

// beside asks a plain index and ours of the same nodes in turn.
func beside(r *bench.Result, f *fleet, nodes, asks int, at int64) error {
	start := heap()
	p := newPlain()
	began := time.Now()
	for n := range nodes {
		for _, d := range f.dictionaries(n, days-1) {
			p.add(d)
		}
	}
	filled := time.Since(began)
	plainBytes := heap() - start
	x, _, err := build(f, nodes)
	if err != nil {
		return err
	}
	ours, theirs := times{}, times{}
	for range asks {
		a, err := ours.ask(x, nodes, 1, at)
		if err != nil {
			return err
		}
		if b := theirs.askPlain(p, nodes, 1); !maps.Equal(a, b) {
			return fmt.Errorf("the two indexes differ: %v and %v", a, b)
		}
	}
	fmt.Printf("%d nodes, %d series: plain index %.0f MB in %.1f s\n", nodes, len(p.series),
		float64(plainBytes)/1e6, filled.Seconds())
	for _, q := range queries {
		fmt.Printf("  %-16s plain %8.3f ms, ours %8.3f ms\n", q.name, bench.Median(theirs[q.name]),
			bench.Median(ours[q.name]))
	}
	r.Add("plain_nodes", nodes)
	r.Add("plain_series", len(p.series))
	r.Add("plain_bytes_per_series", float64(plainBytes)/float64(len(p.series)))
	r.Add("plain_load_ms_per_node", filled.Seconds()*1e3/float64(nodes))
	theirs.keep(r, "plain_")
	ours.keep(r, "small_")
	runtime.KeepAlive(p)
	return nil
}

// heap returns the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func residentBytes() int64 {
	var pages, resident int64
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		_, _ = fmt.Sscan(string(b), &pages, &resident)
	}
	return resident * int64(os.Getpagesize())
}

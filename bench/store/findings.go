package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
)

// reads are the three that are timed.
var reads = [3]string{"all latest of a node", "one metric of all nodes", "a node at 5 min"}

// readKeys are their names in the result.
var readKeys = [3]string{"latest", "metric", "coarse"}

// metricNodes is of how many nodes one metric is read.
const metricNodes = 50

// row is what was found of one side.
type row struct {
	name         string
	data, index  int64
	fresh        int64 // v3: frames, which live for an hour
	engineCPU    time.Duration
	ownCPU       time.Duration // of this process: what the store role does, or a sender
	writeSeconds float64
	readMillis   [3]float64
	series       [3]int
	points       [3]int
}

func (r *row) bytes() float64 { return float64(r.data + r.index) }

type findings struct {
	options
	data     *dataset
	rows     []*row
	versions []string
}

func (f *findings) find(name string) *row {
	for _, r := range f.rows {
		if r.name == name {
			return r
		}
	}
	return nil
}

// generations measures what is wanted of v1, v2 and v3 in one Cassandra.
func (f *findings) generations(ctx context.Context, dir string, wanted []string) error {
	var sides []*generation
	var labels []string
	for _, name := range wanted {
		if peerModules[name] == "" {
			labels = append(labels, name)
		}
	}
	if len(labels) == 0 {
		return nil
	}
	for _, kind := range []format{big, bti} {
		progress("starting Cassandra with %s SSTables", kind)
		cassandra, err := startCassandra(ctx, dir, kind, progress)
		if err != nil {
			return err
		}
		defer cassandra.Kill()
		sides = sides[:0]
		for _, label := range labels {
			g, err := openGeneration(ctx, label, cassandra)
			if err != nil {
				return err
			}
			defer g.db.Close()
			sides = append(sides, g)
		}
		for _, g := range sides {
			r := &row{name: g.label + " " + string(kind)}
			if kind == big {
				err = f.load(ctx, g, r)
			} else {
				g.now = f.data.end + 1000
				progress("%s: rewriting as bti", g.label)
				err = nodetool(ctx, cassandra, "upgradesstables", "-a", g.keyspace)
			}
			if err != nil {
				return err
			}
			if r.data, r.index, err = g.disk(); err != nil {
				return err
			}
			if r.fresh, err = g.fresh(); err != nil {
				return err
			}
			f.say(r)
			f.rows = append(f.rows, r)
		}
		for _, g := range sides {
			if err := f.read(ctx, g, f.find(g.label+" "+string(kind))); err != nil {
				return err
			}
		}
		stopping, cancel := context.WithTimeout(ctx, time.Minute)
		err = cassandra.Stop(stopping)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// peer measures one of the peers.
func (f *findings) peer(ctx context.Context, name, dir string) error {
	p, err := startPeer(ctx, name, dir, progress)
	if err != nil {
		return err
	}
	defer func() { p.stop() }()
	f.versions = append(f.versions, name+" "+p.version)
	r := &row{name: name}
	if err := f.load(ctx, p, r); err != nil {
		return err
	}
	if r.data, r.index, err = p.disk(); err != nil {
		return err
	}
	f.say(r)
	f.rows = append(f.rows, r)
	return f.read(ctx, p, r)
}

func (f *findings) say(r *row) {
	progress("%s: %.2f MB data, %.2f MB index, %.3f bytes a sample", r.name, float64(r.data)/1e6, float64(r.index)/1e6, r.bytes()/float64(f.data.samples))
}

// table prints what docs/STORE.md shows.
func (f *findings) table(w io.Writer) {
	fmt.Fprintf(w, "\n| | data MB | index MB | bytes a sample | write CPU µs a sample: engine + ours | %s |\n|---|---|---|---|---|---|---|---|\n", strings.Join(reads[:], " ms | ")+" ms")
	for _, r := range f.rows {
		cpu := "as above"
		if r.writeSeconds > 0 {
			n := float64(f.data.samples)
			cpu = fmt.Sprintf("%.2f + %.2f", float64(r.engineCPU.Microseconds())/n, float64(r.ownCPU.Microseconds())/n)
		}
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %.3f | %s | %.1f | %.1f | %.1f |\n", r.name, float64(r.data)/1e6, float64(r.index)/1e6, r.bytes()/float64(f.data.samples), cpu,
			r.readMillis[0], r.readMillis[1], r.readMillis[2])
	}
	fmt.Fprintln(w)
}

// result is the RESULT line. Ratios that lack a side are left out.
func (f *findings) result() *bench.Result {
	r := &bench.Result{Name: "store"}
	ratio := func(key, a, b string) {
		if x, y := f.find(a), f.find(b); x != nil && y != nil {
			r.Add(key, x.bytes()/y.bytes())
		}
	}
	ratio("v2_over_v1", "v2 big", "v1 big")
	ratio("v3_over_v2", "v3 big", "v2 big")
	v3, best := f.find("v3 big"), (*row)(nil)
	for name := range peerModules {
		if p := f.find(name); p != nil && (best == nil || p.bytes() < best.bytes()) {
			best = p
		}
	}
	if v3 != nil && best != nil {
		r.Add("v3_over_best_peer", v3.bytes()/best.bytes())
	}
	if v3 != nil {
		r.Add("bytes_per_sample", v3.bytes()/float64(f.data.samples))
	}
	for _, pair := range [][2]string{{"slowest_read_over_v2", "v2 big"}, {"slowest_read_over_v2_bti", "v2 bti"}} {
		v2 := f.find(pair[1])
		mine := f.find(strings.Replace(pair[1], "v2", "v3", 1))
		if v2 == nil || mine == nil {
			continue
		}
		slowest := 0.0
		for i := range reads {
			slowest = math.Max(slowest, mine.readMillis[i]/v2.readMillis[i])
		}
		r.Add(pair[0], slowest)
	}
	ratio("v2_over_v1_bti", "v2 bti", "v1 bti")
	ratio("v3_over_v2_bti", "v3 bti", "v2 bti")
	r.Add("nodes", f.nodes)
	r.Add("hours", f.hours)
	r.Add("series_per_node", f.data.series/f.nodes)
	r.Add("samples", f.data.samples)
	for _, side := range f.rows {
		key := strings.ReplaceAll(side.name, " ", "_")
		r.Add(key+"_bytes_per_sample", side.bytes()/float64(f.data.samples))
		r.Add(key+"_index_share", float64(side.index)/side.bytes())
		if side.writeSeconds > 0 {
			r.Add(key+"_engine_cpu_us_per_sample", float64(side.engineCPU.Microseconds())/float64(f.data.samples))
			r.Add(key+"_own_cpu_us_per_sample", float64(side.ownCPU.Microseconds())/float64(f.data.samples))
		}
		if side.fresh > 0 {
			r.Add(key+"_fresh_bytes_per_sample", float64(side.fresh)/float64(f.data.samples))
		}
		for i := range reads {
			r.Add(key+"_"+readKeys[i]+"_ms", side.readMillis[i])
		}
	}
	r.Notes = fmt.Sprintf("%d nodes × %g h at 20 s with %d tables each, half of them idle, made from the recordings (bench/store/fleet.go says how); nothing is extrapolated. A sample is a series at a tick, a histogram is one. "+
		"Flushed and compacted, with index; fresh, which lives an hour, apart. CPU until compacted: the engine's and this process's. Reads: medians of %d, of other nodes each time; one metric is %s of %d nodes, raw; "+
		"at 5 min is everything of a node. %s.", f.nodes, f.hours, f.tables, f.rounds, f.metric, min(metricNodes, f.nodes), strings.Join(f.versions, ", "))
	return r
}

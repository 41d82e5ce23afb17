package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/bench/peers"
)

// row is what was found of one side.
type row struct {
	name         string
	data, index  int64
	fresh        int64 // generations: frames, which live for an hour
	rollups      int64 // generations: of 5 minutes and hours
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

// measured is a side that is loaded.
type measured struct {
	side
	row *row
}

// measure loads all sides and reads them by turns: with big SSTables the generations and the peers, with bti the generations.
func (f *findings) measure(ctx context.Context, dir string) error {
	var generations, others []string
	for _, name := range strings.Split(f.sides, ",") {
		if peers.Modules[name] == "" {
			generations = append(generations, name)
		} else {
			others = append(others, name)
		}
	}
	var sides []measured
	for _, name := range others {
		p, m, err := f.peer(ctx, name, dir)
		if err != nil {
			return err
		}
		defer p.Stop()
		sides = append(sides, m)
		defer func() { f.rows = append(f.rows, m.row) }() // the table begins with ours
	}
	if len(generations) == 0 {
		return f.read(ctx, sides)
	}
	for _, kind := range []format{big, bti} {
		if err := f.generations(ctx, dir, kind, generations, sides); err != nil {
			return err
		}
		sides = nil
	}
	return nil
}

// generations measures generations in one Cassandra, and reads the others by turns with them.
func (f *findings) generations(ctx context.Context, dir string, kind format, labels []string, others []measured) error {
	progress("starting Cassandra with %s SSTables", kind)
	cassandra, err := startCassandra(ctx, dir, kind, progress)
	if err != nil {
		return err
	}
	defer cassandra.Kill()
	var sides []measured
	for _, label := range labels {
		g, err := openGeneration(ctx, label, cassandra)
		if err != nil {
			return err
		}
		defer g.db.Close()
		m := measured{g, &row{name: g.label + " " + string(kind)}}
		if kind == big {
			err = f.load(ctx, g, m.row)
		} else {
			g.now = f.data.end + 1000
			progress("%s: rewriting as bti", g.label)
			err = node.Tool(ctx, cassandra, "upgradesstables", "-a", g.keyspace)
		}
		if err != nil {
			return err
		}
		if err := g.disk(ctx, m.row); err != nil {
			return err
		}
		f.say(m.row)
		f.rows = append(f.rows, m.row)
		sides = append(sides, m)
	}
	if err := f.read(ctx, append(sides, others...)); err != nil {
		return err
	}
	stopping, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return cassandra.Stop(stopping)
}

// peer loads one of the peers, which goes on running.
func (f *findings) peer(ctx context.Context, name, dir string) (*peer, measured, error) {
	started, err := peers.Start(ctx, name, dir, progress)
	if err != nil {
		return nil, measured{}, err
	}
	p := &peer{started}
	m := measured{p, &row{name: name}}
	f.versions = append(f.versions, name+" "+p.Version)
	if err = f.load(ctx, p, m.row); err == nil {
		m.row.data, m.row.index, err = p.Disk()
	}
	if err != nil {
		p.Stop()
		return nil, measured{}, err
	}
	f.say(m.row)
	return p, m, nil
}

func (f *findings) say(r *row) {
	progress("%s: %.2f MB data, %.2f MB index, %.3f bytes a sample", r.name, float64(r.data)/1e6, float64(r.index)/1e6, r.bytes()/float64(f.data.samples))
}

// table prints what docs/STORE.md shows.
func (f *findings) table(w io.Writer) {
	fmt.Fprintf(w, "\n| | data MB | index MB | bytes a sample | write CPU µs a sample: engine + ours | %s ms | %s ms | %s ms |\n|---|---|---|---|---|---|---|---|\n", reads[0].title, reads[1].title, reads[2].title)
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
	if f.find("v2 big") == nil {
		r.Name = "store-peers"
	}
	ratio := func(key, a, b string) {
		if x, y := f.find(a), f.find(b); x != nil && y != nil {
			r.Add(key, x.bytes()/y.bytes())
		}
	}
	ratio("v2_over_v1", "v2 big", "v1 big")
	ratio("v3_over_v2", "v3 big", "v2 big")
	v3, best := f.find("v3 big"), (*row)(nil)
	for name := range peers.Modules {
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
			over := mine.readMillis[i] / v2.readMillis[i]
			slowest = math.Max(slowest, over)
			r.Add(strings.Replace(pair[0], "slowest_read", reads[i].key, 1), over)
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
			r.Add(key+"_rollup_bytes_per_sample", float64(side.rollups)/float64(f.data.samples))
		}
		for i := range reads {
			r.Add(key+"_"+reads[i].key+"_ms", side.readMillis[i])
		}
	}
	r.Notes = fmt.Sprintf("%d nodes × %g h at 20 s with %d tables each, half of them idle, made from the recordings (bench/fleet says how); nothing is extrapolated. A sample is a series at a tick, a histogram is one. "+
		"Flushed and compacted, with index; fresh, which lives an hour, and rollups are apart. CPU until compacted: the engine's and this process's, rollups included. Reads: sides by turns, medians of %d, of %d of the latest, "+
		"at least 3 of what takes long, of other nodes each time; one metric is %s of %d nodes, raw; at 5 min is everything of a node: v3 from its rollups, v1 and v2 from their rows. %s.", f.nodes, f.hours, f.tables, f.rounds, f.rounds*reads[0].times, f.metric, min(metricNodes, f.nodes), strings.Join(f.versions, ", "))
	return r
}

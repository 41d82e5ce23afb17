package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/bench/peers"
)

// row is what was found of one side.
type row struct {
	name        string
	data, index int64
	tables      map[string]size // generations: all of them
	fresh       int64           // generations: frames, which live for an hour
	// generations: rows of windows, which live until their hour is made
	short        int64
	rollups      int64 // generations
	engineCPU    time.Duration
	ownCPU       time.Duration // of this process: what the store role does, or a sender
	writeSeconds float64
	reads        map[string]answered // by question
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

// measure loads all sides and reads them by turns: with big SSTables the generations and the peers,
// with bti the generations.
func (f *findings) measure(ctx context.Context, dir string) error {
	var generations, others []string
	for _, name := range f.sides {
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
	for _, kind := range f.formats {
		if err := f.generations(ctx, dir, format(kind), generations, sides); err != nil {
			return err
		}
		sides = nil
	}
	return nil
}

// generations measures generations in one Cassandra, and reads the others by turns with them.
func (f *findings) generations(ctx context.Context, dir string, kind format, labels []string,
	others []measured) error {
	bench.Progress("starting Cassandra with %s SSTables", kind)
	cassandra, err := startCassandra(ctx, dir, kind)
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
		m := measured{g, &row{name: g.label + " " + string(kind), reads: map[string]answered{}}}
		if kind == big {
			err = f.load(ctx, g, m.row)
		} else {
			g.now = f.data.end + 1000
			bench.Progress("%s: rewriting as bti", g.label)
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
	started, err := peers.Start(ctx, name, dir, bench.Progress)
	if err != nil {
		return nil, measured{}, err
	}
	p := &peer{started}
	m := measured{p, &row{name: name, reads: map[string]answered{}}}
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
	bench.Progress("%s: %.2f MB data, %.2f MB index, %.3f bytes a sample", r.name,
		float64(r.data)/1e6, float64(r.index)/1e6, r.bytes()/float64(f.data.samples))
}

// table prints what docs/TABLES.md shows: bytes and writing, then reads, then bytes by table.
func (f *findings) table(w io.Writer) {
	n := float64(f.data.samples)
	fmt.Fprint(w, "\n| | data MB | index MB | bytes a sample | write CPU µs a sample: engine + "+
		"ours |\n|---|---|---|---|---|\n")
	for _, r := range f.rows {
		cpu := "as above"
		if r.writeSeconds > 0 {
			cpu = fmt.Sprintf("%.2f + %.2f", float64(r.engineCPU.Microseconds())/n,
				float64(r.ownCPU.Microseconds())/n)
		}
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %.3f | %s |\n", r.name, float64(r.data)/1e6,
			float64(r.index)/1e6, r.bytes()/n, cpu)
	}
	fmt.Fprint(w, "\n| ms, CPU ms here + engine, rows |")
	for _, r := range f.rows {
		fmt.Fprintf(w, " %s |", r.name)
	}
	fmt.Fprint(w, "\n|---|"+strings.Repeat("---|", len(f.rows))+"\n")
	for _, q := range f.questions() {
		fmt.Fprintf(w, "| %s |", q.title)
		for _, r := range f.rows {
			a := r.reads[q.key]
			fmt.Fprintf(w, " %.1f, %.1f + %.1f, %.0f |", a.millis, a.own, a.engine, a.rows)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "\n| table | side | MB | bytes a sample |\n|---|---|---|---|\n")
	for _, r := range f.rows {
		for _, name := range slices.Sorted(maps.Keys(r.tables)) {
			all := float64(r.tables[name].data + r.tables[name].index)
			fmt.Fprintf(w, "| %s | %s | %.2f | %.4f |\n", name, r.name, all/1e6, all/n)
		}
	}
	fmt.Fprintln(w)
}

// result is the RESULT line. Ratios that lack a side are left out.
func (f *findings) addTo(r *bench.Result) {
	questions := f.questions()
	switch {
	case f.find("v2 big") != nil:
	case len(f.versions) > 0:
		r.Name = "store-peers"
	default:
		r.Name = "store-reads"
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
		r.Add("v3_all_over_best_peer", (v3.bytes()+float64(v3.short+v3.rollups))/best.bytes())
	}
	if v3 != nil {
		r.Add("bytes_per_sample", v3.bytes()/float64(f.data.samples))
	}
	for _, pair := range [][2]string{{"slowest_read_over_v2", "v2 big"},
		{"slowest_read_over_v2_bti", "v2 bti"}} {
		v2 := f.find(pair[1])
		mine := f.find(strings.Replace(pair[1], "v2", "v3", 1))
		if v2 == nil || mine == nil {
			continue
		}
		slowest := 0.0
		for _, q := range questions {
			over := mine.reads[q.key].millis / v2.reads[q.key].millis
			slowest = math.Max(slowest, over)
			r.Add(strings.Replace(pair[0], "slowest_read", q.key, 1), over)
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
			r.Add(key+"_engine_cpu_us_per_sample",
				float64(side.engineCPU.Microseconds())/float64(f.data.samples))
			r.Add(key+"_own_cpu_us_per_sample",
				float64(side.ownCPU.Microseconds())/float64(f.data.samples))
		}
		if side.fresh > 0 {
			r.Add(key+"_fresh_bytes_per_sample", float64(side.fresh)/float64(f.data.samples))
			r.Add(key+"_short_bytes_per_sample", float64(side.short)/float64(f.data.samples))
			r.Add(key+"_rollup_bytes_per_sample", float64(side.rollups)/float64(f.data.samples))
		}
		for _, q := range questions {
			a := side.reads[q.key]
			r.Add(key+"_"+q.key+"_ms", a.millis)
			r.Add(key+"_"+q.key+"_cpu_ms", a.own)
			r.Add(key+"_"+q.key+"_engine_cpu_ms", a.engine)
			if a.rows > 0 {
				r.Add(key+"_"+q.key+"_rows", a.rows)
			}
		}
	}
	r.Detail = f.detail(questions)
	r.Notes = fmt.Sprintf(
		"%d nodes, %d of them different, × %g h at 20 s with %d tables each, half of them idle, "+
			"made from the recordings (bench/fleet says how); nothing is extrapolated. A sample "+
			"is a series at a tick, a histogram is one. Flushed and compacted, with index; fresh, "+
			"which lives an hour, rows of windows and rollups are apart. CPU of writing until "+
			"compacted: the engine's and this process's, rollups included. Reads: sides by turns, "+
			"medians of %d, of %d of the latest, at least 3 of what takes long, of other nodes "+
			"each time; cpu is this process's (getrusage), engine_cpu the engine's (/proc, in "+
			"steps of 10 ms), both means; rows are those that the driver got. A node at 5 min: v3 "+
			"from its rollups, v1 and v2 from their rows. %s",
		f.nodes, len(f.data.frames), f.hours, f.tables, f.rounds, f.rounds*questions[0].times,
		strings.Join(f.versions, ", "))
}

// detail is what the questions are, and what each table takes.
func (f *findings) detail(questions []question) map[string]any {
	titles, tables := map[string]string{}, map[string]map[string]float64{}
	for _, q := range questions {
		titles[q.key] = q.title
	}
	for _, side := range f.rows {
		for name, size := range side.tables {
			if tables[side.name] == nil {
				tables[side.name] = map[string]float64{}
			}
			tables[side.name][name] = float64(size.data+size.index) / float64(f.data.samples)
		}
	}
	return map[string]any{"questions": titles, "bytes_per_sample_by_table": tables}
}

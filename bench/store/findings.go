package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/peers"
)

// row is what was found of one side.
type row struct {
	name        string
	data, index int64
	tables      map[string]size // generations: all of them
	fresh       int64           // generations: frames, which live for an hour
	// generations: rows of windows, which live until their hour is made
	short     int64
	rollups   int64 // generations
	engineCPU time.Duration
	ownCPU    time.Duration // of this process: what the store role does, or a sender
}

func (r *row) bytes() float64 { return float64(r.data + r.index) }

type findings struct {
	options
	idle, busy *fleet.Shape
	start, end int64 // of the first window, after the last
	samples    int64 // a sample is a series at a tick
	rows       []*row
	versions   []string
}

func (f *findings) find(name string) *row {
	for _, r := range f.rows {
		if r.name == name {
			return r
		}
	}
	return nil
}

// measure loads all sides.
func (f *findings) measure(ctx context.Context, dir string) error {
	isPeer := func(name string) bool { return peers.Modules[name] != "" }
	if generations := slices.DeleteFunc(slices.Clone(f.sides), isPeer); len(generations) > 0 {
		if err := f.generations(ctx, dir, generations); err != nil {
			return err
		}
	}
	for _, name := range f.sides {
		if !isPeer(name) {
			continue
		}
		p, err := peers.Start(ctx, name, dir, bench.Progress)
		if err != nil {
			return err
		}
		f.versions = append(f.versions, name+" "+p.Version)
		err = f.one(ctx, name, &peer{p})
		p.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// generations measures generations in one Cassandra.
func (f *findings) generations(ctx context.Context, dir string, labels []string) error {
	cassandra, err := startCassandra(ctx, dir)
	if err != nil {
		return err
	}
	defer cassandra.Kill()
	for _, label := range labels {
		g, err := openGeneration(ctx, label, cassandra)
		if err != nil {
			return err
		}
		err = f.one(ctx, label+" big", g)
		g.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *findings) one(ctx context.Context, name string, s side) error {
	r := &row{name: name}
	if err := f.load(ctx, s, r); err != nil {
		return err
	}
	bench.Progress("%s: %.2f MB data, %.2f MB index, %.3f bytes a sample", r.name,
		float64(r.data)/1e6, float64(r.index)/1e6, r.bytes()/float64(f.samples))
	f.rows = append(f.rows, r)
	return nil
}

// addTo is the RESULT line. Ratios that lack a side are left out.
func (f *findings) addTo(r *bench.Result) {
	if f.find("v2 big") == nil {
		r.Name = "store-peers"
	}
	n := float64(f.samples)
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
		r.Add("bytes_per_sample", v3.bytes()/n)
	}
	r.Add("nodes", f.nodes)
	r.Add("hours", f.hours)
	r.Add("series_per_node", (f.idle.Series*((f.nodes+1)/2)+f.busy.Series*(f.nodes/2))/f.nodes)
	r.Add("samples", f.samples)
	tables := map[string]map[string]float64{}
	for _, side := range f.rows {
		key := strings.ReplaceAll(side.name, " ", "_")
		r.Add(key+"_bytes_per_sample", side.bytes()/n)
		r.Add(key+"_index_share", float64(side.index)/side.bytes())
		r.Add(key+"_engine_cpu_us_per_sample", float64(side.engineCPU.Microseconds())/n)
		r.Add(key+"_own_cpu_us_per_sample", float64(side.ownCPU.Microseconds())/n)
		if side.fresh > 0 {
			r.Add(key+"_fresh_bytes_per_sample", float64(side.fresh)/n)
			r.Add(key+"_short_bytes_per_sample", float64(side.short)/n)
			r.Add(key+"_rollup_bytes_per_sample", float64(side.rollups)/n)
		}
		tables[side.name] = map[string]float64{}
		for name, size := range side.tables {
			tables[side.name][name] = float64(size.data+size.index) / n
		}
	}
	r.Detail = map[string]any{"bytes_per_sample_by_table": tables}
	r.Notes = fmt.Sprintf(
		"%d nodes × %g h at 20 s with %d tables each, half of them idle, made from the "+
			"recordings (bench/fleet says how); nothing is extrapolated. A sample is a series at "+
			"a tick, a histogram is one. Flushed and compacted, with index; fresh, which lives an "+
			"hour, rows of windows and rollups are apart. CPU of writing until compacted: the "+
			"engine's and this process's, rollups included. %s",
		f.nodes, f.hours, f.tables, strings.Join(f.versions, ", "))
}

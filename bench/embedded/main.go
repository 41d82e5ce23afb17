// Command embedded measures Ringwatch as one process in one directory beside a Prometheus that
// scrapes the same nodes.
//
//	bench/fleet ── simulated nodes ─┬─ POST /v1/frames ─► ringwatch all --data DIR ─┐
//	                                └─ /metrics ◄─ scrape ─ Prometheus ─────────────┴─ HTTP ─ reader
//
// One run has these parts, each of which -parts may leave out:
//
//   - load: the fleet sends and is scraped, both sides evaluate the shipped rules and are asked the
//     same, half a second apart: panels of the shipped dashboards, newest values, lists. CPU and
//     memory are those of the two processes, from /proc. Freshness is from just before a node sends
//     a frame until the API answers with that frame's value.
//   - disk: what both sides keep of those minutes, when all that merges is merged.
//   - start: the process is killed with -9 under load, and is asked for the newest value from the
//     moment it is started again. bench/rows does that to the rows of 14 days.
//   - largest: a directory of its own and no Prometheus; nodes are added until a queue or the
//     freshness leaves its bound.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/bench"
)

type options struct {
	nodes, tables, most, step, first int
	minutes, warm, stepMinutes       float64
	memory                           int64
	seed                             uint64
	parts                            []string
	binary, recordings, dashboards   string
}

var allParts = []string{"load", "disk", "start", "largest"}

func main() {
	var o options
	bench.Nodes(&o.nodes, 300)
	bench.Tables(&o.tables, 9)
	flag.Float64Var(&o.minutes, "minutes", 30, "minutes that both sides are measured")
	flag.Float64Var(&o.warm, "warm", 6, "minutes before, so that a window has been closed")
	flag.IntVar(&o.first, "first", 0,
		"nodes that the search for the largest fleet begins with; 0: four times -nodes")
	flag.IntVar(&o.step, "step", 0, "how many nodes each of its steps adds; 0: as many as -nodes")
	flag.Float64Var(&o.stepMinutes, "step-minutes", 6,
		"minutes of each of its steps: windows are closed every 5")
	flag.IntVar(&o.most, "most", 6000, "nodes that the search ends at")
	flag.Int64Var(&o.memory, "memory", 0, "memory.limit_bytes of our process; 0: as it finds it")
	bench.Seed(&o.seed)
	bench.List(&o.parts, "parts", strings.Join(allParts, ","),
		"what to measure; disk and start need load")
	bench.Binary(&o.binary)
	bench.Recordings(&o.recordings)
	bench.Dashboards(&o.dashboards)
	bench.Work()
	bench.Main("bench-embedded", func(ctx context.Context, r *bench.Result) error {
		return measure(ctx, o, r)
	}, o.check)
}

func (o *options) check() error {
	if o.first == 0 {
		o.first = 4 * o.nodes
	}
	if o.step == 0 {
		o.step = o.nodes
	}
	for _, part := range o.parts {
		if !slices.Contains(allParts, part) {
			return fmt.Errorf("-parts: %q is none of %s", part, strings.Join(allParts, ", "))
		}
	}
	switch {
	case o.nodes < 2 || o.tables < 1 || o.minutes < 1 || o.warm < 0:
		return errors.New("-nodes must be at least 2, -tables and -minutes at least 1")
	case !o.does("load") && (o.does("disk") || o.does("start")):
		return errors.New("-parts: disk and start need load")
	}
	return nil
}

func (o *options) does(part string) bool { return slices.Contains(o.parts, part) }

func measure(ctx context.Context, o options, result *bench.Result) error {
	r := &report{options: o}
	err := r.run(ctx, result.Dir)
	if err == nil || r.Ours.Cores > 0 { // what was measured before is worth something
		err = errors.Join(err, r.keep(result))
	}
	return err
}

// run measures the parts.
func (r *report) run(ctx context.Context, dir string) error {
	if r.does("load") {
		if err := r.load(ctx, filepath.Join(dir, "load")); err != nil {
			return err
		}
	}
	if r.does("largest") {
		return r.largest(ctx, filepath.Join(dir, "largest"))
	}
	return nil
}

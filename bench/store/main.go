// Command store measures what the store's generations and two peers need for one and the same
// fleet: disk, CPU of writing, and what reads take.
//
// A fleet is made from the recordings (bench/fleet says how nodes differ), written whole into each
// side one after another, flushed and compacted. v1, v2 and v3 live in one real Cassandra as
// keyspaces of their own, first with big SSTables, then all rewritten as bti. Then all sides are
// read by turns: time, CPU of this process and of the engine, and rows, which the store counts at
// its driver. 200 nodes of 2,000 series for 6 hours are 430 million samples, which as rows take
// hours to write: the flags say how much is measured, and the RESULT line repeats it. Nothing is
// extrapolated. A run without v1 and v2, which take most of the time, can be larger. It is kept
// beside the other, as store-peers, or without peers, too, as store-reads.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

type options struct {
	nodes, distinct, tables, rounds int
	hours                           float64
	seed                            uint64
	sides, formats                  []string
	metric, throughput              string
	recordings                      string
}

func main() {
	o := options{}
	flag.IntVar(&o.nodes, "nodes", 4, "nodes of the fleet, every second one idle")
	flag.IntVar(&o.distinct, "distinct", 0,
		"nodes that really differ, the others say the same as one of them; 0: all. Sizes of "+
			"copies are no nodes' sizes at VictoriaMetrics and Prometheus")
	flag.Float64Var(&o.hours, "hours", 2, "hours of data")
	bench.Tables(&o.tables, 10)
	flag.IntVar(&o.rounds, "rounds", 9, "how often each read is timed, on other nodes each time")
	bench.Seed(&o.seed)
	bench.List(&o.sides, "sides", "v1,v2,v3,prometheus,prometheus-native,victoriametrics",
		"what is measured")
	bench.List(&o.formats, "formats", "big,bti", "of SSTables, big first")
	flag.StringVar(&o.metric, "metric", "cassandra_table_read_latency_seconds",
		"the one metric of 10 nodes that is read over 6 hours")
	flag.StringVar(&o.throughput, "throughput", "cassandra_client_request_latency_seconds",
		"the histogram whose counts are read, of 10 nodes over 6 hours and of 30 over a day")
	bench.Recordings(&o.recordings)
	bench.Main("bench-store", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	}, o.check)
}

func (o *options) check() error {
	if o.distinct == 0 {
		o.distinct = o.nodes
	}
	switch {
	case o.nodes < 1 || o.distinct < 1 || o.tables < 1 || o.rounds < 1:
		return fmt.Errorf("-nodes, -tables and -rounds must be at least 1, -distinct not " +
			"less than 0")
	case o.hours*hourMillis < frame.WindowMillis || o.hours > 24*7:
		return fmt.Errorf("-hours must be a window, 0.1, to a week, 168")
	case o.formats[0] != "big" || len(o.formats) > 2 ||
		len(o.formats) == 2 && o.formats[1] != "bti":
		return fmt.Errorf("-formats must be big or big,bti")
	}
	return nil
}

func run(ctx context.Context, o options, r *bench.Result) error {
	idle, busy, err := fleet.ReadBoth(o.recordings, o.tables, tickMillis)
	if err != nil {
		return err
	}
	d, err := makeData(idle, busy, o)
	if err != nil {
		return err
	}
	bench.Progress("fleet: %d nodes × %g h at 20 s, %d series, %d samples, %.1f MB of frames",
		o.nodes, o.hours, d.series, d.samples, float64(d.bytes)/1e6)
	found := &findings{options: o, data: d}
	if err := found.measure(ctx, r.Dir); err != nil {
		return err
	}
	found.table(os.Stdout)
	found.addTo(r)
	return nil
}

// load writes the fleet into a side, window by window through all nodes as a fleet does, and
// settles it. CPU is the engine's and ours.
func (f *findings) load(ctx context.Context, s side, row *row) error {
	d := f.data
	engine, err := node.UsageOf(s.pid(), "")
	if err != nil {
		return err
	}
	pid := s.pid()
	told, done := time.Now(), int64(0)
	start := time.Now()
	_, needs := s.(*peer) // the store makes windows of frames itself
	for at := d.start; at < d.end; at += frame.WindowMillis {
		var windows []*window.Window
		if needs {
			if windows, err = d.windows(at); err != nil {
				return err
			}
		}
		before := bench.CPU()
		if err := s.write(ctx, d, at, windows); err != nil {
			return fmt.Errorf("%s: write: %w", s.name(), err)
		}
		row.ownCPU += bench.CPU() - before
		done += d.samplesOf(at)
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			bench.Progress("%s: wrote %d of %d samples", s.name(), done, d.samples)
		}
	}
	row.writeSeconds = time.Since(start).Seconds()
	bench.Progress("%s: wrote %d samples in %.1f s, flushing and compacting", s.name(), done,
		row.writeSeconds)
	written, err := node.UsageOf(pid, "")
	if err != nil {
		return err
	}
	row.engineCPU = written.CPU - engine.CPU
	if err := s.settle(ctx, d); err != nil {
		return fmt.Errorf("%s: settle: %w", s.name(), err)
	}
	if s.pid() != pid { // it was started anew
		written = node.Usage{}
	}
	after, err := node.UsageOf(s.pid(), "")
	if err != nil {
		return err
	}
	row.engineCPU += after.CPU - written.CPU
	return nil
}

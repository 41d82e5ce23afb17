// Command store measures what the store's generations and two peers need for one and the same
// fleet: disk, and CPU of writing. What reads take bench/query measures, as people ask.
//
// A fleet is made from the recordings (bench/fleet says how nodes differ), written whole into each
// side one after another, flushed and compacted. v1, v2 and v3 live in one real Cassandra as
// keyspaces of their own. 200 nodes of 2,000 series for 6 hours are 430 million samples, which as
// rows take hours to write: the flags say how much is measured, and the RESULT line repeats it.
// Nothing is extrapolated. A run without v1 and v2, which take most of the time, can be larger. It
// is kept beside the other, as store-peers.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/frame"
)

type options struct {
	nodes, tables int
	hours         float64
	seed          uint64
	sides         []string
	recordings    string
}

const (
	account    = "bench"
	tickMillis = 20_000 // between a node's frames
	hourMillis = 3600_000
)

func main() {
	o := options{}
	flag.IntVar(&o.nodes, "nodes", 4, "nodes of the fleet, every second one idle")
	flag.Float64Var(&o.hours, "hours", 2, "hours of data")
	bench.Tables(&o.tables, 10)
	bench.Seed(&o.seed)
	bench.List(&o.sides, "sides", "v1,v2,v3,prometheus,victoriametrics", "what is measured")
	bench.Recordings(&o.recordings)
	bench.Main("bench-store", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	}, o.check)
}

func (o *options) check() error {
	switch {
	case o.nodes < 1 || o.tables < 1:
		return fmt.Errorf("-nodes and -tables must be at least 1")
	case o.hours*hourMillis < frame.WindowMillis || o.hours > 24*7:
		return fmt.Errorf("-hours must be a window, 0.1, to a week, 168")
	}
	return nil
}

func run(ctx context.Context, o options, r *bench.Result) error {
	f := &findings{options: o}
	var err error
	if f.idle, f.busy, err = fleet.ReadBoth(o.recordings, o.tables, tickMillis); err != nil {
		return err
	}
	// Prometheus makes blocks of the past only when something newer arrives, and 6 hours aligned
	// are one block there and one partition here.
	const six = 6 * hourMillis
	length := int64(o.hours*hourMillis) / frame.WindowMillis * frame.WindowMillis
	f.start = (time.Now().UnixMilli() - length - 2*six) / six * six
	f.end = f.start + length
	if err := f.measure(ctx, r.Dir); err != nil {
		return err
	}
	f.addTo(r)
	return nil
}

// load writes the fleet into a side, window by window through all nodes as a fleet does, and
// settles it. CPU is the engine's and ours.
func (f *findings) load(ctx context.Context, s side, row *row) error {
	pid := s.pid()
	engine, err := node.CPU(pid)
	if err != nil {
		return err
	}
	f.samples = 0
	told := time.Now()
	p := fleet.NewPlayer(account, f.idle, f.busy, f.seed, f.nodes, f.start, nil)
	for p.At < f.end {
		b, err := p.Batch(p.At + frame.WindowMillis)
		if err != nil {
			return err
		}
		before := bench.CPU()
		if err := s.write(ctx, b, p.At == f.end); err != nil {
			return fmt.Errorf("%s: write: %w", row.name, err)
		}
		row.ownCPU += bench.CPU() - before
		f.samples += b.Samples()
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			bench.Progress("%s: wrote %d samples, %.0f %%", row.name, f.samples,
				100*float64(p.At-f.start)/float64(f.end-f.start))
		}
	}
	written, err := node.CPU(pid)
	if err != nil {
		return err
	}
	bench.Progress("%s: wrote %d samples, flushing and compacting", row.name, f.samples)
	own := bench.CPU() // merging a Prometheus's log is its work, though it is done here
	if err := s.settle(ctx); err != nil {
		return fmt.Errorf("%s: settle: %w", row.name, err)
	}
	row.engineCPU = written - engine + bench.CPU() - own
	if s.pid() != pid { // it was started anew
		written = 0
	}
	after, err := node.CPU(s.pid())
	if err != nil {
		return err
	}
	row.engineCPU += after - written
	return s.disk(ctx, row)
}

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
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

type options struct {
	nodes, distinct, tables, rounds    int
	hours                              float64
	seed                               uint64
	sides, formats, metric, throughput string
	recordings, results                string
}

func main() {
	o := options{}
	flag.IntVar(&o.nodes, "nodes", 4, "nodes of the fleet, every second one idle")
	flag.IntVar(&o.distinct, "distinct", 0,
		"nodes that really differ, the others say the same as one of them; 0: all. Sizes of "+
			"copies are no nodes' sizes at VictoriaMetrics and Prometheus")
	flag.Float64Var(&o.hours, "hours", 2, "hours of data")
	flag.IntVar(&o.tables, "tables", 10,
		"tables of a node, of the recordings' 71 and 148; each has 100 series, the rest of "+
			"a node 1,100")
	flag.IntVar(&o.rounds, "rounds", 9, "how often each read is timed, on other nodes each time")
	flag.Uint64Var(&o.seed, "seed", 1, "of the fleet's noise")
	flag.StringVar(&o.sides, "sides", "v1,v2,v3,prometheus,prometheus-native,victoriametrics",
		"what is measured")
	flag.StringVar(&o.formats, "formats", "big,bti", "of SSTables, big first")
	flag.StringVar(&o.metric, "metric", "cassandra_table_read_latency_seconds",
		"the one metric of 10 nodes that is read over 6 hours")
	flag.StringVar(&o.throughput, "throughput", "cassandra_client_request_latency_seconds",
		"the histogram whose counts are read, of 10 nodes over 6 hours and of 30 over a day")
	flag.StringVar(&o.recordings, "recordings", "bench/recordings",
		"folder with idle.rwf and busy.rwf")
	flag.StringVar(&o.results, "results", "bench/results",
		"folder for the result; empty: none is kept")
	flag.Parse()
	if err := o.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "store:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatalln("store:", err)
	}
}

func (o *options) check(args []string) error {
	if o.distinct == 0 {
		o.distinct = o.nodes
	}
	switch {
	case len(args) > 0:
		return fmt.Errorf("%q is no flag: store takes flags only, see --help", args[0])
	case o.nodes < 1 || o.distinct < 1 || o.tables < 1 || o.rounds < 1:
		return fmt.Errorf("-nodes, -tables and -rounds must be at least 1, -distinct not " +
			"less than 0")
	case o.hours*hourMillis < frame.WindowMillis || o.hours > 24*7:
		return fmt.Errorf("-hours must be a window, 0.1, to a week, 168")
	case o.formats != "big" && o.formats != "big,bti":
		return fmt.Errorf("-formats must be big or big,bti")
	}
	return nil
}

var began = time.Now()

func progress(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

func run(ctx context.Context, o options) error {
	idle, err := fleet.Read(o.recordings+"/idle.rwf", "idle", o.tables, tickMillis)
	if err != nil {
		return err
	}
	busy, err := fleet.Read(o.recordings+"/busy.rwf", "busy", o.tables, tickMillis)
	if err != nil {
		return err
	}
	d, err := makeData(idle, busy, o, progress)
	if err != nil {
		return err
	}
	progress("fleet: %d nodes × %g h at 20 s, %d series, %d samples, %.1f MB of frames", o.nodes,
		o.hours, d.series, d.samples, float64(d.bytes)/1e6)
	dir, err := os.MkdirTemp("", "ringwatch-store-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	found := &findings{options: o, data: d}
	if err := found.measure(ctx, dir); err != nil {
		return err
	}
	found.table(os.Stdout)
	if o.results == "" {
		return nil
	}
	r := found.result()
	r.Command = "make bench-store ARGS='" + strings.Join(os.Args[1:], " ") + "'"
	return r.Keep(os.Stdout, o.results)
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
		before := ownCPU()
		if err := s.write(ctx, d, at, windows); err != nil {
			return fmt.Errorf("%s: write: %w", s.name(), err)
		}
		row.ownCPU += ownCPU() - before
		done += d.samplesOf(at)
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			progress("%s: wrote %d of %d samples", s.name(), done, d.samples)
		}
	}
	row.writeSeconds = time.Since(start).Seconds()
	progress("%s: wrote %d samples in %.1f s, flushing and compacting", s.name(), done,
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

// ownCPU is what this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

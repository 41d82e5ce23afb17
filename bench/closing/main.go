// Command closing measures what it costs to close the windows of a whole fleet, which all end at
// once, and then to make the hours of them.
//
// A fleet of quiet nodes, copies of some that play the recording of an idle one, lives through an
// hour on one real Cassandra, with a clock of its own:
//
//  1. A few nodes close the first ten windows of the hour, and all close the tenth, so that
//     dictionaries are there and both processes are warm.
//  2. All nodes write the eleventh window. It stays open.
//  3. Frames of the twelfth come evenly, and nothing else happens: what a frame costs alone.
//  4. They go on coming while the eleventh window of all nodes is closed: what is measured. What
//     its frames cost by (3) is taken off.
//  5. The few close the twelfth, too, and their hours are made: hour_cores, in proportion to 10,000
//     nodes.
//
// CPU is that of Cassandra and of this process, from /proc/PID/stat. Spans end when memtables are
// flushed and compactions have ended, so that what is put off counts, too. Rows are those that the
// store's own metric ringwatch_store_rows_written_total counts at the driver, by table.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/dev/engines"
)

type options struct {
	nodes, tables, originals, hours int
	alone, limit                    time.Duration
	heap, recordings                string
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 10_000,
		"nodes of the fleet, a frame each every 20 s; -nodes 500 takes 2 to 3 minutes")
	flag.IntVar(&o.tables, "tables", 10,
		"tables of a node; what the recording lacks is repeated under other names")
	flag.IntVar(&o.originals, "originals", 40,
		"nodes that really differ; the others are their copies")
	flag.IntVar(&o.hours, "hours", 0, "nodes whose hours are made; 0: a twentieth, 20 to 200")
	flag.DurationVar(&o.alone, "alone", 40*time.Second,
		"how long frames are written alone, to know what they cost; up to 1m")
	flag.DurationVar(&o.limit, "limit", 3*time.Minute,
		"how long windows are closed at most; figures are for those that were")
	bench.Heap(&o.heap, "2G")
	bench.Recordings(&o.recordings)
	bench.Main("bench-closing", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	}, o.check)
}

func (o *options) check() error {
	if o.hours == 0 {
		o.hours = min(o.nodes, max(20, min(200, o.nodes/20)))
	}
	switch {
	case o.nodes < 10 || o.originals < 1 || o.tables < 1:
		return fmt.Errorf("-nodes must be at least 10, -originals and -tables at least 1")
	case o.hours < 1 || o.hours > o.nodes:
		return fmt.Errorf("-hours must be 1 to -nodes, %d", o.nodes)
	case o.alone < time.Second || o.alone > time.Minute:
		return fmt.Errorf("-alone must be 1s to 1m: the window it lies in must leave time to " +
			"close the one before")
	}
	return nil
}

func run(ctx context.Context, o options, r *bench.Result) error {
	shape, err := fleet.Read(o.recordings+"/idle.rwf", "idle", o.tables, interval.Milliseconds())
	if err != nil {
		return err
	}
	cassandra, err := engines.StartCassandra(ctx, engines.CassandraConfig{Dir: r.Dir, Heap: o.heap,
		Progress: bench.Say})
	if err != nil {
		return err
	}
	defer cassandra.Stop(context.WithoutCancel(ctx))
	f, err := newTestbed(ctx, o, shape, cassandra)
	if err != nil {
		return err
	}
	defer f.store.Close()
	found, err := f.live(ctx)
	if err != nil {
		return err
	}
	found.addTo(r, shape)
	return nil
}

func (f *findings) addTo(r *bench.Result, shape *fleet.Shape) {
	r.Detail = map[string]any{"rows_per_window": f.closing.rowsPer(f.closed, f.alone),
		"rows_per_hour": f.making.rowsPer(float64(f.hours), nil)}
	r.Notes = "Quiet nodes, each the copy of one of -originals that play the recording of an " +
		"idle node. The windows of all are closed at once, while frames of the next one come " +
		"evenly, on one Cassandra and this process on one machine. cpu_ms_per_window is both " +
		"processes' CPU, memtables flushed and compactions ended, less what as many frames cost " +
		"when they came alone, frame_cpu_ms each, and what settling costs when there is nothing " +
		"to settle. rows_per_window are those written beside frames. hour_cores is what making a " +
		"node's hour takes, by 10,000 nodes and hour. wait is from when a frame is due to when " +
		"it is in Cassandra."
	c := f.closing
	cpu := f.perWindow(c.cassandra+c.own, f.alone.cassandra+f.alone.own)
	r.Add("windows_per_s", f.closed/f.seconds)
	r.Add("cpu_ms_per_window", cpu)
	r.Add("rows_per_window", sum(c.rowsPer(f.closed, f.alone)))
	r.Add("hour_cores", (f.making.cassandra+f.making.own).Seconds()/float64(f.hours)*10_000/3600)
	r.Add("cassandra_cpu_ms_per_window", f.perWindow(c.cassandra, f.alone.cassandra))
	r.Add("own_cpu_ms_per_window", f.perWindow(c.own, f.alone.own))
	r.Add("frame_cpu_ms", bench.Millis(f.alone.cassandra+f.alone.own)/float64(f.alone.frames))
	r.Add("hour_cassandra_cpu_ms", bench.Millis(f.making.cassandra)/float64(f.hours))
	r.Add("hour_own_cpu_ms", bench.Millis(f.making.own)/float64(f.hours))
	r.Add("rows_per_hour", sum(f.making.rowsPer(float64(f.hours), nil)))
	r.Add("wait_p50_ms", bench.Median(f.waits))
	r.Add("wait_p99_ms", bench.Quantile(f.waits, 0.99))
	r.Add("wait_max_ms", bench.Quantile(f.waits, 1))
	r.Add("closed", f.closed)
	r.Add("closing_s", f.seconds)
	r.Add("frames_beside_per_s", float64(c.frames)/f.seconds)
	r.Add("nodes", f.nodes)
	r.Add("series_per_node", shape.Series)
	r.Add("hour_nodes", f.hours)
}

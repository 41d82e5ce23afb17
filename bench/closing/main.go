// Command closing measures how long frames wait to be written when the windows of a whole fleet end at once, which they do: closed in the stream's own
// goroutine (store.Writer.Tick, as it was), and beside it (store.Writer.Run).
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/store"
)

const (
	interval      = 20 * time.Second
	handleTimeout = 30 * time.Second // stream.ConsumerConfig's
	maxRecords    = 1000             // the same
	tickEvery     = time.Second      // the same
)

func main() {
	nodes := flag.Int("nodes", 10_000, "nodes of a table each, a frame every 20 s")
	frames := flag.Int("frames", 5, "frames that a node has in the window that ends; 15 in life")
	results := flag.String("results", "bench/results", "folder for the result")
	flag.Parse()
	r := bench.Result{Name: "closing", Command: "make bench-closing",
		Notes: "Frames of 10,000 nodes come evenly while the windows before are closed, on one Cassandra and this process on one machine. wait is from when a frame is due to when it is in " +
			"Cassandra, for the frames that come until all windows are closed."}
	if err := measure(&r, *nodes, *frames); err != nil {
		log.Fatalln("closing:", err)
	}
	if err := r.Keep(os.Stdout, *results); err != nil {
		log.Fatalln("closing:", err)
	}
}

func measure(r *bench.Result, nodes, frames int) error {
	dir, err := os.MkdirTemp("", "ringwatch-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	cassandra, err := engines.StartCassandra(ctx, engines.CassandraConfig{Dir: dir, Heap: "2G"})
	if err != nil {
		return err
	}
	defer cassandra.Stop(context.WithoutCancel(ctx))
	r.Add("nodes", nodes)
	var worst [2]float64
	for i, side := range []string{"tick", "beside"} {
		f := fleet{nodes: nodes, frames: frames}
		if err := f.run(ctx, cassandra.Addr(), side); err != nil {
			return err
		}
		slices.Sort(f.waits)
		worst[i] = f.at(1)
		r.Add(side+"_closing_s", f.closing.Seconds())
		r.Add(side+"_wait_p50_ms", f.at(0.5))
		r.Add(side+"_wait_p99_ms", f.at(0.99))
		r.Add(side+"_wait_max_ms", f.at(1))
		fmt.Printf("%s: %d windows closed in %.1f s; %d frames waited %.0f ms at p50, %.0f at p99, %.0f at most\n", side, nodes, f.closing.Seconds(), len(f.waits), f.at(0.5), f.at(0.99), f.at(1))
	}
	r.Add("tick_over_beside_max", worst[0]/worst[1])
	return nil
}

// fleet is what one side has to do.
type fleet struct {
	nodes, frames int

	store   *store.Store
	writer  *store.Writer
	made    []*frametest.Node
	skew    time.Duration // of the store's clock
	offset  int64
	waits   []float64 // ms
	closing time.Duration
}

func (f *fleet) at(p float64) float64 { return f.waits[int(p*float64(len(f.waits)-1))] }

func (f *fleet) now() time.Time { return time.Now().Add(f.skew) }

func (f *fleet) run(ctx context.Context, addr, side string) error {
	config := store.DefaultConfig()
	config.Hosts, config.Keyspace, config.Now, config.Timeout = []string{addr}, "bench_"+side, f.now, 30*time.Second
	config.Log = slog.New(slog.DiscardHandler)
	var err error
	if f.store, err = store.New(config, store.NewMetrics(nil)); err != nil {
		return err
	}
	if err := f.store.Connect(ctx); err != nil {
		return err
	}
	defer f.store.Close()
	if err := f.store.Apply(ctx); err != nil {
		return err
	}
	f.writer = store.NewWriter(f.store)
	for i := range f.nodes {
		f.made = append(f.made, frametest.New(fmt.Sprint("cluster-", i%100), uint64(i+1), 1))
	}
	start := frame.WindowOf(time.Now().UnixMilli())
	f.skew = time.UnixMilli(start).Sub(time.Now())
	for i := range f.frames {
		for from := 0; from < f.nodes; from += maxRecords {
			var records []store.Record
			for n := from; n < min(from+maxRecords, f.nodes); n++ {
				records = append(records, f.record(n, start+int64(i)*interval.Milliseconds()))
			}
			if err := f.writer.Handle(ctx, records); err != nil {
				return err
			}
		}
	}
	return f.consume(ctx, start+frame.WindowMillis, side == "beside")
}

func (f *fleet) record(n int, at int64) store.Record {
	f.made[n].Step()
	f.offset++
	return store.Record{Account: "bench", Offset: f.offset, Value: f.made[n].Frame(at)}
}

// consume is the stream's loop, from a moment before the last window's grace is over until that is closed.
func (f *fleet) consume(ctx context.Context, window int64, beside bool) error {
	f.skew = time.UnixMilli(window).Add(store.DefaultConfig().Grace - time.Second).Sub(time.Now())
	last := f.offset
	if beside {
		closing, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- f.writer.Run(closing) }()
		defer func() { cancel(); <-ended }()
	}
	began, sent := time.Now(), 0
	nextTick := began.Add(tickEvery)
	pace := interval / time.Duration(f.nodes)
	for {
		var records []store.Record
		var due []time.Time
		for at := began.Add(time.Duration(sent) * pace); len(records) < maxRecords && time.Now().After(at); at = at.Add(pace) {
			records = append(records, f.record(sent%f.nodes, window+int64(sent/f.nodes)*interval.Milliseconds()))
			due = append(due, at)
			sent++
		}
		handle, cancel := context.WithTimeout(ctx, handleTimeout)
		err := f.writer.Handle(handle, records)
		cancel()
		if err != nil {
			return err
		}
		for _, at := range due {
			f.waits = append(f.waits, float64(time.Since(at).Microseconds())/1e3)
		}
		if !beside && time.Now().After(nextTick) {
			tick, cancel := context.WithTimeout(ctx, handleTimeout)
			err := f.writer.Tick(tick, f.now())
			late := tick.Err() != nil
			cancel()
			if err != nil && !late {
				return err
			}
			nextTick = time.Now().Add(tickEvery)
		}
		if low, open := f.writer.LowWater(0); open && low > last && time.Since(began) > 2*time.Second {
			f.closing = time.Since(began) - time.Second
			return nil
		}
		time.Sleep(10 * time.Millisecond) // a poll
	}
}

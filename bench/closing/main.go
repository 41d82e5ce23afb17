// Command closing measures how long frames wait to be written when the windows of a whole fleet end at once, which they do: closed in the stream's own
// goroutine (store.Writer.Tick, as it was), and beside it (store.Writer.Run). It closes two windows of every node, one after the other, and counts the
// dictionaries that each took: the second should write none.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	types := flag.Int("types", 37, "entity types of a node, each with a dictionary")
	frames := flag.Int("frames", 5, "frames that a node has in the window that ends; 15 in life")
	sides := flag.String("sides", "tick,beside", "what to measure")
	results := flag.String("results", "bench/results", "folder for the result")
	flag.Parse()
	r := bench.Result{Name: "closing", Command: "make bench-closing",
		Notes: "Frames of 10,000 nodes come evenly while the windows before are closed, on one Cassandra and this process on one machine. wait is from when a frame is due to when it is in " +
			"Cassandra, for the frames that come until all windows are closed. dictionaries counts those written for the window, of series and of the 5-minute rollups."}
	if err := measure(&r, fleet{nodes: *nodes, types: *types, frames: *frames}, strings.Split(*sides, ",")); err != nil {
		log.Fatalln("closing:", err)
	}
	if err := r.Keep(os.Stdout, *results); err != nil {
		log.Fatalln("closing:", err)
	}
}

func measure(r *bench.Result, size fleet, sides []string) error {
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
	r.Add("nodes", size.nodes)
	r.Add("types", size.types)
	worst := map[string]float64{}
	for _, side := range sides {
		f := size
		f.side = side
		err := f.run(ctx, cassandra.Addr(), func(number int, closing time.Duration, dictionaries float64) {
			slices.Sort(f.waits)
			worst[side] = max(worst[side], f.at(1))
			name := fmt.Sprintf("%s%d", side, number)
			r.Add(name+"_closing_s", closing.Seconds())
			r.Add(name+"_windows_per_s", float64(f.nodes)/closing.Seconds())
			r.Add(name+"_dictionaries", dictionaries)
			r.Add(name+"_wait_p50_ms", f.at(0.5))
			r.Add(name+"_wait_p99_ms", f.at(0.99))
			r.Add(name+"_wait_max_ms", f.at(1))
			fmt.Printf("%s, window %d: %d windows closed in %.1f s, %.0f a second; %.0f dictionaries written; %d frames waited %.0f ms at p50, %.0f at p99, %.0f at most\n",
				side, number, f.nodes, closing.Seconds(), float64(f.nodes)/closing.Seconds(), dictionaries, len(f.waits), f.at(0.5), f.at(0.99), f.at(1))
		})
		if err != nil {
			return err
		}
	}
	if worst["tick"] > 0 && worst["beside"] > 0 {
		r.Add("tick_over_beside_max", worst["tick"]/worst["beside"])
	}
	return nil
}

// fleet is what one side has to do.
type fleet struct {
	nodes, types, frames int
	side                 string

	store   *store.Store
	metrics *prometheus.Registry
	writer  *store.Writer
	made    []*frametest.Node
	skew    time.Duration // of the store's clock
	offset  int64
	waits   []float64 // ms
}

func (f *fleet) at(p float64) float64 { return f.waits[int(p*float64(len(f.waits)-1))] }

func (f *fleet) now() time.Time { return time.Now().Add(f.skew) }

// run closes two windows of all nodes and tells of each.
func (f *fleet) run(ctx context.Context, addr string, tell func(number int, closing time.Duration, dictionaries float64)) error {
	config := store.DefaultConfig()
	config.Hosts, config.Keyspace, config.Now, config.Timeout = []string{addr}, "bench_"+f.side, f.now, 30*time.Second
	config.Log = slog.New(slog.DiscardHandler)
	f.metrics = prometheus.NewRegistry()
	var err error
	if f.store, err = store.New(config, store.NewMetrics(f.metrics)); err != nil {
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
		f.made = append(f.made, f.node(i))
	}
	start := frame.WindowOf(time.Now().UnixMilli())
	for number := 1; number <= 2; number++ {
		f.skew = time.Until(time.UnixMilli(start + 200_000))
		for i := range f.frames { // after those that came while the window before was closed
			if err := f.fill(ctx, start+200_000+int64(i)*interval.Milliseconds()); err != nil {
				return err
			}
		}
		start += frame.WindowMillis
		before := f.dictionaries()
		f.waits = nil
		closing, err := f.consume(ctx, start)
		if err != nil {
			return err
		}
		tell(number, closing, f.dictionaries()-before)
	}
	return nil
}

// node has its tables and, beside frametest's types, as many as a real one.
func (f *fleet) node(i int) *frametest.Node {
	n := frametest.New(fmt.Sprint("cluster-", i%100), uint64(i+1), 1)
	for len(n.Templates) < f.types {
		name := fmt.Sprint("type_", len(n.Templates))
		n.Templates = append(n.Templates, frame.Template{Type: name, Labels: []string{"name"}, Metrics: []frame.Metric{{Name: name + "_size", Kind: frame.Gauge}, {Name: name + "_total", Kind: frame.Counter}}})
		n.Entities = append(n.Entities, []frametest.Entity{{Labels: []string{"one"}, Cells: make([]frametest.Cell, 2)}})
	}
	return n
}

// fill writes a frame of each node.
func (f *fleet) fill(ctx context.Context, at int64) error {
	for from := 0; from < f.nodes; from += maxRecords {
		var records []store.Record
		for n := from; n < min(from+maxRecords, f.nodes); n++ {
			records = append(records, f.record(n, at))
		}
		if err := f.writer.Handle(ctx, records); err != nil {
			return err
		}
	}
	return nil
}

// dictionaries returns how many the store has written.
func (f *fleet) dictionaries() float64 {
	families, err := f.metrics.Gather()
	if err != nil {
		log.Fatalln("closing:", err)
	}
	for _, family := range families {
		if family.GetName() == "ringwatch_store_dictionaries_written_total" {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}

func (f *fleet) record(n int, at int64) store.Record {
	f.made[n].Step()
	f.offset++
	return store.Record{Account: "bench", Offset: f.offset, Value: f.made[n].Frame(at)}
}

// consume is the stream's loop, from a moment before the last window's grace is over until that is closed.
func (f *fleet) consume(ctx context.Context, window int64) (time.Duration, error) {
	beside := f.side == "beside"
	f.skew = time.Until(time.UnixMilli(window).Add(store.DefaultConfig().Grace - time.Second))
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
			return 0, err
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
				return 0, err
			}
			nextTick = time.Now().Add(tickEvery)
		}
		if low, open := f.writer.LowWater(0); open && low > last && time.Since(began) > 2*time.Second {
			return time.Since(began) - time.Second, nil
		}
		time.Sleep(10 * time.Millisecond) // a poll
	}
}

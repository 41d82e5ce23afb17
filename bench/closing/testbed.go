package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window/rollup"
)

const (
	account  = "bench"
	interval = 20 * time.Second

	handleTimeout = 30 * time.Second // stream.ConsumerConfig's
	maxRecords    = 1000             // the same
	writers       = 64               // frames that are written at once
	// windows that are closed at once where nothing is timed, and hours that are made
	closers = 8

	// The windows that the fleet lives through, counted from the last of the hour before, so that
	// the hour is 1 to 12.
	warm, measured, beside = 10, 11, 12
	windows                = 13
)

// testbed is what is measured on.
type testbed struct {
	options
	meter
	copies *fleet.Copies
	store  *store.Store
	writer *store.Writer
	start  int64        // of window 0
	skew   atomic.Int64 // of the store's clock, ns
	offset int64
}

// findings are what was found.
type findings struct {
	*testbed
	alone, closing, making *span
	closed, seconds        float64
	waits                  []float64 // ms
}

func newTestbed(ctx context.Context, o options, shape *fleet.Shape,
	cassandra *engines.Cassandra) (*testbed, error) {
	hour := rollup.Hour.Start(time.Now().UnixMilli())
	f := &testbed{options: o, start: hour - frame.WindowMillis}
	f.meter = meter{cassandra: cassandra, keyspace: "bench_closing",
		metrics: prometheus.NewRegistry()}
	bench.Progress("making frames of %d nodes of %d series", o.originals, shape.Series)
	var err error
	if f.copies, err = fleet.NewCopies(shape, 1, o.originals, f.start, windows); err != nil {
		return nil, err
	}
	config := store.DefaultConfig()
	config.Hosts, config.Keyspace, config.Now = []string{cassandra.Addr()}, f.keyspace, f.now
	config.Timeout = config.Grace / 2 // with more, frames count as late before their window ends
	config.Log = slog.New(slog.NewTextHandler(os.Stderr,
		&slog.HandlerOptions{Level: slog.LevelWarn}))
	if f.store, err = node.OpenStore(ctx, config, store.NewMetrics(f.metrics)); err != nil {
		return nil, err
	}
	f.writer = store.NewWriter(f.store)
	return f, nil
}

func (f *testbed) now() time.Time { return time.Now().Add(time.Duration(f.skew.Load())) }

// set lets the store's clock go on from an instant, ms.
func (f *testbed) set(at int64) { f.skew.Store(int64(time.Until(time.UnixMilli(at)))) }

func (f *testbed) window(number int) int64 { return f.start + int64(number)*frame.WindowMillis }

// later is by how much a node's frames are later than the tick: a fleet's are spread over the
// interval.
func (f *testbed) later(n int) int64 { return int64(n) * interval.Milliseconds() / int64(f.nodes) }

func (f *testbed) frame(n, window, tick int) ([]byte, error) {
	return f.copies.Frame(n, window*f.copies.Ticks+tick, f.later(n))
}

// write writes frames of the first n nodes' window, ticks from … to-1, past the stream.
func (f *testbed) write(ctx context.Context, n, window, from, to int) error {
	f.set(f.window(window) + 1)
	for tick := from; tick < to; tick++ {
		err := bench.AtOnce(ctx, n, writers, func(ctx context.Context, i int) error {
			b, err := f.frame(i, window, tick)
			if err != nil {
				return err
			}
			return f.writer.WriteFrame(ctx, account, b)
		})
		if err != nil {
			return fmt.Errorf("write frames: %w", err)
		}
	}
	return nil
}

// close closes the window of the first n nodes.
func (f *testbed) close(ctx context.Context, n, window int) error {
	f.set(f.window(window+1) + store.DefaultConfig().Grace.Milliseconds() + 1)
	return bench.AtOnce(ctx, n, closers, func(ctx context.Context, i int) error {
		return f.writer.CloseWindow(ctx, memory.Unbounded(), account, fleet.IDOf(f.copies.Seed, i),
			f.window(window))
	})
}

// makeHours makes the hours of the first n nodes, whose windows are all closed.
func (f *testbed) makeHours(ctx context.Context, n int, start int64) error {
	return bench.AtOnce(ctx, n, closers, func(ctx context.Context, i int) error {
		return f.writer.MakeHour(ctx, memory.Unbounded(), account, fleet.IDOf(f.copies.Seed, i),
			start)
	})
}

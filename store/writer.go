package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
)

// Record is a frame with its place in the stream.
type Record struct {
	Account   string
	Partition int32
	Offset    int64
	Value     []byte
	Received  time.Time // by ingest; zero: now
}

// Writer is the store role: it writes the stream's frames and closes windows whose time has come. It starts no goroutine of its own: the consumer calls
// Handle with what it has read, then may commit up to LowWater, and calls Tick every second or so.
type Writer struct {
	store *Store

	mu   sync.Mutex
	open map[windowKey]*openWindow
}

type windowKey struct {
	partition int32
	account   string
	node      uuid.UUID
	start     int64
}

// openWindow is a window with frames that are not in columns yet.
type openWindow struct {
	first   int64     // offset of the earliest record
	last    time.Time // when its last frame came
	frames  int       // how many came, so that one that comes while it is being closed is noticed
	closed  int       // of how many its columns are made
	rolling int       // the coarsest level whose rollup it computes; see rollup_duty.go
	closing bool
}

// closesInFlight is how many windows are closed at once. Each takes a core for its encoding and some ten MB for a large node.
const closesInFlight = 4

// NewWriter returns a Writer with no open window.
func NewWriter(s *Store) *Writer {
	return &Writer{store: s, open: map[windowKey]*openWindow{}}
}

// Handle writes the records' frames and returns when all are in Cassandra or cannot ever be, which is counted. While Cassandra is away or overloaded it
// tries again, so that its caller waits. An error means that some were not written: the same records must come again.
func (w *Writer) Handle(ctx context.Context, records []Record) error {
	m := w.store.metrics
	m.Accepted.Add(float64(len(records)))
	m.Pending.Add(float64(len(records)))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(w.store.config.InFlight)
	for _, r := range records {
		g.Go(func() error {
			defer m.Pending.Dec()
			err := w.handle(gctx, r)
			if err != nil {
				m.Returned.Inc()
			}
			return err
		})
	}
	return g.Wait()
}

func (w *Writer) handle(ctx context.Context, r Record) error {
	m := w.store.metrics
	h, _, err := frame.Parse(r.Value)
	if err != nil {
		m.Dropped.WithLabelValues("corrupt").Inc()
		w.store.log.Warn("store: skipped a record that is no frame", "partition", r.Partition, "offset", r.Offset, "error", err)
		return nil
	}
	if len(r.Value) > MaxFrameBytes {
		m.Dropped.WithLabelValues("too_large").Inc()
		w.store.log.Warn("store: skipped a frame that Cassandra would refuse", "partition", r.Partition, "offset", r.Offset, "bytes", len(r.Value))
		return nil
	}
	if w.store.expired(&h) {
		m.Dropped.WithLabelValues("expired").Inc()
		return nil
	}
	received := r.Received
	if received.IsZero() {
		received = w.store.config.Now()
	}
	w.arrived(&h, r) // before it is written: LowWater must not pass a frame that is on its way
	if err := w.store.retry(ctx, "write frame", func() error { return w.store.writeFrame(ctx, r.Account, &h, r.Value, received) }); err != nil {
		return fmt.Errorf("store: write frame: %w", err)
	}
	w.arrived(&h, r) // and after it: a window that was closed meanwhile is open again
	m.Written.Inc()
	return nil
}

// arrived opens the frame's window or keeps it open.
func (w *Writer) arrived(h *frame.Header, r Record) {
	k := windowKey{r.Partition, r.Account, h.Node, h.Window()}
	now := w.store.config.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.open[k]
	if o == nil {
		o = &openWindow{first: r.Offset}
		w.open[k] = o
		w.store.metrics.OpenWindows.Set(float64(len(w.open)))
	}
	o.first = min(o.first, r.Offset)
	o.last = now
	o.frames++
}

// Tick closes the windows that ended more than the grace ago and got no frame for as long, and computes the rollups that are due then. It returns when that is
// done; errors that Cassandra may recover from are waited out.
func (w *Writer) Tick(ctx context.Context, now time.Time) error { return w.close(ctx, now, false) }

// Drain closes the windows that ended more than the grace ago, though their last frame may have come a moment ago: for who knows that no more come. It returns
// how many windows are open still, because they are not over.
func (w *Writer) Drain(ctx context.Context, now time.Time) (open int, err error) {
	err = w.close(ctx, now, true)
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open), err
}

func (w *Writer) close(ctx context.Context, now time.Time, all bool) error {
	grace := w.store.config.Grace
	type due struct {
		windowKey
		*openWindow
		frames int
	}
	var list []due
	w.mu.Lock()
	for k, o := range w.open {
		end := time.UnixMilli(k.start + frame.WindowMillis)
		if !o.closing && now.Sub(end) >= grace && (all || now.Sub(o.last) >= grace) {
			o.closing = true
			list = append(list, due{k, o, o.frames})
		}
	}
	w.mu.Unlock()
	slices.SortFunc(list, func(a, b due) int { return int(a.first - b.first) }) // oldest first: that moves LowWater
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(closesInFlight)
	for _, d := range list {
		g.Go(func() error {
			var err error
			if d.closed != d.frames {
				err = w.store.retry(gctx, "close window", func() error { return w.store.CloseWindow(gctx, d.account, d.node, d.start) })
			}
			if err == nil {
				d.closed = d.frames // nobody else looks at it while closing is set
				err = w.finish(gctx, d.windowKey, d.openWindow, d.frames, now, all)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			d.closing, d.rolling = false, 0
			if err != nil {
				return fmt.Errorf("store: close window %d of node %s: %w", d.start, d.node, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// LowWater returns the offset of a partition's oldest record whose window is open: who restarts must read from there. None: everything handled is in
// columns.
func (w *Writer) LowWater(partition int32) (offset int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, o := range w.open {
		if k.partition == partition && (!ok || o.first < offset) {
			offset, ok = o.first, true
		}
	}
	return offset, ok
}

// Revoke forgets a partition's open windows: another process has them now, and reads from LowWater.
func (w *Writer) Revoke(partition int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := range w.open {
		if k.partition == partition {
			delete(w.open, k)
		}
	}
	w.store.metrics.OpenWindows.Set(float64(len(w.open)))
}

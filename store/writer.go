package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
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

// Writer is the store role: it writes the stream's frames and closes windows whose time has come. The consumer calls Handle with what it has read, then may
// commit up to LowWater. Windows are closed by Run beside Handle, or by Tick and Drain for who has no Run.
type Writer struct {
	store *Store

	mu   sync.Mutex
	open map[windowKey]*openWindow
	// done are the records of a Handle that failed which are in Cassandra: they come again, and under overload only what is still missing may be tried, or
	// a batch that takes longer than its caller allows would begin anew for ever.
	done map[place]bool

	stuck   hold         // why Handle does not get on
	overdue atomic.Int64 // when the window that Run is at was due, ns since the Unix epoch; 0: it waits for windows
	expired atomic.Bool  // a window's frames may be gone from fresh, see Again
}

type place struct {
	partition int32
	offset    int64
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
	since   time.Time // when the first frame came that is not in columns
	last    time.Time // when its last frame came
	frames  int       // how many came, so that one that comes while it is being closed is noticed
	closed  int       // of how many its columns are made
	rolling int       // the coarsest level whose rollup it computes; see rollup_duty.go
	closing bool

	failed int       // attempts of Run in a row
	err    error     // the last one's
	after  time.Time // the next one is not before
}

// NewWriter returns a Writer with no open window.
func NewWriter(s *Store) *Writer {
	return &Writer{store: s, open: map[windowKey]*openWindow{}, done: map[place]bool{}}
}

// Handle writes the records' frames and returns when all are in Cassandra or cannot ever be, which is counted. While Cassandra is away or overloaded it
// tries again, so that its caller waits; it also waits while Run is a whole window behind with closing. An error means that some were not written: the same
// records must come again, and only those are written then.
func (w *Writer) Handle(ctx context.Context, records []Record) error {
	if err := w.keepUp(ctx); err != nil {
		w.stuck.by(err)
		return err
	}
	m := w.store.metrics
	var g errgroup.Group // one that fails does not end the others
	g.SetLimit(w.store.config.InFlight)
	for _, r := range records {
		if w.isDone(r) {
			continue
		}
		m.Accepted.Inc()
		m.Pending.Inc()
		g.Go(func() error {
			defer m.Pending.Dec()
			err := w.handle(ctx, r)
			if err != nil {
				m.Returned.Inc()
				return err
			}
			w.mu.Lock()
			w.done[place{r.Partition, r.Offset}] = true
			w.mu.Unlock()
			return nil
		})
	}
	err := g.Wait()
	if err == nil {
		w.mu.Lock()
		clear(w.done)
		w.mu.Unlock()
		w.stuck.gone()
	}
	return err
}

func (w *Writer) isDone(r Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[place{r.Partition, r.Offset}]
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
	err = w.store.retry(ctx, "write frame", func() error {
		err := w.store.writeFrame(ctx, r.Account, &h, r.Value, received)
		w.stuck.by(err)
		return err
	})
	if err != nil {
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
	if o.closed == o.frames {
		o.since = now
	}
	o.first = min(o.first, r.Offset)
	o.last = now
	o.frames++
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
	w.stuck.gone() // what waited is another's; if more waits here, the next try says so
	w.expired.Store(false)
	for p := range w.done { // by the time they come again they may have expired
		if p.partition == partition {
			delete(w.done, p)
		}
	}
	w.store.metrics.OpenWindows.Set(float64(len(w.open)))
}

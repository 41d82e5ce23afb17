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
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/stream"
)

// Writer is the store role: it writes the stream's frames and closes windows whose time has come.
// The consumer calls Handle with what it has read, then may commit up to LowWater. Windows are
// closed by Run beside Handle, or by Tick and Drain for who has no Run.
type Writer struct {
	store *Store
	work  rows.Work // what its calls are for

	mu   sync.Mutex
	open map[windowKey]*openWindow
	// done are the records of a failed Handle that are in Cassandra. All its records come again,
	// and only the missing ones may be written then: else, under overload, a batch that takes
	// longer than its caller allows would begin anew for ever.
	done map[recordID]bool
	// expected are the records that Handle was given and that are not in Cassandra yet, with their
	// windows, which are not closed before that.
	expected map[recordID]*openWindow
	// dueSpans are the hours and days that are to be made: see due.go. assigned are the partitions
	// of this Writer, unread those where it has yet to look for what is due. replayed are the hours
	// whose frames were read from the stream a second time.
	dueSpans map[dueSpan]*dueEntry
	assigned map[int32]bool
	unread   map[int32]bool
	replayed map[dueSpan]bool
	loads    bool // what comes is in no stream

	stalled stall // why Handle does not get on
	// when the window that Run is at was due, ns since the Unix epoch; 0: it waits for windows
	overdue atomic.Int64
	expired atomic.Bool // a window's frames may be gone from fresh, see Again
}

// recordID names a record of the stream.
type recordID struct {
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
	first    int64     // offset of the earliest record
	since    time.Time // when the first frame came that is not in columns
	last     time.Time // when its last frame came
	expected int       // how many frames are known that are not written yet
	frames   int       // how many came, so that one that comes while it is being closed is noticed
	closed   int       // of how many its columns are made
	closing  bool

	raw      int64 // bytes of its frames' payloads
	needs    int64 // more memory than this was needed when it was tried last; 0: it was enough
	deferred bool  // it needs more memory than its account may have

	failed int       // attempts of Run in a row
	err    error     // the last one's
	after  time.Time // the next one is not before
}

// NewWriter returns a Writer with no open window.
func NewWriter(s *Store) *Writer {
	w := &Writer{store: s, open: map[windowKey]*openWindow{}, done: map[recordID]bool{},
		expected: map[recordID]*openWindow{},
		dueSpans: map[dueSpan]*dueEntry{}, assigned: map[int32]bool{}, unread: map[int32]bool{},
		replayed: map[dueSpan]bool{}}
	age := w.closingAge
	s.metrics.closingAge.Store(&age)
	hours := w.hourAge
	s.metrics.hourAge.Store(&hours)
	return w
}

// Handle writes the records' frames and returns when all are in Cassandra or cannot ever be, which
// is counted. While Cassandra is away or overloaded it tries again, so that its caller waits; it
// also waits while Run is a whole window behind with closing. An error means that some were not
// written: the same records must come again, and only those are written then.
func (w *Writer) Handle(ctx context.Context, records []stream.Record) error {
	if err := w.keepUp(ctx); err != nil {
		w.stalled.set(err)
		return err
	}
	m := w.store.metrics
	var arrivals []arrival // all are expected before the first is written
	for _, r := range records {
		if w.isDone(r) {
			continue
		}
		m.Accepted.Inc()
		h, reason := w.admit(r)
		if reason != "" {
			m.Dropped.WithLabelValues(reason).Inc()
			w.markWritten(r, nil)
			continue
		}
		m.Pending.Inc()
		w.expect(&h, r)
		arrivals = append(arrivals, arrival{h, r})
	}
	var g errgroup.Group // one that fails does not end the others
	g.SetLimit(w.store.config.InFlight)
	for i := range arrivals {
		g.Go(func() error {
			defer m.Pending.Dec()
			f := &arrivals[i]
			if err := w.write(ctx, f); err != nil {
				m.Returned.Inc()
				return err
			}
			m.Written.Inc()
			w.markWritten(f.Record, &f.header)
			return nil
		})
	}
	err := g.Wait()
	if err == nil {
		w.mu.Lock()
		clear(w.done)
		w.mu.Unlock()
		w.stalled.clear()
	}
	return err
}

func (w *Writer) isDone(r stream.Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[recordID{r.Partition, r.Offset}]
}

// arrival is a frame that is to be written.
type arrival struct {
	header frame.Header
	stream.Record
}

// admit returns a record's header, or why it cannot be stored.
func (w *Writer) admit(r stream.Record) (h frame.Header, reason string) {
	h, _, err := frame.Parse(r.Value)
	switch {
	case err != nil:
		w.store.log.Warn("store: skipped a record that is not a frame", "partition", r.Partition,
			"offset", r.Offset, "error", err)
		return h, "corrupt"
	case len(r.Value) > MaxFrameBytes:
		w.store.log.Warn("store: skipped a frame that is too large for the database",
			"partition", r.Partition, "offset", r.Offset, "bytes", len(r.Value))
		return h, "too_large"
	case w.store.expired(&h):
		return h, "expired"
	}
	return h, ""
}

func (w *Writer) write(ctx context.Context, f *arrival) error {
	received := f.Received
	if received.IsZero() {
		received = w.store.clock.Now()
	}
	err := w.store.retry(ctx, "write frame", func() error {
		err := w.store.writeFrame(ctx, w.work, f.Account, &f.header, f.Value, received)
		w.stalled.set(err)
		return err
	})
	if err != nil {
		return fmt.Errorf("store: write frame: %w", err)
	}
	return nil
}

// expect opens the window of a frame that is to be written, or keeps it open: LowWater must not
// pass the frame, and the window is not closed before it is written. A record that comes again is
// counted once.
func (w *Writer) expect(h *frame.Header, r stream.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := recordID{r.Partition, r.Offset}
	if w.expected[at] == nil {
		o := w.window(h, r)
		o.expected++
		o.raw += int64(h.RawLength)
		w.expected[at] = o
	}
}

// markWritten records that a record is in Cassandra, or with a nil header that it never will be.
func (w *Writer) markWritten(r stream.Record, h *frame.Header) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := recordID{r.Partition, r.Offset}
	w.done[at] = true
	if o := w.expected[at]; o != nil {
		o.expected--
		delete(w.expected, at)
	}
	if h == nil {
		return
	}
	o, now := w.window(h, r), w.store.clock.Now()
	if o.closed == o.frames {
		o.since = now
	}
	o.last = now
	o.frames++
}

// window returns the open window of a frame. The caller holds the lock.
func (w *Writer) window(h *frame.Header, r stream.Record) *openWindow {
	k := windowKey{r.Partition, r.Account, h.Node, h.Window()}
	o := w.open[k]
	if o == nil {
		o = &openWindow{first: r.Offset}
		w.open[k] = o
		w.store.metrics.OpenWindows.Set(float64(len(w.open)))
	}
	o.first = min(o.first, r.Offset)
	return o
}

// LowWater returns the offset of a partition's oldest record whose window is open: who restarts
// must read from there. None: everything handled is in columns. Hours that are to be made do not
// count, for that is written down (due.go), unless their frames must be read again.
func (w *Writer) LowWater(partition int32) (offset int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, o := range w.open {
		if k.partition == partition && (!ok || o.first < offset) {
			offset, ok = o.first, true
		}
	}
	for d, o := range w.dueSpans {
		if d.partition == partition && o.again && (!ok || o.first < offset) {
			offset, ok = o.first, true
		}
	}
	return offset, ok
}

// forget ends a window, unless a frame of it is expected. The caller holds the lock.
func (w *Writer) forget(k windowKey, o *openWindow) {
	if w.open[k] == o && o.expected == 0 {
		delete(w.open, k)
		w.setDeferred(o, false)
		w.store.metrics.OpenWindows.Set(float64(len(w.open)))
	}
}

// Revoke forgets a partition's open windows: another process has them now, and reads from LowWater.
func (w *Writer) Revoke(partition int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, o := range w.open {
		if k.partition == partition {
			w.setDeferred(o, false)
			delete(w.open, k)
		}
	}
	for d := range w.dueSpans {
		if d.partition == partition {
			delete(w.dueSpans, d)
		}
	}
	delete(w.unread, partition)
	delete(w.assigned, partition)
	w.store.metrics.Owed.Set(float64(len(w.dueSpans)))
	w.stalled.clear() // what waited is another's; if more waits here, the next try says so
	w.expired.Store(false)
	for p := range w.done { // by the time they come again they may have expired
		if p.partition == partition {
			delete(w.done, p)
		}
	}
	for p := range w.expected {
		if p.partition == partition {
			delete(w.expected, p)
		}
	}
	w.store.metrics.OpenWindows.Set(float64(len(w.open)))
}

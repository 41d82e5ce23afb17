package store

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/closing"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/schedule"
	"github.com/ringwatch/ringwatch/stream"
)

// Writer is the store role: it writes the stream's frames and closes windows whose time has come.
// The consumer calls Handle with what it has read, then may commit up to LowWater. Windows are
// closed by Run beside Handle, or by CloseDue and Drain for who has no Run.
type Writer struct {
	*closing.Closer // Run, CloseDue, Drain, Again, Tick, Deferred

	store *Store
	work  rows.Work // what its calls are for

	windows  *closing.Windows
	schedule *schedule.Schedule
	expired  atomic.Bool // frames must come again, see Again
	stalled  stall       // why Handle does not get on
}

// NewWriter returns a Writer with no open window.
func NewWriter(s *Store) *Writer { return newWriter(s, rows.Work{}, false) }

// newWriter returns a Writer whose calls are for work. loads says that what comes is in no stream.
func newWriter(s *Store, work rows.Work, loads bool) *Writer {
	w := &Writer{store: s, work: work,
		windows: closing.NewWindows(s.config.Grace, s.clock, s.closing.Metrics)}
	w.schedule = schedule.New(s.schedule, work, w.windows.NotDeferred, loads, &w.expired)
	w.Closer = closing.NewCloser(s.closing, work, w.windows, w.schedule, &w.expired)
	windows, hours := w.windows.Age, w.schedule.Age
	s.metrics.closingAge.of.Store(&windows)
	s.metrics.hourAge.of.Store(&hours)
	return w
}

// Handle writes the records' frames and returns when all are in Cassandra or cannot ever be, which
// is counted. While Cassandra is away or overloaded it tries again, so that its caller waits; it
// also waits while Run is a whole window behind with closing. An error means that some were not
// written: the same records must come again, and only those are written then.
func (w *Writer) Handle(ctx context.Context, records []stream.Record) error {
	if err := w.KeepUp(ctx); err != nil {
		w.stalled.set(err)
		return err
	}
	m := w.store.metrics
	var arrivals []arrival // all are expected before the first is written
	for _, r := range records {
		if w.windows.IsDone(r) {
			continue
		}
		m.frames.accepted.Inc()
		h, reason := w.admit(r)
		if reason != "" {
			m.frames.dropped.WithLabelValues(reason).Inc()
			w.windows.MarkWritten(r, nil)
			continue
		}
		m.frames.pending.Inc()
		w.windows.Expect(&h, r)
		arrivals = append(arrivals, arrival{h, r})
	}
	var g errgroup.Group // one that fails does not end the others
	g.SetLimit(w.store.config.InFlight)
	for i := range arrivals {
		g.Go(func() error {
			defer m.frames.pending.Dec()
			f := &arrivals[i]
			if err := w.write(ctx, f); err != nil {
				m.frames.returned.Inc()
				return err
			}
			m.frames.written.Inc()
			w.windows.MarkWritten(f.Record, &f.header)
			return nil
		})
	}
	err := g.Wait()
	if err == nil {
		w.windows.AllDone()
		w.stalled.clear()
	}
	return err
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

// LowWater returns the offset of a partition's oldest record whose window is open: who restarts
// must read from there. None: everything handled is in columns. Hours that are to be made do not
// count, for that is written down (package schedule), unless their frames must be read again.
func (w *Writer) LowWater(partition int32) (offset int64, ok bool) {
	// Windows first: one that is closed meanwhile is due before it is forgotten.
	offset, ok = w.windows.LowWater(partition)
	if first, again := w.schedule.LowWater(partition); again && (!ok || first < offset) {
		return first, true
	}
	return offset, ok
}

// Assign says that a partition's windows are this Writer's now: it looks for what is due there.
func (w *Writer) Assign(partition int32) { w.schedule.Assign(partition) }

// Revoke forgets a partition's open windows: another process has them now, and reads from LowWater.
func (w *Writer) Revoke(partition int32) {
	w.windows.Revoke(partition)
	w.schedule.Revoke(partition)
	w.stalled.clear() // what waited is another's; if more waits here, the next try says so
	w.expired.Store(false)
}

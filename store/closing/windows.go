package closing

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/stream"
)

// Windows are the windows of a Writer's partitions with frames that are not in columns yet, and
// the records of such frames that are on their way.
type Windows struct {
	grace   time.Duration // for which a window waits for late frames
	clock   *calendar.Clock
	metrics Metrics

	mu   sync.Mutex
	open map[windowKey]*openWindow
	// done are the records of a failed Handle that are in Cassandra. All its records come again,
	// and only the missing ones may be written then: else, under overload, a batch that takes
	// longer than its caller allows would begin anew for ever.
	done map[recordID]bool
	// expected are the records that Handle was given and that are not in Cassandra yet, with their
	// windows, which are not closed before that.
	expected map[recordID]*openWindow
}

// NewWindows returns no windows yet. They wait for late frames for a grace.
func NewWindows(grace time.Duration, clock *calendar.Clock, metrics Metrics) *Windows {
	return &Windows{grace: grace, clock: clock, metrics: metrics,
		open: map[windowKey]*openWindow{}, done: map[recordID]bool{},
		expected: map[recordID]*openWindow{}}
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

// IsDone reports whether a record was written, though others of its batch were not.
func (w *Windows) IsDone(r stream.Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[recordID{r.Partition, r.Offset}]
}

// AllDone forgets which records are in Cassandra: their batch does not come again.
func (w *Windows) AllDone() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.done)
}

// Expect opens the window of a frame that is to be written, or keeps it open: LowWater must not
// pass the frame, and the window is not closed before it is written. A record that comes again is
// counted once.
func (w *Windows) Expect(h *frame.Header, r stream.Record) {
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

// MarkWritten records that a record is in Cassandra, or with a nil header that it never will be.
func (w *Windows) MarkWritten(r stream.Record, h *frame.Header) {
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
	o, now := w.window(h, r), w.clock.Now()
	if o.closed == o.frames {
		o.since = now
	}
	o.last = now
	o.frames++
}

// window returns the open window of a frame. The caller holds the lock.
func (w *Windows) window(h *frame.Header, r stream.Record) *openWindow {
	k := windowKey{r.Partition, r.Account, h.Node, h.Window()}
	o := w.open[k]
	if o == nil {
		o = &openWindow{first: r.Offset}
		w.open[k] = o
		w.metrics.OpenWindows.Set(float64(len(w.open)))
	}
	o.first = min(o.first, r.Offset)
	return o
}

// forget ends a window, unless a frame of it is expected. The caller holds the lock.
func (w *Windows) forget(k windowKey, o *openWindow) {
	if w.open[k] == o && o.expected == 0 {
		delete(w.open, k)
		w.setDeferred(o, false)
		w.metrics.OpenWindows.Set(float64(len(w.open)))
	}
}

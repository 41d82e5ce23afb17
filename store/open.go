package store

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/stream"
)

// openWindows are the windows of a Writer's partitions with frames that are not in columns yet, and
// the records of such frames that are on their way.
type openWindows struct {
	grace   time.Duration // for which a window waits for late frames
	clock   *calendar.Clock
	metrics *Metrics

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

func newOpenWindows(grace time.Duration, clock *calendar.Clock, metrics *Metrics) *openWindows {
	return &openWindows{grace: grace, clock: clock, metrics: metrics,
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

func (w *openWindows) isDone(r stream.Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[recordID{r.Partition, r.Offset}]
}

// allDone forgets which records are in Cassandra: their batch does not come again.
func (w *openWindows) allDone() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.done)
}

// expect opens the window of a frame that is to be written, or keeps it open: LowWater must not
// pass the frame, and the window is not closed before it is written. A record that comes again is
// counted once.
func (w *openWindows) expect(h *frame.Header, r stream.Record) {
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
func (w *openWindows) markWritten(r stream.Record, h *frame.Header) {
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
func (w *openWindows) window(h *frame.Header, r stream.Record) *openWindow {
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
func (w *openWindows) forget(k windowKey, o *openWindow) {
	if w.open[k] == o && o.expected == 0 {
		delete(w.open, k)
		w.setDeferred(o, false)
		w.metrics.OpenWindows.Set(float64(len(w.open)))
	}
}

// dueWindow is an open window whose time has come.
type dueWindow struct {
	windowKey
	*openWindow
	at       time.Time
	firstTry bool // it has not failed yet
}

// due lists the windows whose time has come, the longest due first: that moves LowWater. A window
// with a frame that waits to be written is not due, for without the frame it would only have to be
// closed again; with all it is, because the frame may not come.
func (w *openWindows) due(now time.Time, all bool) []dueWindow {
	var list []dueWindow
	w.mu.Lock()
	for k, o := range w.open {
		if at := w.dueAt(k, o, all); !o.closing && (all || o.expected == 0) && !at.After(now) &&
			!o.after.After(time.Now()) {
			list = append(list, dueWindow{k, o, at, o.failed == 0})
		}
	}
	w.mu.Unlock()
	slices.SortFunc(list, func(a, b dueWindow) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.first, b.first))
	})
	return list
}

// dueAt returns when a window is to be closed: the grace after its end, and after its last frame
// unless no more come. The caller holds the lock.
func (w *openWindows) dueAt(k windowKey, o *openWindow, all bool) time.Time {
	at := time.UnixMilli(k.start + frame.WindowMillis)
	if !all && o.last.After(at) {
		at = o.last
	}
	return at.Add(w.grace)
}

// closingAge is how long the window that is due longest has waited to be closed. One whose rows
// are written does not count, nor does one that is deferred.
func (w *openWindows) closingAge() (age time.Duration) {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, o := range w.open {
		if o.closed != o.frames && !o.deferred {
			age = max(age, now.Sub(w.dueAt(k, o, false)))
		}
	}
	return age
}

// setDeferred records whether a window is deferred. The caller holds the lock.
func (w *openWindows) setDeferred(o *openWindow, aside bool) {
	if o.deferred != aside {
		o.deferred = aside
		w.metrics.Deferred.Add(map[bool]float64{true: 1, false: -1}[aside])
	}
}

// unclosed returns how many windows could not be closed when that was tried last, and why the first
// of them could not.
func (w *openWindows) unclosed() (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := int64(0)
	for k, o := range w.open {
		if o.err == nil || memory.Refused(o.err) { // see Deferred
			continue
		}
		if n++; err == nil || k.start < first {
			first, err = k.start, o.err
		}
	}
	return n, err
}

// notDeferred lists the windows that are to be closed.
func (w *openWindows) notDeferred() (list []windowKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, o := range w.open {
		if !o.deferred {
			list = append(list, k)
		}
	}
	return list
}

// number returns how many windows are open.
func (w *openWindows) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}

// lowWater returns the offset of a partition's oldest record whose window is open; false: none is.
func (w *openWindows) lowWater(partition int32) (offset int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, o := range w.open {
		if k.partition == partition && (!ok || o.first < offset) {
			offset, ok = o.first, true
		}
	}
	return offset, ok
}

// revoke forgets a partition's windows and records: by the time they come again, they may have
// expired.
func (w *openWindows) revoke(partition int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, o := range w.open {
		if k.partition == partition {
			w.setDeferred(o, false)
			delete(w.open, k)
		}
	}
	for p := range w.done {
		if p.partition == partition {
			delete(w.done, p)
		}
	}
	for p := range w.expected {
		if p.partition == partition {
			delete(w.expected, p)
		}
	}
	w.metrics.OpenWindows.Set(float64(len(w.open)))
}

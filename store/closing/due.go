package closing

import (
	"cmp"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/schedule"
)

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
func (w *Windows) due(now time.Time, all bool) []dueWindow {
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
func (w *Windows) dueAt(k windowKey, o *openWindow, all bool) time.Time {
	at := time.UnixMilli(k.start + frame.WindowMillis)
	if !all && o.last.After(at) {
		at = o.last
	}
	return at.Add(w.grace)
}

// Age is how long the window that is due longest has waited to be closed. One whose rows
// are written does not count, nor does one that is deferred.
func (w *Windows) Age() (age time.Duration) {
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
func (w *Windows) setDeferred(o *openWindow, aside bool) {
	if o.deferred != aside {
		o.deferred = aside
		w.metrics.Deferred.Add(map[bool]float64{true: 1, false: -1}[aside])
	}
}

// Unclosed returns how many windows could not be closed when that was tried last, and why the first
// of them could not.
func (w *Windows) Unclosed() (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := int64(0)
	for k, o := range w.open {
		if o.err == nil || memory.Refused(o.err) { // see Closer.Deferred
			continue
		}
		if n++; err == nil || k.start < first {
			first, err = k.start, o.err
		}
	}
	return n, err
}

// TryAgain lets windows that could not be closed be tried at once.
func (w *Windows) TryAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.open {
		o.after = time.Time{}
	}
}

// NotDeferred lists the windows that are to be closed.
func (w *Windows) NotDeferred() (list []schedule.Window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, o := range w.open {
		if !o.deferred {
			list = append(list, schedule.Window{Account: k.account, Node: k.node, Start: k.start})
		}
	}
	return list
}

// number returns how many windows are open.
func (w *Windows) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}

// LowWater returns the offset of a partition's oldest record whose window is open; false: none is.
func (w *Windows) LowWater(partition int32) (offset int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, o := range w.open {
		if k.partition == partition && (!ok || o.first < offset) {
			offset, ok = o.first, true
		}
	}
	return offset, ok
}

// Revoke forgets a partition's windows and records: by the time they come again, they may have
// expired.
func (w *Windows) Revoke(partition int32) {
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

package store

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/rollup"
)

// Who computes an hour and a day? The last of its windows that is open. A window that is in columns hands the duty to any other open window of the same node and period
// and is forgotten; one that finds no other has the duty itself, and is forgotten when the rollup is written. Nothing of this is stored: after a crash
// the stream brings the frames of every open window again, and with them the duty. A window that is closed again because a late frame came is open again, so that its
// hour and day are computed anew by the same rule.

// patience is how many graces longer a window waits for its node's next one before it takes the node for silent and computes a period that is not over.
const patience = 2

// finish sees to the rollups of a window that is in columns, made of so many frames. It is forgotten then, unless more frames have come. With last, no more
// windows will open.
func (w *Writer) finish(ctx context.Context, k windowKey, o *openWindow, frames int, now time.Time, last bool) error {
	if !last && w.waits(k, o, now) {
		return nil
	}
	for i, level := range rollup.Levels[1:] {
		if !w.takes(k, o, frames, level, i+1) {
			return nil
		}
		start := level.Start(k.start)
		if err := w.store.RollUp(rolling(ctx), k.account, k.node, level, start); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.frames == frames {
		w.forget(k, o)
	}
	return nil
}

// waits reports whether the node's next window may open soon: then it will have the duty.
func (w *Writer) waits(k windowKey, o *openWindow, now time.Time) bool {
	end := k.start + frame.WindowMillis
	if rollup.Day.Start(end) == end || now.Sub(time.UnixMilli(end)) >= (1+patience)*w.store.config.Grace {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	next := k
	for next.start = end; next.start <= end+rollup.Hour.Millis; next.start += frame.WindowMillis {
		if w.open[next] != nil {
			return false
		}
	}
	return true
}

// takes reports whether the window has the duty for a period of a level; number counts levels from 1. If not, another window has it and this one is forgotten, or it is to
// be closed again first.
func (w *Writer) takes(k windowKey, o *openWindow, frames int, level rollup.Level, number int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.frames != frames || w.open[k] != o {
		return false
	}
	other := k
	first := level.Start(k.start)
	for other.start = first; other.start < first+level.Millis; other.start += frame.WindowMillis {
		// One that computes this level already may have read before this window was written.
		if v := w.open[other]; v != nil && v != o && v.rolling < number {
			w.forget(k, o)
			return false
		}
	}
	o.rolling = number
	return true
}

// forget ends a window, unless a frame of it is coming. The caller holds the lock.
func (w *Writer) forget(k windowKey, o *openWindow) {
	if w.open[k] == o && o.coming == 0 {
		delete(w.open, k)
		w.setAside(o, false)
		w.store.metrics.OpenWindows.Set(float64(len(w.open)))
	}
}

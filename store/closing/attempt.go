package closing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/schedule"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
)

// attempt tries once to close a window.
func (w *Closer) attempt(ctx context.Context, lease *memory.Lease, d dueWindow) {
	err := w.maker.AtOnce.closing(func(took *rows.Answers) error {
		return w.closeOne(ctx, w.timed(took), lease, d)
	})
	if ctx.Err() != nil {
		return
	}
	w.windows.mu.Lock()
	defer w.windows.mu.Unlock()
	if w.windows.open[d.windowKey] != d.openWindow { // closed, or another's by now
		return
	}
	if d.err = err; err == nil {
		d.failed, d.needs = 0, 0
		w.windows.setDeferred(d.openWindow, false)
		return
	}
	if memory.Refused(err) {
		w.outOfMemory(lease, d, err)
		return
	}
	w.maker.Metrics.Retries.Inc()
	d.failed++
	d.after = time.Now().Add(min(rows.FirstWait<<min(d.failed, 20), rows.LongestWait))
	if errors.Is(err, schedule.ErrExpired) {
		w.expired.Store(true)
	}
	if d.failed == 1 || d.failed%100 == 0 {
		w.maker.Log.Warn("store: a window cannot be closed; trying again", "attempts", d.failed,
			"error", err)
	}
}

// timed is the Closer's work; how long answers took is added to took.
func (w *Closer) timed(took *rows.Answers) rows.Work {
	work := w.work
	work.Answers = took
	return work
}

// closeOne closes one window and records that its hour is due. A window that is open no more, or
// being closed, is left alone.
func (w *Closer) closeOne(ctx context.Context, work rows.Work, lease *memory.Lease,
	d dueWindow) error {
	w.windows.mu.Lock()
	if w.windows.open[d.windowKey] != d.openWindow || d.closing {
		w.windows.mu.Unlock()
		return nil
	}
	d.closing = true
	frames, closed, since, first := d.frames, d.closed, d.since, d.first
	w.windows.mu.Unlock()
	var err error
	if closed != frames {
		age := w.maker.Clock.Now().Sub(since)
		switch expired := age > w.maker.Limits.FreshTTL-schedule.ExpirySlack; {
		case expired && d.deferred: // reading its frames again would not make it smaller
			w.maker.Metrics.LostFrames.WithLabelValues("memory").Add(float64(frames))
			w.maker.Log.Error("store: gave up a window that needs more memory than its account "+
				"may have; its frames are in the topic", "account", d.account, "node", d.node,
				"window", calendar.Text(d.start), "error", d.err)
		case expired:
			err = schedule.ErrExpired
		default:
			err = w.maker.Close(ctx,
				spans.Task{Engine: w.maker.Engine, Work: work, Lease: lease}, d.account, d.node,
				d.start)
		}
		if err == nil {
			w.windows.mu.Lock()
			d.closed = frames
			w.windows.mu.Unlock()
		}
	}
	if err == nil {
		hour := schedule.Span{Partition: d.partition, Account: d.account, Node: d.node,
			Start: calendar.Hour(d.start), Length: window.HourMillis}
		err = w.schedule.Add(ctx, work, hour, w.schedule.Offset(first),
			w.maker.Clock.Now().UnixMicro())
	}
	w.windows.mu.Lock()
	defer w.windows.mu.Unlock()
	d.closing = false
	if err == nil && d.frames == frames {
		w.windows.forget(d.windowKey, d.openWindow)
	}
	if err != nil {
		return fmt.Errorf("store: close window %s of node %s: %w", calendar.Text(d.start), d.node,
			err)
	}
	return nil
}

package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
)

const (
	// closeEvery is how often Run looks for windows that are due.
	closeEvery = time.Second
	// mostBehind is how far closing may fall behind before Handle waits: a window, so that never
	// more than three of a node are open, and their frames live.
	mostBehind = frame.WindowMillis * time.Millisecond
	// expirySlack is how long before its first frame expires a window must be begun to be closed:
	// reading frames takes a few calls of Config.Timeout at most.
	expirySlack = time.Minute
)

var (
	// ErrBehind is returned by Handle while closing windows is a whole window behind.
	ErrBehind = errors.New("store: closing windows is behind")
	// ErrExpired says that a window's frames may have expired before it was closed, because
	// Cassandra was away for too long: they must be read from the stream again.
	ErrExpired = errors.New("store: frames expired before their window was closed; they will be " +
		"read from the stream again")
)

// Run closes windows whose time has come, beside Handle, until ctx ends. One that cannot be closed
// stays open and is tried again with backoff, and the others go on.
func (w *Writer) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	workers.Go(func() { w.due.run(ctx) })
	ticker := time.NewTicker(closeEvery)
	defer ticker.Stop()
	for {
		for _, d := range w.windows.due(w.store.clock.Now(), false) {
			if d.firstTry {
				w.overdue.Store(d.at.UnixNano())
			} else { // one that fails does not hold Handle up: waiting would not help it
				w.overdue.Store(0)
			}
			lease, err := w.store.config.Memory.Try(d.account, w.estimate(&d))
			if err != nil { // its account holds what it may: only its windows wait
				w.overdue.Store(0)
				continue
			}
			if w.store.pace.enter(ctx) != nil {
				lease.Release()
				return nil
			}
			workers.Go(func() {
				defer lease.Release()
				w.attempt(ctx, lease, d)
			})
		}
		w.overdue.Store(0)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// attempt tries once to close a window.
func (w *Writer) attempt(ctx context.Context, lease *memory.Lease, d dueWindow) {
	err := w.store.pace.closing(func(took *rows.Answers) error {
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
	w.store.metrics.Retries.Inc()
	d.failed++
	d.after = time.Now().Add(min(rows.FirstWait<<min(d.failed, 20), rows.LongestWait))
	if errors.Is(err, ErrExpired) {
		w.expired.Store(true)
	}
	if d.failed == 1 || d.failed%100 == 0 {
		w.store.log.Warn("store: a window cannot be closed; trying again", "attempts", d.failed,
			"error", err)
	}
}

// keepUp waits while closing is a whole window behind.
func (w *Writer) keepUp(ctx context.Context) error {
	for wait := rows.NewBackoff(); ; {
		at := w.overdue.Load()
		behind := w.store.clock.Now().Sub(time.Unix(0, at))
		if at == 0 || behind < mostBehind {
			return nil
		}
		if wait.Sleep(ctx) != nil {
			return fmt.Errorf("%w by %s, so frames wait: give this process more cores or a "+
				"faster disk, or run more processes of the role on more nodes of Cassandra",
				ErrBehind, behind.Round(time.Second))
		}
	}
}

// Again reports whether frames have expired before their window was closed: then all partitions
// must be revoked and read again from LowWater. It says so once.
func (w *Writer) Again() error {
	if w.expired.Swap(false) {
		return ErrExpired
	}
	return nil
}

// Tick implements stream.Handler. It closes nothing: Run does, beside Handle.
func (w *Writer) Tick(context.Context, time.Time) error {
	if err := w.Again(); err != nil {
		return fmt.Errorf("%w: %w", stream.ErrAgain, err)
	}
	return nil
}

// CloseDue closes the windows that ended more than the grace ago and got no frame for as long, and
// makes the hours and days that are due then. It returns when that is done; errors that Cassandra
// may recover from are waited out. The error wraps ErrExpired if frames must come again.
func (w *Writer) CloseDue(ctx context.Context, now time.Time) error {
	return w.close(ctx, now, false)
}

// Drain closes the windows that ended more than the grace ago, though their last frame may have
// come a moment ago, and makes the hours and days that are over: for who knows that no more come.
// It returns how many windows are open still, because they are not over.
func (w *Writer) Drain(ctx context.Context, now time.Time) (open int, err error) {
	err = w.close(ctx, now, true)
	return w.windows.number(), err
}

func (w *Writer) close(ctx context.Context, now time.Time, all bool) error {
	var g errgroup.Group
	for _, d := range w.windows.due(now, all) {
		if err := w.store.pace.enter(ctx); err != nil {
			return errors.Join(g.Wait(), err)
		}
		g.Go(func() error {
			return w.store.pace.closing(func(took *rows.Answers) error {
				return w.store.retry(ctx, "close window", func() error {
					return w.closeLeased(ctx, w.timed(took), d)
				})
			})
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return w.due.makeReady(ctx, now, all)
}

// closeOne closes one window and records that its hour is due. A window that is open no more, or
// being closed, is left alone.
func (w *Writer) closeOne(ctx context.Context, work rows.Work, lease *memory.Lease,
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
		switch expired := w.store.clock.Now().Sub(since) > w.store.config.FreshTTL-expirySlack; {
		case expired && d.deferred: // reading its frames again would not make it smaller
			w.store.metrics.LostFrames.WithLabelValues("memory").Add(float64(frames))
			w.store.log.Error("store: gave up a window that needs more memory than its account "+
				"may have; its frames are in the topic", "account", d.account, "node", d.node,
				"window", calendar.Text(d.start), "error", d.err)
		case expired:
			err = ErrExpired
		default:
			err = w.store.task(work, lease).closeWindow(ctx, d.account, d.node, d.start)
		}
		if err == nil {
			w.windows.mu.Lock()
			d.closed = frames
			w.windows.mu.Unlock()
		}
	}
	if err == nil {
		hour := dueSpan{d.partition, d.account, d.node, calendar.Hour(d.start), window.HourMillis}
		err = w.due.add(ctx, work, hour, w.due.offset(first), w.store.clock.Now().UnixMicro())
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

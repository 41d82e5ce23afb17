package closing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/schedule"
	"github.com/ringwatch/ringwatch/stream"
)

const (
	// closeEvery is how often Run looks for windows that are due.
	closeEvery = time.Second
	// MostBehind is how far closing may fall behind before KeepUp waits: a window, so that never
	// more than three of a node are open, and their frames live.
	MostBehind = frame.WindowMillis * time.Millisecond
)

// ErrBehind is returned by KeepUp while closing windows is a whole window behind.
var ErrBehind = errors.New("store: closing windows is behind")

// Closer closes a Writer's windows whose time has come, and has their hours and days made.
type Closer struct {
	// Overdue is when the window that Run is at was due, ns since the Unix epoch; 0: it waits for
	// windows.
	Overdue atomic.Int64

	maker    *Maker
	work     rows.Work // what its calls are for
	windows  *Windows
	schedule *schedule.Schedule
	expired  *atomic.Bool // a window's frames may be gone from fresh, see Again
}

// NewCloser returns a Closer of windows. expired is set when frames must come again.
func NewCloser(m *Maker, work rows.Work, windows *Windows, s *schedule.Schedule,
	expired *atomic.Bool) *Closer {
	return &Closer{maker: m, work: work, windows: windows, schedule: s, expired: expired}
}

// Run closes windows whose time has come, beside who takes frames, until ctx ends. One that cannot
// be closed stays open and is tried again with backoff, and the others go on.
func (w *Closer) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	workers.Go(func() { w.schedule.Run(ctx) })
	ticker := time.NewTicker(closeEvery)
	defer ticker.Stop()
	for {
		for _, d := range w.windows.due(w.maker.Clock.Now(), false) {
			if d.firstTry {
				w.Overdue.Store(d.at.UnixNano())
			} else { // one that fails does not hold Handle up: waiting would not help it
				w.Overdue.Store(0)
			}
			lease, err := w.maker.Memory.Try(d.account, w.estimate(&d))
			if err != nil { // its account holds what it may: only its windows wait
				w.Overdue.Store(0)
				continue
			}
			if w.maker.AtOnce.enter(ctx) != nil {
				lease.Release()
				return nil
			}
			workers.Go(func() {
				defer lease.Release()
				w.attempt(ctx, lease, d)
			})
		}
		w.Overdue.Store(0)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// KeepUp waits while closing is a whole window behind.
func (w *Closer) KeepUp(ctx context.Context) error {
	for wait := rows.NewBackoff(); ; {
		at := w.Overdue.Load()
		behind := w.maker.Clock.Now().Sub(time.Unix(0, at))
		if at == 0 || behind < MostBehind {
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
func (w *Closer) Again() error {
	if w.expired.Swap(false) {
		return schedule.ErrExpired
	}
	return nil
}

// Tick implements stream.Handler. It closes nothing: Run does, beside Handle.
func (w *Closer) Tick(context.Context, time.Time) error {
	if err := w.Again(); err != nil {
		return fmt.Errorf("%w: %w", stream.ErrAgain, err)
	}
	return nil
}

// CloseDue closes the windows that ended more than the grace ago and got no frame for as long, and
// makes the hours and days that are due then. It returns when that is done; errors that Cassandra
// may recover from are waited out. The error wraps schedule.ErrExpired if frames must come again.
func (w *Closer) CloseDue(ctx context.Context, now time.Time) error {
	return w.close(ctx, now, false)
}

// Drain closes the windows that ended more than the grace ago, though their last frame may have
// come a moment ago, and makes the hours and days that are over: for who knows that no more come.
// It returns how many windows are open still, because they are not over.
func (w *Closer) Drain(ctx context.Context, now time.Time) (open int, err error) {
	err = w.close(ctx, now, true)
	return w.windows.number(), err
}

func (w *Closer) close(ctx context.Context, now time.Time, all bool) error {
	var g errgroup.Group
	for _, d := range w.windows.due(now, all) {
		if err := w.maker.AtOnce.enter(ctx); err != nil {
			return errors.Join(g.Wait(), err)
		}
		g.Go(func() error {
			return w.maker.AtOnce.closing(func(took *rows.Answers) error {
				return rows.Retry(ctx, "close window", w.maker.Metrics.Retries.Inc, func() error {
					return w.closeLeased(ctx, w.timed(took), d)
				})
			})
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return w.schedule.MakeReady(ctx, now, all)
}

package closing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Closing a window takes memory, and how much depends on its frames. It begins with an estimate
// from its account's share, and asks for more as it grows. If the share is in use, the window is
// tried again when it is free. If the window needs more than the whole share, it is deferred ("set
// aside", in the operator's words): its frames stay in the table fresh, Closer.Deferred names it,
// and it is tried again every ten minutes, for a restart may give a larger share. Windows of other
// accounts go on.

const (
	// deferredRetry is after how long a deferred window is tried again.
	deferredRetry = 10 * time.Minute
	// minEstimate is what any window takes; bytesPerRaw is what a byte of payload comes to in a
	// window and its rollup: 5 to 8 in recorded ones.
	minEstimate = 1 << 20
	bytesPerRaw = 8
	// maxNamed is how many windows Deferred names.
	maxNamed = 3
)

// estimate returns with how much memory closing a window begins. That is at most a quarter of the
// share at first, so that windows which only look large do not wait for each other.
func (w *Closer) estimate(d *dueWindow) int64 {
	share := w.maker.Memory.Share()
	w.windows.mu.Lock()
	defer w.windows.mu.Unlock()
	return min(max(minEstimate, min(bytesPerRaw*d.raw, share/4), d.needs), share)
}

// outOfMemory records that a window could not be closed with the memory it was given. The caller
// holds the lock.
func (w *Closer) outOfMemory(lease *memory.Lease, d dueWindow, err error) {
	d.err, d.needs = err, 2*lease.Taken()
	d.after = time.Now().Add(closeEvery)
	if !errors.Is(err, memory.ErrTooLarge) {
		return
	}
	d.after = time.Now().Add(deferredRetry)
	if !d.deferred {
		w.maker.Log.Warn("store: set a window aside that needs more memory than its account may "+
			"have; give the role more memory, or monitor fewer tables on that node",
			"account", d.account, "node", d.node, "window", calendar.Text(d.start), "error", err)
	}
	w.windows.setDeferred(d.openWindow, true)
}

// closeLeased closes a window for CloseDue and Drain, which wait for its memory. A deferred one is
// no error: they have done what can be done.
func (w *Closer) closeLeased(ctx context.Context, work rows.Work, d dueWindow) error {
	for {
		lease, err := w.maker.Memory.Acquire(ctx, d.account, w.estimate(&d), nil)
		if err != nil {
			return err
		}
		err = w.closeOne(ctx, work, lease, d)
		if memory.Refused(err) {
			w.windows.mu.Lock()
			w.outOfMemory(lease, d, err)
			w.windows.mu.Unlock()
		}
		lease.Release()
		switch {
		case errors.Is(err, memory.ErrTooLarge):
			return nil
		case !errors.Is(err, memory.ErrBusy) || ctx.Err() != nil:
			return err
		}
	}
}

// Deferred says in a sentence which windows are set aside because they need more memory than their
// account may have; nothing if there is none.
func (w *Closer) Deferred() string {
	type named struct {
		windowKey
		err error
	}
	var list []named
	w.windows.mu.Lock()
	for k, o := range w.windows.open {
		if o.deferred {
			list = append(list, named{k, o.err})
		}
	}
	w.windows.mu.Unlock()
	if len(list) == 0 {
		return ""
	}
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.start, b.start), slices.Compare(a.node[:], b.node[:]))
	})
	text := fmt.Sprintf("store: %d windows are set aside, because they need more memory than "+
		"their account may have:", len(list))
	for i, n := range list[:min(len(list), maxNamed)] {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %s of node %s of account %s", calendar.Text(n.start), n.node,
			n.account)
	}
	if more := len(list) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

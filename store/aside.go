package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Closing a window takes memory, and how much its frames decide. A window begins with an estimate
// from its account's share, and asks for more as it grows. If the share is in use, it is tried
// again when that is free; if it needs more than the whole share, it is set aside: it stays in
// fresh, is named, and is tried again now and then, because the share may be larger after a
// restart. Windows of other accounts go on.

const (
	// asideAgain is how long a window that was set aside is left alone.
	asideAgain = 10 * time.Minute
	// leastEstimate is what any window takes; perRaw is what a byte of payload comes to in a window
	// and its rollup: 5 to 8 in recorded ones.
	leastEstimate = 1 << 20
	perRaw        = 8
	// maxNamed is how many windows Aside names.
	maxNamed = 3
)

// estimate returns with how much memory closing a window begins. A quarter of the share at most is
// asked for at first, so that windows that look large do not wait for each other without need.
func (w *Writer) estimate(d *due) int64 {
	share := w.store.config.Memory.Share()
	w.mu.Lock()
	defer w.mu.Unlock()
	return min(max(leastEstimate, min(perRaw*d.raw, share/4), d.needs), share)
}

// short notes that a window could not be closed with the memory it was given. The caller holds the
// lock.
func (w *Writer) short(lease *memory.Lease, d due, err error) {
	d.err, d.needs = err, 2*lease.Taken()
	d.after = time.Now().Add(closeEvery)
	if !errors.Is(err, memory.ErrTooLarge) {
		return
	}
	d.after = time.Now().Add(asideAgain)
	if !d.aside {
		w.store.log.Warn("store: set a window aside that needs more memory than its account may "+
			"have; give the role more memory, or monitor fewer tables on that node",
			"account", d.account, "node", d.node, "window", clockTime(d.start), "error", err)
	}
	w.setAside(d.openWindow, true)
}

// setAside notes whether a window is set aside. The caller holds the lock.
func (w *Writer) setAside(o *openWindow, aside bool) {
	if o.aside != aside {
		o.aside = aside
		w.store.metrics.Aside.Add(map[bool]float64{true: 1, false: -1}[aside])
	}
}

// closeLeased closes a window for Tick and Drain, which wait for its memory. One that is set aside
// is no error: they have done what can be done.
func (w *Writer) closeLeased(ctx context.Context, work rows.Work, d due) error {
	for {
		lease, err := w.store.config.Memory.Acquire(ctx, d.account, w.estimate(&d), nil)
		if err != nil {
			return err
		}
		err = w.closeOne(ctx, work, lease, d)
		if memory.Refused(err) {
			w.mu.Lock()
			w.short(lease, d, err)
			w.mu.Unlock()
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

// Aside says in a sentence which windows are set aside because they need more memory than their
// account may have; nothing if there is none.
func (w *Writer) Aside() string {
	type named struct {
		windowKey
		err error
	}
	var list []named
	w.mu.Lock()
	for k, o := range w.open {
		if o.aside {
			list = append(list, named{k, o.err})
		}
	}
	w.mu.Unlock()
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
		text += fmt.Sprintf(" %s of node %s of account %s", clockTime(n.start), n.node, n.account)
	}
	if more := len(list) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

package reading

import (
	"context"
	"errors"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/window"
)

// fresh answers a window from its frames and, if one is held, from the stored window.
func (r *windowsReader) fresh(ctx context.Context, start int64) error {
	frames, err := r.source.Fresh.InWindow(ctx, r.task.Work, r.task.Lease, r.account, r.node, start)
	if err != nil {
		return err
	}
	k, held := r.held[start] // all stored spans have come: nobody writes held now
	if len(frames) == 0 {
		if held {
			r.addStored(&k)
		} else {
			r.silent.NoWindow(start)
		}
		return nil
	}
	w, rep, err := r.source.Build(memory.Until(ctx, r.task.Lease),
		window.Node{Account: r.account, ID: r.node}, start, frames, r.wanted(), r.wantedNames())
	switch {
	case errors.Is(err, frame.ErrMemory): // also if the context has ended
		return err
	case err != nil && held:
		k.Damage = append(k.Damage, err)
		r.addStored(&k)
		return nil
	case err != nil:
		r.add(&window.Window{}, &r.report.Fresh, 1, rep.Corrupt, []error{err})
		return nil
	}
	r.mu.Lock()
	r.report.keyless(start, r.source.Clock.Millis(), rep.MissingKey)
	r.mu.Unlock()
	switch {
	case held && calendar.Within(w.Times, k.Head.Times): // its frames say nothing more
		r.addStored(&k)
		return nil
	case held && !calendar.Within(k.Head.Times, w.Times):
		r.add(k.Window, &r.report.Raw, 0, 0, k.Damage)
	case !held && r.answered(w.Times):
		return nil
	}
	r.add(w, &r.report.Fresh, 1, rep.Lost(), nil)
	return nil
}

// answered reports whether one span of the answer has all of some instants.
func (r *windowsReader) answered(times []int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.parts, func(w *window.Window) bool {
		return calendar.Within(times, w.Times)
	})
}

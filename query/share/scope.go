package share

import (
	"context"
	"sync"

	"github.com/ringwatch/ringwatch/memory"
)

// scope is a part of a request after which what it has read is not used any more.
type scope struct {
	account string
	lease   *memory.Lease
	outer   *scope   // that it is a part of, or nil
	reads   *reading // whose reading it is, or nil

	mu    sync.Mutex
	ended bool
	after []func()
	uses  []*reading // whose results it has
}

type scopeKey struct{}

// Scope returns a context whose work takes its memory from a new lease of the account, and a
// function that ends the scope and gives the memory back. It waits for nothing: what is large is
// read by Read.
func (fs *Readings) Scope(ctx context.Context, accountName string) (context.Context, func()) {
	lease := fs.budget.Open(accountName)
	sc := &scope{account: accountName, lease: lease, outer: scopeIn(ctx),
		after: []func(){lease.Release}}
	return sc.within(ctx), sc.end
}

func (sc *scope) within(ctx context.Context) context.Context {
	return context.WithValue(memory.With(ctx, sc.lease), scopeKey{}, sc)
}

// scopeIn returns the context's scope, or nil.
func scopeIn(ctx context.Context) *scope {
	sc, _ := ctx.Value(scopeKey{}).(*scope)
	return sc
}

// holdUntilEnd says that the context's scope uses a reading's result.
func holdUntilEnd(ctx context.Context, f *reading) {
	sc := scopeIn(ctx)
	if sc != nil {
		sc.mu.Lock()
		ended := sc.ended
		if !ended {
			sc.uses = append(sc.uses, f)
		}
		sc.mu.Unlock()
		if !ended {
			return
		}
	}
	f.readings.leave(f)
}

// leases returns the scope's own and those of the results that it uses.
func (sc *scope) leases() []*memory.Lease {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	all := []*memory.Lease{sc.lease}
	for _, f := range sc.uses {
		select {
		case <-f.done:
			if f.lease != nil {
				all = append(all, f.lease)
			}
		default:
		}
	}
	return all
}

// Part is Scope for a part of the context's scope. It ends with that at the latest.
func (fs *Readings) Part(ctx context.Context) (context.Context, func()) {
	outer := scopeIn(ctx)
	if outer == nil {
		return ctx, func() {}
	}
	within, end := fs.Scope(ctx, outer.account)
	atEnd(ctx, end)
	return within, end
}

// end gives back what the scope has used. It may be called more than once.
func (sc *scope) end() {
	sc.mu.Lock()
	after, flights := sc.after, sc.uses
	sc.ended, sc.after, sc.uses = true, nil, nil
	sc.mu.Unlock()
	for _, f := range flights {
		f.readings.leave(f)
	}
	for _, f := range after {
		f()
	}
}

// atEnd calls f when the context's scope ends; now, if that has ended.
func atEnd(ctx context.Context, f func()) {
	sc := scopeIn(ctx)
	if sc == nil {
		f()
		return
	}
	sc.mu.Lock()
	if !sc.ended {
		sc.after = append(sc.after, f)
		f = func() {}
	}
	sc.mu.Unlock()
	f()
}

package query

import (
	"context"
	"runtime"
)

// cpuSlots (see package access/limit for the other limiters) lets at most as many computations of
// queries run at once as there are processors. The Go scheduler gives each goroutine that can run
// a slice of 10 ms in turn. If thirty of them decoded nodes at once, a short request that is no
// query would wait for all thirty at each of its steps.
type cpuSlots chan struct{}

func newCPUSlots() cpuSlots { return make(cpuSlots, runtime.GOMAXPROCS(0)) }

type cpuSlotsKey struct{}

// within returns a context whose OnCPU waits for a slot.
func (t cpuSlots) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, cpuSlotsKey{}, t)
}

// OnCPU runs f, which only computes, when a slot is free; at once if ctx is of no query. The error
// is f's, or ctx's if that ends before.
func OnCPU(ctx context.Context, f func() error) error {
	t, _ := ctx.Value(cpuSlotsKey{}).(cpuSlots)
	if t == nil {
		return f()
	}
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t }()
	return f()
}

package query

import (
	"context"
	"runtime"
)

// cpuSlots lets no more of the queries' computations run at once than there are processors. Go gives
// goroutines that can run one turn of 10 ms after the other: of thirty that decode nodes side by
// side, a short request, which no query is, would wait for all of them at each of its steps.
type cpuSlots chan struct{}

func newCPUSlots() cpuSlots { return make(cpuSlots, runtime.GOMAXPROCS(0)) }

type cpuSlotsKey struct{}

// within returns a context whose work computes in turns.
func (t cpuSlots) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, cpuSlotsKey{}, t)
}

// OnCPU runs f, which only computes, when it is its turn: at once, if ctx is of no query. The
// error is f's, or ctx's if that ends before.
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

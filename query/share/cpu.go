package share

import (
	"context"
	"runtime"
)

// CPU (see package access/limit for the other limiters) lets at most as many computations of
// queries run at once as there are processors. The Go scheduler gives each goroutine that can run
// a slice of 10 ms in turn. If thirty of them decoded nodes at once, a short request that is no
// query would wait for all thirty at each of its steps.
type CPU chan struct{}

// NewCPU returns a slot for each processor.
func NewCPU() CPU { return make(CPU, runtime.GOMAXPROCS(0)) }

type cpuKey struct{}

// Within returns a context whose OnCPU waits for a slot.
func (t CPU) Within(ctx context.Context) context.Context {
	return context.WithValue(ctx, cpuKey{}, t)
}

// OnCPU runs f, which only computes, when a slot is free; at once if ctx is of no query. The error
// is f's, or ctx's if that ends before.
func OnCPU(ctx context.Context, f func() error) error {
	t, _ := ctx.Value(cpuKey{}).(CPU)
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

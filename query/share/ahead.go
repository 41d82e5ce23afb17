package share

import (
	"context"
)

// ReadAhead is how many things are loaded while the one before them is used: what an answer of
// many nodes takes of memory, however many they are.
const ReadAhead = 8

// InOrder begins to load the first of n things, each in a goroutine, and returns a function that is
// to be asked for each in turn, from 0 on, and begins the next ones meanwhile. Who does not ask for
// all ends ctx; load must return then.
func InOrder[T any](
	ctx context.Context, n int, load func(ctx context.Context, i int) T,
) func(i int) T {
	slots := make([]chan T, n)
	begin := func(i int) {
		if i < n {
			slots[i] = make(chan T, 1)
			go func() { slots[i] <- load(ctx, i) }()
		}
	}
	for i := range min(ReadAhead, n) {
		begin(i)
	}
	return func(i int) T {
		v := <-slots[i]
		slots[i] = nil
		begin(i + ReadAhead)
		return v
	}
}

package query

import (
	"context"
	"slices"
)

// endsAfter is after how many comparisons a sorting looks at its context.
const endsAfter = 256

// sortStable sorts a list until ctx ends: then the order is any, and the error ctx's. Comparing the
// labels of 100,000 series with each other takes a second.
func sortStable[T any](ctx context.Context, list []T, compare func(a, b T) int) error {
	done := 0
	var err error
	slices.SortStableFunc(list, func(a, b T) int {
		if done++; done%endsAfter == 0 && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0
		}
		return compare(a, b)
	})
	return err
}

// readAhead is how many things are loaded while the one before them is used: what an answer of
// many nodes takes of memory, however many they are.
const readAhead = 8

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
	for i := range min(readAhead, n) {
		begin(i)
	}
	return func(i int) T {
		v := <-slots[i]
		slots[i] = nil
		begin(i + readAhead)
		return v
	}
}

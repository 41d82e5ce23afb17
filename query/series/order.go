package series

import (
	"context"
	"slices"
)

// endsAfter is after how many comparisons a sorting looks at its context.
const endsAfter = 256

// SortStable sorts a list until ctx ends: then the order is any, and the error ctx's. Comparing the
// labels of 100,000 series with each other takes a second.
func SortStable[T any](ctx context.Context, list []T, compare func(a, b T) int) error {
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

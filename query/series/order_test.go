package series

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortEnds: a sorting ends some comparisons after its context, and else sorts.
func TestSortEnds(t *testing.T) {
	list := make([]int, 100_000)
	for i := range list {
		list[i] = rand.IntN(1000)
	}
	want := slices.Sorted(slices.Values(list))
	compared := 0
	ctx, cancel := context.WithCancel(t.Context())
	err := SortStable(ctx, slices.Clone(list), func(a, b int) int {
		if compared++; compared == 10_000 {
			cancel()
		}
		return cmp.Compare(a, b)
	})
	if err == nil || compared > 10_000+endsAfter {
		t.Errorf("%v after %d comparisons", err, compared)
	}
	if err := SortStable(t.Context(), list, cmp.Compare[int]); err != nil ||
		!slices.Equal(list, want) {
		t.Error("it does not sort", err)
	}
}

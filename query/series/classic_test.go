package series

import (
	"slices"
	"testing"
)

// TestExposedBuckets: of the many bounds of Cassandra every eighth is shown, of few all. Ingest has
// 14 bounds, and of every eighth the p99 of frames that took half a second read eight seconds.
func TestExposedBuckets(t *testing.T) {
	for _, c := range []struct {
		bounds int
		want   []int
	}{
		{0, []int{0}},
		{1, []int{0, 1}},
		{14, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
		{33, []int{7, 15, 23, 31, 32, 33}},
	} {
		if got := ExposedBuckets(c.bounds); !slices.Equal(got, c.want) {
			t.Errorf("of %d bounds %v are shown, not %v", c.bounds, got, c.want)
		}
	}
	if got := ExposedBuckets(32); len(got) != 33 {
		t.Errorf("of 32 bounds %v are shown", got)
	}
	if got := ExposedBuckets(164); len(got) != 22 {
		t.Errorf("of 164 bounds %d buckets are shown", len(got))
	}
}

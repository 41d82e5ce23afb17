package read

import (
	"slices"
	"testing"
)

func TestJoinInstants(t *testing.T) {
	for _, c := range []struct{ a, b, want []int64 }{
		{nil, nil, nil},
		{nil, []int64{1}, []int64{1}},
		{[]int64{1}, nil, []int64{1}},
		{[]int64{1, 2}, []int64{1, 2}, []int64{1, 2}},
		{[]int64{1, 2}, []int64{3}, []int64{1, 2, 3}},
		{[]int64{3}, []int64{1, 2}, []int64{1, 2, 3}},
		{[]int64{1, 3, 5}, []int64{2, 3, 4}, []int64{1, 2, 3, 4, 5}},
	} {
		a, b := slices.Clone(c.a), slices.Clone(c.b)
		if got := joinInstants(a, b); !slices.Equal(got, c.want) {
			t.Errorf("%v and %v: %v, not %v", c.a, c.b, got, c.want)
		}
		if !slices.Equal(a, c.a) || !slices.Equal(b, c.b) {
			t.Errorf("%v and %v have become %v and %v", c.a, c.b, a, b)
		}
	}
}

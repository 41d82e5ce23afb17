package window

import (
	"slices"
	"strconv"
	"strings"
)

// RowKey is a map key for label values. A label value may hold any byte, so lengths keep
// ("a","b") and ("ab","") apart.
func RowKey(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteString(strconv.Itoa(len(v)))
		b.WriteByte(':')
		b.WriteString(v)
	}
	return b.String()
}

// SortRows returns rows of label values in ascending order, as Dictionary.Rows has them, and by
// index of each given row its index among the sorted ones.
func SortRows(rows [][]string) (sorted [][]string, order []int32) {
	from := make([]int32, len(rows))
	for i := range from {
		from[i] = int32(i)
	}
	slices.SortFunc(from, func(a, b int32) int { return slices.Compare(rows[a], rows[b]) })
	sorted, order = make([][]string, len(from)), make([]int32, len(from))
	for to, i := range from {
		sorted[to], order[i] = rows[i], int32(to)
	}
	return sorted, order
}

// Inverse returns the way back of a translation to numbers below size; −1: nothing leads there.
func Inverse(numbers []int32, size int) []int32 {
	back := make([]int32, size)
	for i := range back {
		back[i] = -1
	}
	for i, n := range numbers {
		if n >= 0 {
			back[n] = int32(i)
		}
	}
	return back
}

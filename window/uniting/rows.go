package uniting

import (
	"iter"
	"slices"
	"strings"
)

// uniteRows returns the rows of both lists. It is one of the lists if that has all.
func uniteRows(a, b [][]string) [][]string {
	n := 0
	for range rowPairs(a, b) {
		n++
	}
	switch n {
	case len(a):
		return a
	case len(b):
		return b
	}
	out := make([][]string, 0, n)
	for i, j := range rowPairs(a, b) {
		if i < 0 {
			out = append(out, b[j])
		} else {
			out = append(out, a[i])
		}
	}
	return out
}

// rowPairs are the rows of two ascending lists, each with its index in both; −1: it is not there.
func rowPairs(a, b [][]string) iter.Seq2[int, int] {
	return func(yield func(i, j int) bool) {
		for i, j := 0, 0; i < len(a) || j < len(b); {
			order := 0
			switch {
			case i == len(a):
				order = 1
			case j == len(b):
				order = -1
			default:
				order = slices.CompareFunc(a[i], b[j], strings.Compare)
			}
			var more bool
			switch {
			case order < 0:
				more = yield(i, -1)
				i++
			case order > 0:
				more = yield(-1, j)
				j++
			default:
				more = yield(i, j)
				i, j = i+1, j+1
			}
			if !more {
				return
			}
		}
	}
}

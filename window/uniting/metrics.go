package uniting

import (
	"slices"

	"github.com/ringwatch/ringwatch/window"
)

// uniteMetrics returns a and those of b that are not in a.
func uniteMetrics(a, b []window.Metric) []window.Metric {
	next := 0
	for i := range b {
		n := findMetric(a, &b[i], next)
		if n < 0 {
			n = len(a)
			a = append(a, b[i])
		}
		next = n + 1
	}
	return a
}

// findMetric returns the number of a metric in a list, −1 if there is none. It looks at next first.
func findMetric(list []window.Metric, m *window.Metric, next int) int {
	if next < len(list) && list[next].Equal(m) {
		return next
	}
	return slices.IndexFunc(list, func(o window.Metric) bool { return o.Equal(m) })
}

package payload

import (
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// quantiles are those that Cassandra's own tools show.
var quantiles = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p75", 0.75}, {"p95", 0.95}, {"p98", 0.98}, {"p99", 0.99}, {"p999", 0.999}}

// quantile estimates the q-quantile of total observations counted in buckets, as PromQL's
// histogram_quantile does: linear within a bucket, the first bucket from 0 if its bound is above
// 0, and what lies above the last bound counts as the last bound.
func quantile(q float64, h *window.Histogram, total int64, bounds *frame.Bounds) float64 {
	rank := q * float64(total)
	var below int64
	for j, b := range h.Filled {
		i, n := int(b), h.Counts[j]
		if n <= 0 || float64(below+n) < rank {
			below += max(n, 0)
			continue
		}
		if i == len(bounds.Upper) {
			break
		}
		upper, lower := frame.Scale(bounds.Upper[i], bounds.Exponent), 0.0
		switch {
		case i > 0:
			lower = frame.Scale(bounds.Upper[i-1], bounds.Exponent)
		case upper <= 0:
			return upper
		}
		// A rounding may not take it above the bound, where the next bucket begins.
		return min(upper, lower+(upper-lower)*(rank-float64(below))/float64(n))
	}
	return frame.Scale(bounds.Upper[len(bounds.Upper)-1], bounds.Exponent)
}

// highest returns the number of the highest bucket that is not empty, -1 if all are.
func highest(h *window.Histogram) int {
	for i := len(h.Filled) - 1; i >= 0; i-- {
		if h.Counts[i] > 0 {
			return int(h.Filled[i])
		}
	}
	return -1
}

// difference returns what was observed between two values of a histogram. If any count went back,
// the node started again and everything in the later value is new.
func difference(before, after *window.Histogram) window.Histogram {
	d := window.Histogram{Size: after.Size, Sum: after.Sum - before.Sum}
	i := 0
	for j, b := range after.Filled {
		n := after.Counts[j]
		if i < len(before.Filled) && before.Filled[i] == b {
			n -= before.Counts[i]
			i++
		}
		// less in a bucket, or nothing where there was something
		if n < 0 || i < len(before.Filled) && before.Filled[i] < b {
			return *after
		}
		if n > 0 {
			d.Filled, d.Counts = append(d.Filled, b), append(d.Counts, n)
		}
	}
	if i < len(before.Filled) {
		return *after
	}
	return d
}

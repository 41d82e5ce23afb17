package following

import (
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// sumOf adds up a key frame's buckets and a difference; either may be nil.
func sumOf(m *window.Metric, a, b *frame.Buckets) window.Histogram {
	h := window.Histogram{Size: m.Buckets()}
	var none frame.Buckets
	if a == nil {
		a = &none
	}
	if b == nil {
		b = &none
	}
	h.Sum = a.Sum + b.Sum
	size := unionSize(a.Index, b.Index)
	if size == 0 {
		return h
	}
	h.Filled, h.Counts = make([]uint16, 0, size), make([]int64, 0, size)
	for i, j := 0, 0; i < len(a.Index) || j < len(b.Index); {
		var bucket int32
		var n int64
		switch {
		case j == len(b.Index) || i < len(a.Index) && a.Index[i] < b.Index[j]:
			bucket, n = a.Index[i], a.Count[i]
			i++
		case i == len(a.Index) || b.Index[j] < a.Index[i]:
			bucket, n = b.Index[j], b.Count[j]
			j++
		default:
			bucket, n = a.Index[i], a.Count[i]+b.Count[j]
			i, j = i+1, j+1
		}
		if n != 0 {
			h.Filled, h.Counts = append(h.Filled, uint16(bucket)), append(h.Counts, n)
		}
	}
	return h
}

// unionSize returns how many buckets are in one list or the other; both ascend. It is counted first
// because histograms are kept: most buckets that move are in both.
func unionSize(a, b []int32) int {
	n, j := len(a)+len(b), 0
	for _, bucket := range a {
		for j < len(b) && b[j] < bucket {
			j++
		}
		if j < len(b) && b[j] == bucket {
			n--
		}
	}
	return n
}

package series

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// UpperBounds returns a histogram's bounds without the infinite one, in the metric's unit.
func UpperBounds(b *frame.Bounds) []float64 {
	list := make([]float64, len(b.Upper))
	for i, v := range b.Upper {
		list[i] = frame.Scale(v, b.Exponent)
	}
	return list
}

// native writes a histogram as Prometheus's native one with custom buckets: the bounds are
// Cassandra's own, so that nothing is lost and histograms of a fleet add up exactly. into is used
// again if it is not nil.
func native(
	m *window.Metric, bounds []float64, h *window.Histogram, into *histogram.FloatHistogram,
) *histogram.FloatHistogram {
	into = emptied(m, bounds, into)
	into.Sum = HistogramSum(m, h.Sum)
	next := int32(0) // the bucket after the last one
	for i, b := range h.Filled {
		n := float64(h.Counts[i])
		into.Count += n
		into.PositiveBuckets = append(into.PositiveBuckets, n)
		next = span(into, int32(b), next)
	}
	return into
}

// NativeDense is native of counts by bucket.
func NativeDense(
	m *window.Metric, bounds, counts []float64, sum float64,
) *histogram.FloatHistogram {
	h := emptied(m, bounds, nil)
	h.Sum = sum
	next := int32(0)
	for b, n := range counts {
		if n == 0 {
			continue
		}
		h.Count += n
		h.PositiveBuckets = append(h.PositiveBuckets, n)
		next = span(h, int32(b), next)
	}
	return h
}

// span appends a bucket to the last span, or begins one. It returns the bucket after it.
func span(h *histogram.FloatHistogram, bucket, next int32) int32 {
	if n := len(h.PositiveSpans); n > 0 && bucket == next {
		h.PositiveSpans[n-1].Length++
	} else {
		h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: bucket - next, Length: 1})
	}
	return bucket + 1
}

// emptied returns a histogram of a metric without observations.
func emptied(
	m *window.Metric, bounds []float64, into *histogram.FloatHistogram,
) *histogram.FloatHistogram {
	if into == nil {
		into = &histogram.FloatHistogram{}
	}
	*into = histogram.FloatHistogram{
		Schema: histogram.CustomBucketsSchema, CustomValues: bounds,
		PositiveSpans: into.PositiveSpans[:0], PositiveBuckets: into.PositiveBuckets[:0],
	}
	if m.Kind == frame.GaugeHistogram {
		into.CounterResetHint = histogram.GaugeType
	}
	return into
}

// HistogramSum returns the sum of a histogram; NaN if Cassandra keeps none.
func HistogramSum(m *window.Metric, sum int64) float64 {
	if !m.HasSum {
		return math.NaN()
	}
	return frame.Scale(sum, m.Exponent)
}

// isReset reports whether a histogram has counted less than the one before it in any bucket.
func isReset(before, h *window.Histogram) bool {
	j := 0
	for i, b := range before.Filled {
		for j < len(h.Filled) && h.Filled[j] < b {
			j++
		}
		if j == len(h.Filled) || h.Filled[j] != b || h.Counts[j] < before.Counts[i] {
			return true
		}
	}
	return false
}

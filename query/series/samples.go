package series

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Samples are values of one series in ascending order of time, in ms. Value is for those that are
// no histograms; those that are have Histogram (see histogramSamples).
type Samples interface {
	Len() int
	Time(i int) int64
	Value(i int) float64
	IsHistogram() bool
}

// histogramSamples are samples whose values are native histograms.
type histogramSamples interface {
	Samples
	// Histogram writes the value into a histogram, or a new one if that is nil, and returns it.
	Histogram(i int, into *histogram.FloatHistogram) *histogram.FloatHistogram
}

// Floats are the values of a counter or a gauge.
type Floats struct{ *window.Series }

// Len implements Samples, as do the methods below it.
func (s Floats) Len() int          { return len(s.At) }
func (s Floats) Time(i int) int64  { return s.At[i] }
func (s Floats) IsHistogram() bool { return false }

func (s Floats) Value(i int) float64 {
	if s.Metric.Kind == frame.GaugeDouble {
		return s.Doubles[i]
	}
	return frame.Scale(s.Ints[i], s.Metric.Exponent)
}

// Histograms are native histograms.
type Histograms struct {
	*window.Series
	Bounds []float64
}

// Len implements Samples, as do the methods below it.
func (s Histograms) Len() int          { return len(s.At) }
func (s Histograms) Time(i int) int64  { return s.At[i] }
func (s Histograms) IsHistogram() bool { return true }

// bucketCounts are how many observations lie in the buckets up to one.
type bucketCounts struct {
	*window.Series
	bucket uint16
}

func (s bucketCounts) Len() int          { return len(s.At) }
func (s bucketCounts) Time(i int) int64  { return s.At[i] }
func (s bucketCounts) IsHistogram() bool { return false }

func (s bucketCounts) Value(i int) float64 {
	h := &s.Histograms[i]
	var n int64
	for j, b := range h.Filled {
		if b > s.bucket {
			break
		}
		n += h.Counts[j]
	}
	return float64(n)
}

// counts are how many observations there are.
type counts struct{ *window.Series }

func (s counts) Len() int            { return len(s.At) }
func (s counts) Time(i int) int64    { return s.At[i] }
func (s counts) IsHistogram() bool   { return false }
func (s counts) Value(i int) float64 { return float64(s.Histograms[i].Count()) }

// sums are the sums of all observations.
type sums struct{ *window.Series }

func (s sums) Len() int            { return len(s.At) }
func (s sums) Time(i int) int64    { return s.At[i] }
func (s sums) IsHistogram() bool   { return false }
func (s sums) Value(i int) float64 { return frame.Scale(s.Histograms[i].Sum, s.Metric.Exponent) }

// Presence are the instants of something that is there or not.
type Presence []int64

// Len implements Samples, as do the methods below it.
func (s Presence) Len() int          { return len(s) }
func (s Presence) Time(i int) int64  { return s[i] }
func (s Presence) IsHistogram() bool { return false }
func (s Presence) Value(int) float64 { return 1 }

func (s Histograms) Value(int) float64 { return math.NaN() }

func (s Histograms) Histogram(i int, into *histogram.FloatHistogram) *histogram.FloatHistogram {
	into = native(s.Metric, s.Bounds, &s.Histograms[i], into)
	if i > 0 && s.Metric.Kind == frame.Histogram {
		into.CounterResetHint = histogram.NotCounterReset
		if isReset(&s.Histograms[i-1], &s.Histograms[i]) {
			into.CounterResetHint = histogram.CounterReset
		}
	}
	return into
}

// SamplesOf returns a view of a stored series' values. upper are a histogram's bounds.
func SamplesOf(s *window.Series, v View, upper []float64) Samples {
	switch {
	case v.Suffix == SuffixSum:
		return sums{s}
	case v.Suffix == SuffixCount:
		return counts{s}
	case v.Suffix == SuffixBucket:
		return bucketCounts{s, uint16(v.Bucket)}
	case s.Metric.Kind.IsHistogram():
		return Histograms{s, upper}
	}
	return Floats{s}
}

package listener

import (
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// addMetric adds a series to the sum of those before, with the oldest time of creation. It leaves
// out quantiles, which cannot be added; exemplars, which may have names; and the buckets of
// native histograms, whose classic buckets stay.
func addMetric(sum, m *dto.Metric) {
	switch {
	case m.Counter != nil:
		if sum.Counter == nil {
			sum.Counter = &dto.Counter{CreatedTimestamp: m.Counter.CreatedTimestamp}
		}
		sum.Counter.Value = new(sum.Counter.GetValue() + m.Counter.GetValue())
	case m.Gauge != nil:
		if sum.Gauge == nil {
			sum.Gauge = &dto.Gauge{}
		}
		sum.Gauge.Value = new(sum.Gauge.GetValue() + m.Gauge.GetValue())
	case m.Untyped != nil:
		if sum.Untyped == nil {
			sum.Untyped = &dto.Untyped{}
		}
		sum.Untyped.Value = new(sum.Untyped.GetValue() + m.Untyped.GetValue())
	case m.Summary != nil:
		if sum.Summary == nil {
			sum.Summary = &dto.Summary{CreatedTimestamp: m.Summary.CreatedTimestamp}
		}
		sum.Summary.SampleCount = new(sum.Summary.GetSampleCount() + m.Summary.GetSampleCount())
		sum.Summary.SampleSum = new(sum.Summary.GetSampleSum() + m.Summary.GetSampleSum())
	case m.Histogram != nil:
		if sum.Histogram == nil {
			sum.Histogram = &dto.Histogram{CreatedTimestamp: m.Histogram.CreatedTimestamp}
		}
		addHistogram(sum.Histogram, m.Histogram)
	}
}

// addHistogram adds cumulative counts of buckets. If only one of the two has a bound, the other is
// taken to have as many below it as below its next lower bound.
func addHistogram(sum, m *dto.Histogram) {
	bounds := make([]float64, 0, len(m.Bucket))
	for _, b := range slices.Concat(sum.Bucket, m.Bucket) {
		bounds = append(bounds, b.GetUpperBound())
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	merged := make([]*dto.Bucket, len(bounds))
	for i, bound := range bounds {
		n := below(sum.Bucket, bound) + below(m.Bucket, bound)
		merged[i] = &dto.Bucket{UpperBound: new(bound), CumulativeCount: new(n)}
	}
	sum.Bucket = merged
	sum.SampleCount = new(sum.GetSampleCount() + m.GetSampleCount())
	sum.SampleSum = new(sum.GetSampleSum() + m.GetSampleSum())
}

// below returns how many observations are in the buckets up to a bound.
func below(buckets []*dto.Bucket, bound float64) (n uint64) {
	for _, b := range buckets {
		if b.GetUpperBound() <= bound {
			n = max(n, b.GetCumulativeCount())
		}
	}
	return n
}

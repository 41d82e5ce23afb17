package peers

import (
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/prompb"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// classic is a histogram as a Prometheus that scrapes Ringwatch keeps it: of the buckets those
// that are exposed, cumulative.
func classic(s *window.Series) []prompb.TimeSeries {
	cumulative := make([][]int64, len(s.Histograms))
	var last int64
	for i := range s.Histograms {
		c := s.Histograms[i].Dense(nil)
		for b := 1; b < len(c); b++ {
			c[b] += c[b-1]
		}
		cumulative[i] = c
		last = c[len(c)-1]
	}
	if last == 0 && s.Metric.Kind == frame.Histogram {
		return nil
	}
	one := func(t prompb.TimeSeries, of func(i int) float64) prompb.TimeSeries {
		t.Samples = make([]prompb.Sample, len(s.At))
		for i, at := range s.At {
			t.Samples[i] = prompb.Sample{Value: of(i), Timestamp: at}
		}
		return t
	}
	bounds := len(s.Metric.Bounds.Upper)
	upTo := func(bucket int) func(int) float64 {
		return func(i int) float64 { return float64(cumulative[i][bucket]) }
	}
	list := []prompb.TimeSeries{one(named(s, "_count"), upTo(bounds))}
	if s.Metric.HasSum {
		list = append(list,
			one(named(s, "_sum"), func(i int) float64 {
				return frame.Scale(s.Histograms[i].Sum, s.Metric.Exponent)
			}))
	}
	for _, bucket := range series.ExposedBuckets(bounds) {
		list = append(list,
			one(named(s, "_bucket", prompb.Label{Name: "le", Value: le(s.Metric.Bounds, bucket)}),
				upTo(bucket)))
	}
	return list
}

// le is a bound as Prometheus 3 keeps it.
func le(b *frame.Bounds, bucket int) string {
	if bucket == len(b.Upper) {
		return "+Inf"
	}
	text := strconv.FormatFloat(frame.Scale(b.Upper[bucket], b.Exponent), 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

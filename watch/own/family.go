package own

import (
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// family adds what a metric's family has: a counter, a gauge or a histogram as one metric, a
// summary as its quantiles, sum and count.
func (b *builder) family(f *dto.MetricFamily) {
	name := f.GetName()
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		b.counter(name, f.Metric, func(m *dto.Metric) float64 { return m.Counter.GetValue() })
	case dto.MetricType_HISTOGRAM:
		b.histogram(name, f.Metric)
	case dto.MetricType_SUMMARY:
		b.counter(name+"_sum", f.Metric, func(m *dto.Metric) float64 {
			return m.Summary.GetSampleSum()
		})
		b.counter(name+"_count", f.Metric, func(m *dto.Metric) float64 {
			return float64(m.Summary.GetSampleCount())
		})
		b.quantiles(name, f.Metric)
	case dto.MetricType_GAUGE, dto.MetricType_UNTYPED:
		var list []sample
		for _, m := range f.Metric {
			v := m.Gauge.GetValue()
			if m.Untyped != nil {
				v = m.Untyped.GetValue()
			}
			if !math.IsNaN(v) { // a series without a value is left out, as everywhere
				list = append(list, sample{labels: m.Label, double: v})
			}
		}
		b.template(frame.Metric{Name: name, Kind: frame.GaugeDouble, Unit: reading.UnitOf(name)},
			list)
	default: // gauge histograms, which nothing here has
		b.left += len(f.Metric)
	}
}

func (b *builder) counter(name string, from []*dto.Metric, value func(*dto.Metric) float64) {
	exponent := exponentOf(name)
	var list []sample
	for _, m := range from {
		n, fits := whole(value(m), exponent)
		if !fits {
			b.left++
			continue
		}
		list = append(list, sample{labels: m.Label, number: n})
	}
	b.template(frame.Metric{Name: name, Kind: frame.Counter, Unit: reading.UnitOf(name),
		Exponent: exponent},
		list)
}

func (b *builder) quantiles(name string, from []*dto.Metric) {
	var list []sample
	for _, m := range from {
		for _, q := range m.Summary.GetQuantile() {
			if math.IsNaN(q.GetValue()) {
				continue
			}
			quantile, text := "quantile", strconv.FormatFloat(q.GetQuantile(), 'g', -1, 64)
			labels := append(m.Label[:len(m.Label):len(m.Label)],
				&dto.LabelPair{Name: &quantile, Value: &text})
			list = append(list, sample{labels: labels, double: q.GetValue()})
		}
	}
	b.template(frame.Metric{Name: name, Kind: frame.GaugeDouble, Unit: reading.UnitOf(name)}, list)
}

// histogram adds classic histograms. Native ones have other bounds each time, and are left out.
func (b *builder) histogram(name string, from []*dto.Metric) {
	if len(from) == 0 {
		return
	}
	bounds, fit := boundsOf(from[0].Histogram)
	if !fit {
		b.left += len(from)
		return
	}
	exponent := exponentOf(name)
	metric := frame.Metric{Name: name, Kind: frame.Histogram, Unit: reading.UnitOf(name),
		Exponent: exponent, HasSum: true}
	var list []sample
	for _, m := range from {
		sum, fits := whole(m.Histogram.GetSampleSum(), exponent)
		other, _ := boundsOf(m.Histogram)
		if !fits || textOf(other) != textOf(bounds) {
			b.left++
			continue
		}
		one := sample{labels: m.Label, buckets: frame.Buckets{Sum: sum}}
		before := uint64(0)
		count := func(bucket int, upTo uint64) {
			if n := upTo - min(before, upTo); n > 0 {
				one.buckets.Index = append(one.buckets.Index, int32(bucket))
				one.buckets.Count = append(one.buckets.Count, int64(n))
			}
			before = max(before, upTo)
		}
		for i, bucket := range m.Histogram.Bucket[:len(bounds.Upper)] {
			count(i, bucket.GetCumulativeCount())
		}
		count(len(bounds.Upper), m.Histogram.GetSampleCount())
		list = append(list, one)
	}
	if len(list) == 0 {
		return
	}
	var known bool
	if metric.Bounds, known = b.bounds[textOf(bounds)]; !known {
		if metric.Bounds = len(b.frame.Bounds); metric.Bounds == frame.MaxBoundsSets {
			b.left += len(list)
			return
		}
		b.bounds[textOf(bounds)] = metric.Bounds
		b.frame.Bounds = append(b.frame.Bounds, bounds)
	}
	b.template(metric, list)
}

func textOf(b frame.Bounds) string {
	var text strings.Builder
	for _, v := range b.Upper {
		text.WriteString(strconv.FormatInt(v, 36) + " ")
	}
	return text.String() + strconv.Itoa(b.Exponent)
}

// maxDecimals is how many decimals of bounds are kept: those of 0.001 × 2^n, and more.
const maxDecimals = 12

// boundsOf returns a classic histogram's bounds as decimals; false if a frame cannot hold them.
func boundsOf(h *dto.Histogram) (frame.Bounds, bool) {
	var list []float64
	decimals := 0
	for _, bucket := range h.GetBucket() {
		v := bucket.GetUpperBound()
		if math.IsInf(v, 1) {
			continue
		}
		list = append(list, v)
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if _, after, found := strings.Cut(text, "."); found {
			decimals = min(max(decimals, len(after)), maxDecimals)
		}
	}
	b := frame.Bounds{Exponent: -decimals}
	for i, v := range list {
		digits := strings.Replace(strconv.FormatFloat(v, 'f', decimals, 64), ".", "", 1)
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || i > 0 && n <= b.Upper[i-1] {
			return frame.Bounds{}, false
		}
		b.Upper = append(b.Upper, n)
	}
	return b, len(b.Upper) > 0 && len(b.Upper) <= frame.MaxBounds
}

// exponentOf returns in which part of its unit a metric counts, by its name, so that it never
// changes: 2^63 ns are 292 years, and thousandths of anything else are more than anybody counts.
func exponentOf(name string) int {
	switch reading.UnitOf(name) {
	case "seconds":
		return -9
	case "bytes":
		return 0
	}
	return -3
}

// whole returns v in units of 10^exponent; false if it is none that a counter may have.
func whole(v float64, exponent int) (int64, bool) {
	scaled := math.Round(v * math.Pow10(-exponent))
	if math.IsNaN(scaled) || scaled < 0 || scaled >= 1<<63 {
		return 0, false
	}
	return int64(scaled), true
}

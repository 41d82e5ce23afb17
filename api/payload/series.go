// Package payload writes the elements of a node's payload in JSON, one per series, and says their
// size. Begin with Options. Of our packages it imports frame, window, and api/budget and
// api/literal.
package payload

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// The JSON of a value, in the shape operators know. Every number that was measured is a string
// with its exact decimal digits, so that no client rounds it by reading it as a double; quantiles
// are estimates of six digits.
//
//	{"value":"1.6","time":"2019-09-03T00:48:05.000Z"}
//
//	{"time":…,"count":"12","sum":"0.25","p50":…,"p75":…,"p95":…,"p98":…,"p99":…,"p999":…,"max":…,
//	 "buckets":[{"le":"0.001","count":"7"},…,{"le":"+Inf","count":"12"}],
//	 "interval":{"count":"3","sum":…,"p50":…,…}}
//
// count, sum, quantiles and buckets are since the node started (of a gauge_histogram: at that
// instant). interval says the same of what came since the value before it in the same answer, and
// is not there in the first one. Bucket counts are cumulative over buckets; a bucket that adds
// nothing to the one below is left out. Without observations there are no quantiles; max is the
// bound of the highest bucket that has any and is left out if that has no bound; sum is there if
// the node counts it.

// Options are how a request wants the values of a time range.
type Options struct {
	NaN      bool  // say NaN where there is no number, instead of nothing
	From, To int64 // ms, both inclusive
	Step     int64 // ms, 0: every value
}

// AppendSeries appends one element of a payload. Doubles that are no number are left out; with
// reportNaN=true they are there as "NaN", and so is each step of a range without a value, at its
// end. Histograms and texts have no NaN.
func (o *Options) AppendSeries(dst []byte, s *window.Series) []byte {
	dst = appendSeriesHead(dst, s.Labels, s.Metric)
	steps := o.steps(s)
	fill := steps > 0
	step := int64(0) // of the next value, counted from the range's beginning
	none := func(until int64) {
		for ; step < until; step++ {
			dst = append(dst, `{"value":"NaN","time":"`...)
			dst = append(dst, literal.Time(o.To-(steps-1-step)*o.Step)...)
			dst = append(dst, `"},`...)
		}
	}
	for i := range s.At {
		if !o.NaN && s.Metric.Kind == frame.GaugeDouble && math.IsNaN(s.Doubles[i]) {
			continue
		}
		if fill {
			at := steps - 1 - (o.To-s.At[i])/o.Step
			none(at)
			step = at + 1
		}
		dst = append(appendValue(dst, s, i), ',')
	}
	none(steps)
	return append(bytes.TrimSuffix(dst, []byte(",")), "]}"...)
}

// steps returns how many steps a series has in an answer that says NaN where it has no value; 0 if
// the answer does not say so of this one.
func (o *Options) steps(s *window.Series) int64 {
	if !o.NaN || o.Step == 0 || s.Metric.Kind.IsHistogram() || s.Metric.Kind == frame.String {
		return 0
	}
	return (o.To-o.From)/o.Step + 1
}

// fills returns how many values AppendSeries makes up for a series, which has at most one a step.
func (o *Options) fills(s *window.Series) int {
	return int(max(0, o.steps(s)-int64(len(s.At))))
}

// AppendHead appends what stands before the values of a metric that has a type and a unit.
func AppendHead(dst []byte, metric, kind, unit string, l labels.Labels) []byte {
	dst = append(dst, `{"metric":`...)
	dst = literal.AppendString(dst, metric)
	dst = append(dst, `,"type":`...)
	dst = literal.AppendString(dst, kind)
	dst = append(dst, `,"unit":`...)
	dst = literal.AppendString(dst, unit)
	dst = append(dst, `,"labels":{`...)
	first := true
	eachEntityLabel(l, func(name, value string) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(literal.AppendString(dst, name), ':')
		dst = literal.AppendString(dst, value)
	})
	return append(dst, `},"values":[`...)
}

func appendSeriesHead(dst []byte, l labels.Labels, m *window.Metric) []byte {
	return AppendHead(dst, m.Name, typeName(m.Kind), m.Unit, l)
}

// typeName is how a kind is called where nobody cares whether a gauge is a double.
func typeName(k frame.Kind) string {
	if k == frame.GaugeDouble {
		k = frame.Gauge
	}
	return k.String()
}

// eachEntityLabel calls f for the labels that are the entity's own.
func eachEntityLabel(all labels.Labels, f func(name, value string)) {
	all.Range(func(l labels.Label) {
		switch l.Name {
		case labels.MetricName, "cluster", "datacenter", "rack", "node":
		default:
			f(l.Name, l.Value)
		}
	})
}

func appendValue(dst []byte, s *window.Series, i int) []byte {
	if !s.Metric.Kind.IsHistogram() {
		dst = append(dst, `{"value":`...)
		if s.Metric.Kind == frame.String {
			dst = literal.AppendString(dst, s.Strings[i])
		} else {
			dst = append(dst, '"')
			dst = append(literal.AppendNumber(dst, s, i), '"')
		}
		dst = append(dst, `,"time":"`...)
		dst = time.UnixMilli(s.At[i]).UTC().AppendFormat(dst, literal.TimeFormat)
		return append(dst, `"}`...)
	}
	h := &s.Histograms[i]
	dst = append(dst, `{"time":"`...)
	dst = time.UnixMilli(s.At[i]).UTC().AppendFormat(dst, literal.TimeFormat)
	dst = append(dst, `",`...)
	dst = appendSummary(dst, s.Metric, h)
	dst = append(dst, `,"buckets":[`...)
	dst = append(appendBuckets(dst, s.Metric, h), ']')
	if i > 0 && s.Metric.Kind == frame.Histogram {
		d := difference(&s.Histograms[i-1], h)
		dst = append(dst, `,"interval":{`...)
		dst = append(appendSummary(dst, s.Metric, &d), '}')
	}
	return append(dst, '}')
}

// appendBuckets appends the counts, cumulative over buckets.
func appendBuckets(dst []byte, m *window.Metric, h *window.Histogram) []byte {
	var total int64
	for i, b := range h.Filled {
		total += h.Counts[i]
		if int(b) == h.Size-1 {
			continue
		}
		dst = append(dst, `{"le":"`...)
		dst = literal.AppendDecimal(dst, m.Bounds.Upper[b], m.Bounds.Exponent)
		dst = append(dst, `","count":"`...)
		dst = append(strconv.AppendInt(dst, total, 10), `"},`...)
	}
	dst = append(dst, `{"le":"+Inf","count":"`...)
	return append(strconv.AppendInt(dst, total, 10), `"}`...)
}

func appendSummary(dst []byte, m *window.Metric, h *window.Histogram) []byte {
	total := h.Count()
	dst = append(dst, `"count":"`...)
	dst = append(strconv.AppendInt(dst, total, 10), '"')
	if m.HasSum {
		dst = append(dst, `,"sum":"`...)
		dst = append(literal.AppendDecimal(dst, h.Sum, m.Exponent), '"')
	}
	if total <= 0 {
		return dst
	}
	for _, q := range quantiles {
		dst = append(dst, `,"`...)
		dst = append(dst, q.name...)
		dst = append(dst, `":"`...)
		dst = append(literal.AppendEstimate(dst, quantile(q.q, h, total, m.Bounds)), '"')
	}
	if top := highest(h); top < len(m.Bounds.Upper) {
		dst = append(dst, `,"max":"`...)
		dst = append(literal.AppendDecimal(dst, m.Bounds.Upper[top], m.Bounds.Exponent), '"')
	}
	return dst
}

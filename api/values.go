package api

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"

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

// appendSeries appends one element of a payload. Doubles that are no number are left out; with
// reportNaN=true they are there as "NaN", and so is each step of a range without a value, at its
// end. Histograms and texts have no NaN.
func (q *metricsQuery) appendSeries(dst []byte, s *window.Series) []byte {
	dst = appendSeriesHead(dst, s.Labels, s.Metric)
	steps := q.steps(s)
	fill := steps > 0
	step := int64(0) // of the next value, counted from the range's beginning
	none := func(until int64) {
		for ; step < until; step++ {
			dst = append(dst, `{"value":"NaN","time":"`...)
			dst = append(dst, formatTime(q.to-(steps-1-step)*q.step)...)
			dst = append(dst, `"},`...)
		}
	}
	for i := range s.At {
		if !q.nan && s.Metric.Kind == frame.GaugeDouble && math.IsNaN(s.Doubles[i]) {
			continue
		}
		if fill {
			at := steps - 1 - (q.to-s.At[i])/q.step
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
func (q *metricsQuery) steps(s *window.Series) int64 {
	if !q.nan || q.step == 0 || s.Metric.Kind.IsHistogram() || s.Metric.Kind == frame.String {
		return 0
	}
	return (q.to-q.from)/q.step + 1
}

// fills returns how many values appendSeries makes up for a series, which has at most one a step.
func (q *metricsQuery) fills(s *window.Series) int {
	return int(max(0, q.steps(s)-int64(len(s.At))))
}

// appendSeriesHead appends what stands before a series' values.
func appendSeriesHead(dst []byte, l labels.Labels, m *window.Metric) []byte {
	dst = append(dst, `{"metric":`...)
	dst = appendString(dst, m.Name)
	dst = append(dst, `,"type":`...)
	dst = appendString(dst, typeName(m.Kind))
	dst = append(dst, `,"unit":`...)
	dst = appendString(dst, m.Unit)
	dst = append(dst, `,"labels":{`...)
	first := true
	eachEntityLabel(l, func(name, value string) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, name), ':')
		dst = appendString(dst, value)
	})
	return append(dst, `},"values":[`...)
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
			dst = appendString(dst, s.Strings[i])
		} else {
			dst = append(dst, '"')
			dst = append(appendNumber(dst, s, i), '"')
		}
		dst = append(dst, `,"time":"`...)
		dst = time.UnixMilli(s.At[i]).UTC().AppendFormat(dst, timeFormat)
		return append(dst, `"}`...)
	}
	h := &s.Histograms[i]
	dst = append(dst, `{"time":"`...)
	dst = time.UnixMilli(s.At[i]).UTC().AppendFormat(dst, timeFormat)
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
		dst = appendDecimal(dst, m.Bounds.Upper[b], m.Bounds.Exponent)
		dst = append(dst, `","count":"`...)
		dst = append(strconv.AppendInt(dst, total, 10), `"},`...)
	}
	dst = append(dst, `{"le":"+Inf","count":"`...)
	return append(strconv.AppendInt(dst, total, 10), `"}`...)
}

// appendNumber appends the value of a counter or a gauge.
func appendNumber(dst []byte, s *window.Series, i int) []byte {
	if s.Metric.Kind == frame.GaugeDouble {
		return appendDouble(dst, s.Doubles[i])
	}
	return appendDecimal(dst, s.Ints[i], s.Metric.Exponent)
}

func appendSummary(dst []byte, m *window.Metric, h *window.Histogram) []byte {
	total := h.Count()
	dst = append(dst, `"count":"`...)
	dst = append(strconv.AppendInt(dst, total, 10), '"')
	if m.HasSum {
		dst = append(dst, `,"sum":"`...)
		dst = append(appendDecimal(dst, h.Sum, m.Exponent), '"')
	}
	if total <= 0 {
		return dst
	}
	for _, q := range quantiles {
		dst = append(dst, `,"`...)
		dst = append(dst, q.name...)
		dst = append(dst, `":"`...)
		dst = append(appendEstimate(dst, quantile(q.q, h, total, m.Bounds)), '"')
	}
	if top := highest(h); top < len(m.Bounds.Upper) {
		dst = append(dst, `,"max":"`...)
		dst = append(appendDecimal(dst, m.Bounds.Upper[top], m.Bounds.Exponent), '"')
	}
	return dst
}

// plain reports whether encoding/json writes a text as it is: it also escapes what HTML would read.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' ||
			c == '&' {
			return false
		}
	}
	return true
}

// appendString appends text as JSON, as encoding/json does.
func appendString(dst []byte, text string) []byte {
	if plain(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // no string fails
	}
	return append(dst, b...)
}

package payload

import (
	"math"
	"time"

	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// The JSON of a rollup's value (rollup=5m, 1h or 1d, or a step of 5 minutes or more over more
// than 6 hours), with numbers as those of series.go. time is the period's begin; samples is how
// many values it sums up.
//
//	gauge      {"time":…,"samples":"180","first":"1","last":"4","min":"0","max":"9","sum":"612","mean":"3.4"}
//	counter    {"time":…,"samples":"180","first":"100","last":"700","increase":"600"}
//	histogram  {"time":…,"samples":"180","interval":{"count":…,"sum":…,"p50":…,…},"buckets":[{"le":…,"count":…},…]}
//
// increase and interval are what came between the last sample before the period and its last one,
// and right across restarts. In a gauge_histogram interval is the sum of all samples. Texts have
// no rollups.

// AppendRollup appends one element of a payload.
func AppendRollup(dst []byte, s *rollup.Series) []byte {
	dst = appendSeriesHead(dst, s.Labels, s.Metric)
	for i := range s.Start {
		if i > 0 {
			dst = append(dst, ',')
		}
		p := s.At(i)
		dst = appendPoint(dst, s.Metric, &p)
	}
	return append(dst, "]}"...)
}

func appendPoint(dst []byte, m *window.Metric, p *rollup.Point) []byte {
	dst = append(dst, `{"time":"`...)
	dst = time.UnixMilli(p.Start).UTC().AppendFormat(dst, literal.TimeFormat)
	dst = append(dst, `","samples":"`...)
	dst = append(literal.AppendDecimal(dst, p.Count, 0), '"')
	number := func(name string, v int64) {
		dst = append(append(append(dst, `,"`...), name...), `":"`...)
		dst = append(literal.AppendDecimal(dst, v, m.Exponent), '"')
	}
	switch m.Kind {
	case frame.Gauge:
		number("first", p.First)
		number("last", p.Last)
		number("min", p.Min)
		number("max", p.Max)
		dst = append(dst, `,"sum":"`...)
		dst = literal.AppendDigits(dst, []byte(p.Sum.String()), m.Exponent)
		dst = append(dst, `","mean":"`...)
		mean := p.Sum.Float64() / float64(p.Count) * math.Pow10(m.Exponent)
		dst = append(literal.AppendEstimate(dst, mean), '"')
	case frame.GaugeDouble:
		for _, v := range []struct {
			name  string
			value float64
		}{{"first", p.FirstDouble}, {"last", p.LastDouble}, {"min", p.MinDouble},
			{"max", p.MaxDouble}, {"sum", p.SumDouble}} {
			dst = append(append(append(dst, `,"`...), v.name...), `":"`...)
			dst = append(literal.AppendDouble(dst, v.value), '"')
		}
		dst = append(dst, `,"mean":"`...)
		dst = append(literal.AppendEstimate(dst, p.SumDouble/float64(p.Count)), '"')
	case frame.Counter:
		number("first", p.First)
		number("last", p.Last)
		number("increase", p.Increase)
	default:
		h := window.NewHistogram(p.Increases, p.Increase)
		dst = append(dst, `,"interval":{`...)
		dst = appendSummary(dst, m, &h)
		dst = append(dst, `},"buckets":[`...)
		dst = append(appendBuckets(dst, m, &h), ']')
	}
	return append(dst, '}')
}

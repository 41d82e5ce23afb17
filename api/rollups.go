package api

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// The JSON of a rollup's value (rollup=5m, 1h or 1d, or a step of 5 minutes or more over more
// than 6 hours), with numbers as those of values.go. time is the period's begin; samples is how
// many values it sums up.
//
//	gauge      {"time":…,"samples":"180","first":"1","last":"4","min":"0","max":"9","sum":"612","mean":"3.4"}
//	counter    {"time":…,"samples":"180","first":"100","last":"700","increase":"600"}
//	histogram  {"time":…,"samples":"180","interval":{"count":…,"sum":…,"p50":…,…},"buckets":[{"le":…,"count":…},…]}
//
// increase and interval are what came between the last sample before the period and its last one,
// and right across restarts. In a gauge_histogram interval is the sum of all samples. Texts have
// no rollups.

// RollupHeader names the level of an answer's rollups: step= chooses it where rollup= does not.
const RollupHeader = "Ringwatch-Rollup"

// rollupRange is how long a range must be, in ms, so that a step of 5 minutes or more is answered
// from rollups: whoever asks for less looks at values.
const rollupRange = 6 * 60 * 60_000

// noRollup as rollup= asks for values as they were measured, whatever the step.
const noRollup = "raw"

// parseRollup reads rollup= into the query, which has its time range. Without it a step that is
// at least the finest level's over more than a few hours is answered from the coarsest level that
// fits into it.
func (s *Server) parseRollup(q *metricsQuery, values url.Values) error {
	if !values.Has("rollup") {
		if s.deps.Reader.HasRollups() && q.to-q.from > rollupRange {
			for _, l := range rollup.Levels {
				if q.step >= l.Millis {
					q.rollup = l
				}
			}
		}
		return nil
	}
	text := values.Get("rollup")
	if text == noRollup {
		return nil
	}
	i := -1
	var names []string
	for j, l := range rollup.Levels {
		names = append(names, l.Name)
		if l.Name == text {
			i = j
		}
	}
	names = append(names, noRollup)
	switch {
	case i < 0:
		return unknownWord("rollup", text, names)
	case !s.deps.Reader.HasRollups():
		return bad("bad_rollup", "rollup", "this server has no rollups: leave rollup out")
	case q.latest:
		return bad("bad_rollup", "rollup",
			"rollup is for a time range: add period=, or from= and to=")
	case q.step > 0:
		return bad("bad_rollup", "rollup", "give rollup= or step=, not both")
	}
	q.rollup = rollup.Levels[i]
	return nil
}

// maxPeriods bounds a request for rollups, as Prometheus bounds the steps of a range.
const maxPeriods = 11_000

// tooWide checks a time range against what is allowed for the level that is asked.
func (s *Server) tooWide(q *metricsQuery, field string) error {
	limit := max(s.config.MaxRange, time.Duration(maxPeriods*q.rollup.Millis)*time.Millisecond)
	if q.to-q.from > limit.Milliseconds() {
		return bad("range_too_wide", field,
			"the time range is longer than %s: ask for less at a time", model.Duration(limit))
	}
	return nil
}

// getRollups answers a query for rollups in the shape of getMetrics.
func (s *Server) getRollups(w http.ResponseWriter, r *http.Request, p account.Principal,
	q *metricsQuery, nodes []Node, more func(*Node, element) element) error {
	size := budget{config: &s.config, field: "rollup",
		remedy: "ask for fewer metrics, less time or a coarser rollup"}
	w.Header().Set(RollupHeader, q.rollup.Name)
	err := s.stream(w, r, nodes, &size, nil, func(ctx context.Context, n *Node) element {
		if q.onlyNames() {
			return more(n, element{count: func(*budget) error { return nil }})
		}
		list, lost, err := s.deps.Reader.Rollups(ctx, p.Account, n, q.rollup, q.from, q.to,
			read.AllFacets(q.selectors))
		if q.step > 0 {
			for i := range list {
				list[i].Widen(q.step)
			}
		}
		return more(n, element{
			count: func(b *budget) error { return b.addRollups(list) }, n: len(list), missing: lost,
			err: err, append: func(b []byte, i int) []byte { return appendRollup(b, &list[i]) },
		})
	})
	if err != nil {
		w.Header().Del(RollupHeader)
	}
	return err
}

// appendRollup appends one element of a payload.
func appendRollup(dst []byte, s *rollup.Series) []byte {
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
	dst = time.UnixMilli(p.Start).UTC().AppendFormat(dst, timeFormat)
	dst = append(dst, `","samples":"`...)
	dst = append(appendDecimal(dst, p.Count, 0), '"')
	number := func(name string, v int64) {
		dst = append(append(append(dst, `,"`...), name...), `":"`...)
		dst = append(appendDecimal(dst, v, m.Exponent), '"')
	}
	switch m.Kind {
	case frame.Gauge:
		number("first", p.First)
		number("last", p.Last)
		number("min", p.Min)
		number("max", p.Max)
		dst = append(dst, `,"sum":"`...)
		dst = appendDigits(dst, []byte(p.Sum.String()), m.Exponent)
		dst = append(dst, `","mean":"`...)
		dst = append(appendEstimate(dst, p.Sum.Float64()/float64(p.Count)*math.Pow10(m.Exponent)),
			'"')
	case frame.GaugeDouble:
		for _, v := range []struct {
			name  string
			value float64
		}{{"first", p.FirstDouble}, {"last", p.LastDouble}, {"min", p.MinDouble},
			{"max", p.MaxDouble}, {"sum", p.SumDouble}} {
			dst = append(append(append(dst, `,"`...), v.name...), `":"`...)
			dst = append(appendDouble(dst, v.value), '"')
		}
		dst = append(dst, `,"mean":"`...)
		dst = append(appendEstimate(dst, p.SumDouble/float64(p.Count)), '"')
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

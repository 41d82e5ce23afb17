package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// parameters returns the query's, each of which must be allowed, and once unless it is metrics or
// match[].
func parameters(r *http.Request, allowed ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, bad("bad_query", "query",
			"the part after ? cannot be read: encode special characters as %%XX")
	}
	for name, values := range q {
		if !slices.Contains(allowed, name) {
			if len(allowed) == 0 {
				return nil, bad("unknown_parameter", name, "this path takes no parameters")
			}
			return nil, bad("unknown_parameter", name, "unknown parameter: use %s",
				strings.Join(allowed, ", "))
		}
		if len(values) > 1 && name != "metrics" && name != "match[]" {
			return nil, bad("repeated_parameter", name, "%s is given more than once", name)
		}
	}
	return q, nil
}

// metricsQuery is what a request for metrics asks, apart from whose.
type metricsQuery struct {
	selectors [][]*labels.Matcher // none: everything
	latest    bool
	from, to  int64        // ms, both inclusive
	step      int64        // ms, 0: every value
	text      bool         // exposition text instead of JSON
	rollup    rollup.Level // none: values as they were measured
	nan       bool         // say NaN where there is no number, instead of nothing

	names     []catalog.Asked // of the catalogue
	namedStep int64           // ms between their values; 0: the newest alone
}

func (s *Server) metricsQuery(r *http.Request, p account.Principal) (*metricsQuery, error) {
	values, err := parameters(r, "metrics", "from", "to", "period", "step", "rollup", "format",
		"reportNaN")
	if err != nil {
		return nil, err
	}
	q := &metricsQuery{}
	switch f := values.Get("format"); f {
	case "", "json":
	case "prometheus":
		q.text = true
	default:
		return nil, unknownWord("format", f, []string{"json", "prometheus"})
	}
	switch v := values.Get("reportNaN"); {
	case v == "true":
		q.nan = true
	case v != "false" && values.Has("reportNaN"):
		return nil, bad("bad_report_nan", "reportNaN", "reportNaN must be true or false, not %q", v)
	}
	var texts []string
	if texts, q.names, err = s.names(p, values["metrics"]); err != nil {
		return nil, err
	}
	if q.selectors, err = s.selectors(r.Context(), "metrics", texts); err != nil {
		return nil, err
	}
	if err := s.parseRange(q, values); err != nil {
		return nil, err
	}
	switch {
	case q.latest && values.Has("step"):
		return nil, bad("bad_step", "step",
			"step is for a time range: add period=, or from= and to=")
	case !q.latest && q.text:
		return nil, bad("bad_format", "format",
			"format=prometheus shows the newest values only: leave out the time range or use "+
				"format=json")
	case q.nan && q.step > 0 && (q.to-q.from)/q.step >= maxPeriods:
		return nil, bad("bad_step", "step",
			"reportNaN=true fills at most %d steps: use a wider step or less time", maxPeriods)
	case len(q.names) > 0 && q.text:
		return nil, bad("bad_format", "format", "format=prometheus shows series only, and "+
			"%s is a name of the catalogue: use format=json", q.names[0].Name)
	case len(q.names) > 0 && values.Get("rollup") == noRollup:
		return nil, bad("bad_rollup", "rollup", "rollup=raw works for series only: "+
			"for names of the catalogue, use a step below 5m")
	case !q.latest && len(q.selectors) == 0 && len(q.names) == 0:
		return nil, bad("no_metrics", "metrics",
			"a time range needs metrics=, for instance metrics=cassandra_compaction_pending_tasks")
	}
	return q, nil
}

func (s *Server) selectors(ctx context.Context, field string,
	list []string) ([][]*labels.Matcher, error) {
	if len(list) > s.config.MaxSelectors {
		return nil, bad("too_many_metrics", field,
			"%s is given %d times, and %d are allowed: use a selector such as {__name__=~\"a|b\"}",
			field, len(list), s.config.MaxSelectors)
	}
	var all [][]*labels.Matcher
	request := s.parser.Request(ctx)
	for _, text := range list {
		matchers, err := request.Selector(text)
		if _, is := errors.AsType[*selector.LimitError](err); is {
			return nil, bad("selectors_too_large", field, "%v", err)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, bad("bad_matcher", field, "%.200q is not a series selector: %v", text, err)
		}
		if !slices.ContainsFunc(matchers, narrows) {
			return nil, bad("bad_matcher", field,
				"%.200q selects everything: name a metric or a label, or leave %s out to get "+
					"everything", text, field)
		}
		all = append(all, matchers)
	}
	return all, nil
}

// narrows reports whether a matcher may leave something out.
func narrows(m *labels.Matcher) bool { return m.Type != labels.MatchRegexp || m.Value != ".*" }

// maxTime bounds times in ms, as the frame format does.
const maxTime = 1<<48 - 1

func (s *Server) parseRange(q *metricsQuery, values url.Values) (err error) {
	from, to, period, step := values.Get("from"), values.Get("to"), values.Get("period"),
		values.Get("step")
	switch {
	case from == "" && to == "" && period == "":
		for _, name := range []string{"from", "to", "period"} {
			if values.Has(name) {
				return bad("bad_time", name, "%s is empty: give a time, or leave it out", name)
			}
		}
		q.latest = true
		return s.parseRollup(q, values)
	case from != "" && period != "":
		return bad("bad_time", "period", "give period= or from=, not both")
	case from == "" && period == "":
		return bad("bad_time", "from", "to= needs from= or period=")
	}
	q.to = s.config.Clock().UnixMilli()
	if to != "" {
		if q.to, err = parseTime("to", to); err != nil {
			return err
		}
	}
	if period != "" {
		span, err := parseSpan("period", period)
		if err != nil {
			return err
		}
		q.from = max(0, q.to-span)
	} else if q.from, err = parseTime("from", from); err != nil {
		return err
	}
	if step != "" {
		if q.step, err = parseSpan("step", step); err != nil {
			return err
		}
	}
	if q.from > q.to {
		if to == "" {
			return bad("bad_time", "from", "from is in the future: use an earlier time")
		}
		return bad("bad_time", "from", "from is after to: swap them")
	}
	field := "from"
	if period != "" {
		field = "period"
	}
	if err := s.parseRollup(q, values); err != nil {
		return err
	}
	return s.tooWide(q, field)
}

// parseTime reads RFC 3339, or seconds or milliseconds since the Unix epoch: whole numbers from
// 10^11 on are milliseconds, which as seconds would be the year 5138.
func parseTime(field, text string) (int64, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		if at := t.UnixMilli(); at >= 0 && at <= maxTime {
			return at, nil
		}
		return 0, bad("bad_time", field, "%s is out of range", field)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || strings.ContainsAny(text, "xXpP_") {
		return 0, bad("bad_time", field,
			"%s is not a time: use RFC 3339 such as 2026-09-03T00:48:05Z, or seconds or "+
				"milliseconds since 1970", field)
	}
	if v < 1e11 {
		v *= 1000
	}
	if v < 0 || v > maxTime {
		return 0, bad("bad_time", field, "%s is out of range", field)
	}
	return int64(math.Round(v)), nil
}

// parseSpan reads a duration as Prometheus writes them, in ms.
func parseSpan(field, text string) (int64, error) {
	d, err := model.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, bad("bad_duration", field,
			"%s is not a duration: use a number and a unit such as 30s, 15m, 6h or 2d", field)
	}
	return time.Duration(d).Milliseconds(), nil
}

package values

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/payload"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// question is what a request for metrics asks, apart from whose.
type question struct {
	selectors [][]*labels.Matcher // none: everything
	time      request.Range
	text      bool            // exposition text instead of JSON
	level     rollup.Level    // none: values as they were measured
	nan       bool            // say NaN where there is no number, instead of nothing
	names     []catalog.Asked // of the catalogue
}

// question reads a request's parameters.
func (c *Config) question(r *http.Request, p account.Principal) (*question, error) {
	values, err := request.Parameters(r, "metrics", "from", "to", "period", "step", "rollup",
		"format", "reportNaN")
	if err != nil {
		return nil, err
	}
	q := &question{}
	switch f := values.Get("format"); f {
	case "", "json":
	case "prometheus":
		q.text = true
	default:
		return nil, refusal.UnknownWord("format", f, []string{"json", "prometheus"})
	}
	switch v := values.Get("reportNaN"); {
	case v == "true":
		q.nan = true
	case v != "false" && values.Has("reportNaN"):
		return nil, refusal.Bad("bad_report_nan", "reportNaN",
			"reportNaN must be true or false, not %q", v)
	}
	var texts []string
	if texts, q.names, err = c.names(p, values["metrics"]); err != nil {
		return nil, err
	}
	q.selectors, err = c.Selectors.Parse(r.Context(), "metrics", texts)
	if err != nil {
		return nil, err
	}
	if q.time, err = request.ParseRange(values, c.Clock().UnixMilli()); err != nil {
		return nil, err
	}
	if err := q.parseRollup(values, c.Rollups.HasRollups()); err != nil {
		return nil, err
	}
	if !q.time.Latest {
		limit := max(c.MaxRange,
			time.Duration(maxPeriods*q.level.Millis)*time.Millisecond)
		if err := q.time.CheckLength(limit); err != nil {
			return nil, err
		}
	}
	return q, q.check(values)
}

// check refuses parameters that do not go together.
func (q *question) check(values url.Values) error {
	switch {
	case q.time.Latest && values.Has("step"):
		return refusal.Bad("bad_step", "step",
			"step is for a time range: add period=, or from= and to=")
	case !q.time.Latest && q.text:
		return refusal.Bad("bad_format", "format",
			"format=prometheus shows the newest values only: leave out the time range or use "+
				"format=json")
	case q.nan && q.time.Step > 0 && (q.time.To-q.time.From)/q.time.Step >= maxPeriods:
		return refusal.Bad("bad_step", "step",
			"reportNaN=true fills at most %d steps: use a wider step or less time", maxPeriods)
	case len(q.names) > 0 && q.text:
		return refusal.Bad("bad_format", "format", "format=prometheus shows series only, and "+
			"%s is a name of the catalogue: use format=json", q.names[0].Name)
	case len(q.names) > 0 && values.Get("rollup") == noRollup:
		return refusal.Bad("bad_rollup", "rollup", "rollup=raw works for series only: "+
			"for names of the catalogue, use a step below 5m")
	case !q.time.Latest && len(q.selectors) == 0 && len(q.names) == 0:
		return refusal.Bad("no_metrics", "metrics",
			"a time range needs metrics=, for instance metrics=cassandra_compaction_pending_tasks")
	}
	return nil
}

// rollupRange is how long a range must be, in ms, so that a step of 5 minutes or more is answered
// from rollups: whoever asks for less looks at values.
const rollupRange = 6 * 60 * 60_000

// noRollup as rollup= asks for values as they were measured, whatever the step.
const noRollup = "raw"

// maxPeriods bounds a request for rollups, as Prometheus bounds the steps of a range.
const maxPeriods = 11_000

// parseRollup reads rollup=, when the time range is known. Without it a step that is
// at least the finest level's over more than a few hours is answered from the coarsest level that
// fits into it.
func (q *question) parseRollup(values url.Values, hasRollups bool) error {
	if !values.Has("rollup") {
		if hasRollups && q.time.To-q.time.From > rollupRange {
			for _, l := range rollup.Levels {
				if q.time.Step >= l.Millis {
					q.level = l
				}
			}
		}
		return nil
	}
	text := values.Get("rollup")
	if text == noRollup {
		return nil
	}
	at := -1
	var names []string
	for i, l := range rollup.Levels {
		names = append(names, l.Name)
		if l.Name == text {
			at = i
		}
	}
	names = append(names, noRollup)
	switch {
	case at < 0:
		return refusal.UnknownWord("rollup", text, names)
	case !hasRollups:
		return refusal.Bad("bad_rollup", "rollup",
			"this server has no rollups: leave rollup out")
	case q.time.Latest:
		return refusal.Bad("bad_rollup", "rollup",
			"rollup is for a time range: add period=, or from= and to=")
	case q.time.Step > 0:
		return refusal.Bad("bad_rollup", "rollup", "give rollup= or step=, not both")
	}
	q.level = rollup.Levels[at]
	return nil
}

// isNewestWhole reports whether the question is for everything newest, as it is kept encoded.
func (q *question) isNewestWhole() bool {
	return q.time.Latest && len(q.selectors) == 0 && len(q.names) == 0 && !q.nan
}

// hasSeries reports whether a question asks for series, and not for names of the catalogue alone.
func (q *question) hasSeries() bool { return len(q.names) == 0 || len(q.selectors) > 0 }

// options are how the values are to be written.
func (q *question) options() *payload.Options {
	return &payload.Options{NaN: q.nan, From: q.time.From, To: q.time.To, Step: q.time.Step}
}

// isName reports whether an element of metrics= is a name of the catalogue.
func isName(text string) bool { return catalog.IsName(text) && !strings.ContainsAny(text, `{"`) }

// split divides metrics=a,b at commas that stand in no braces and no quotes.
func split(text string) []string {
	var list []string
	depth, quote, begin := 0, byte(0), 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == '\\' && quote != '`' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth == 0:
			list = append(list, text[begin:i])
			begin = i + 1
		}
	}
	return append(list, text[begin:])
}

// names divides metrics= into selectors and names of the account's catalogue.
func (c *Config) names(p account.Principal, metrics []string) (selectors []string,
	asked []catalog.Asked, err error) {
	if c.Catalog == nil {
		return metrics, nil, nil
	}
	total, most := 0, c.Selectors.Most()
	for _, text := range metrics {
		elements := []string{text}
		if strings.Contains(text, "::") {
			elements = split(text)
		}
		for _, element := range elements {
			if total++; total > most {
				return nil, nil, refusal.Bad("too_many_metrics", "metrics", "metrics has more "+
					"than %d names and selectors: ask for fewer at a time", most)
			}
			if !isName(element) {
				selectors = append(selectors, element)
				continue
			}
			name, err := c.Catalog(p.Account).Lookup(element)
			if err != nil {
				return nil, nil, refusal.Bad("unknown_metric", "metrics", "%v", err)
			}
			asked = append(asked, name)
		}
	}
	return selectors, asked, nil
}

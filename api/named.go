package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// The JSON of a catalogue's value has the shape of a series. type and unit are the catalogue's, the
// unit in the notation of Instaclustr's monitoring API; metric is the name's last part.
//
//	{"metric":"cpuUtilization","type":"percentage","unit":"1","labels":{},"values":[{"value":"1.6","time":…}]}

// named is one value of the catalogue for one node, and of a keyspace or a table if it is of one.
type named struct {
	metric, kind, unit string
	labels             labels.Labels
	at                 []int64
	values             []float64
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
func (s *Server) names(
	p account.Principal,
	metrics []string,
) (selectors []string, asked []catalog.Asked, err error) {
	if s.deps.Catalog == nil {
		return metrics, nil, nil
	}
	total := 0
	for _, text := range metrics {
		parts := []string{text}
		if strings.Contains(text, "::") {
			parts = split(text)
		}
		for _, part := range parts {
			if total++; total > s.config.MaxSelectors {
				return nil, nil, bad(
					"too_many_metrics",
					"metrics",
					"metrics has more than %d names and selectors: ask for "+
						"fewer at a time",
					s.config.MaxSelectors,
				)
			}
			if !isName(part) {
				selectors = append(selectors, part)
				continue
			}
			a, err := s.deps.Catalog(p.Account).Lookup(part)
			if err != nil {
				return nil, nil, bad("unknown_metric", "metrics", "%v", err)
			}
			asked = append(asked, a)
		}
	}
	return selectors, asked, nil
}

// onlyNames reports whether a query asks for names of the catalogue and no series.
func (q *metricsQuery) onlyNames() bool { return len(q.names) > 0 && len(q.selectors) == 0 }

// scope returns whose values a request's path means.
func scope(r *http.Request, nodes []Node) catalog.Scope {
	c := catalog.Scope{Cluster: r.PathValue("cluster"), Datacenter: r.PathValue("datacenter")}
	if r.PathValue("id") != "" {
		c.Node = nodes[0].ID.String()
	}
	return c
}

// Frames that the window of a rate should have: two make a rate, and one may be late or lost.
const windowFrames = 4

// Of a time range without step= there are so many values at most, and none closer than 20 s.
const (
	namedSteps   = 500
	namedStepMin = 20_000
)

// namedStepOf returns the distance of values over a time range without step=, in ms: of wide ones
// whole periods of rollups.
func namedStepOf(span int64) int64 {
	step := max(namedStepMin, span/namedSteps)
	if period := rollup.FiveMinutes.Millis; step >= period {
		step = (step + period - 1) / period * period
	}
	return step
}

// namedSpan returns the instants, in ms, of the first and the last value over a time range. The
// last one is the range's end; of steps of five minutes or more, it is where a step ends by the
// clock, for rollups cover such windows.
func (q *metricsQuery) namedSpan() (from, to int64) {
	to = q.to
	if by := to - to%q.namedStep; q.namedStep >= rollup.FiveMinutes.Millis && by >= q.from {
		to = by
	}
	return to - (to-q.from)/q.namedStep*q.namedStep, to
}

// named evaluates what a query asks by name, for all nodes of the scope at once. missing says in
// words what is stored and could not be read.
func (s *Server) named(
	ctx context.Context,
	p account.Principal,
	q *metricsQuery,
	c catalog.Scope,
	nodes []Node,
) (of map[uuid.UUID][]named, missing []string, err error) {
	if len(q.names) == 0 {
		return nil, nil, nil
	}
	window := catalog.DefaultWindow
	for i := range nodes {
		window = max(window, windowFrames*time.Duration(nodes[i].Interval)*time.Millisecond)
	}
	step := time.Duration(q.step) * time.Millisecond
	if q.rollup.Millis > q.step {
		step = time.Duration(q.rollup.Millis) * time.Millisecond
	}
	if !q.latest && step == 0 {
		step = time.Duration(namedStepOf(q.to-q.from)) * time.Millisecond
	}
	window = max(window, step)
	q.namedStep = step.Milliseconds()
	of = map[uuid.UUID][]named{}
	points := 0
	for i := range q.names {
		a := &q.names[i]
		within := c
		within.Keyspace, within.Table = a.Keyspace, a.Table
		for j := range a.Picked {
			v := &a.Picked[j]
			expr := v.Expr(within, catalog.Labels(a.Of, catalog.NodeLabels...), window)
			lost, err := s.evaluate(
				ctx,
				p,
				q,
				expr,
				step,
				func(l labels.Labels, at []int64, values []float64) {
					id, err := uuid.Parse(l.Get("node"))
					if err != nil {
						return // an account's own entry that takes the label away
					}
					if points += len(at); points > s.config.MaxPoints {
						return // not kept
					}
					of[id] = append(
						of[id],
						named{a.Short(), v.Type, catalog.UnitOf(v.Unit).Symbol, l, at, values},
					)
				},
			)
			if err != nil {
				return nil, nil, namedError(ctx, a, err)
			}
			if points > s.config.MaxPoints {
				return nil, nil, bad(
					"too_many_values",
					"metrics",
					"the answer would have more than %d values: ask for fewer metrics, less "+
						"time, a wider step or one node at a time",
					s.config.MaxPoints,
				)
			}
			for _, text := range lost {
				if !slices.Contains(missing, text) {
					missing = append(missing, text)
				}
			}
		}
	}
	return of, missing, nil
}

// evaluate asks the engine and visits each series of the answer.
func (s *Server) evaluate(
	ctx context.Context,
	p account.Principal,
	q *metricsQuery,
	expr string,
	step time.Duration,
	visit func(l labels.Labels, at []int64, values []float64),
) (missing []string, err error) {
	var answer *query.Answer
	if q.latest {
		answer, err = s.deps.Engine.Instant(ctx, p, expr, s.config.Clock(), query.Options{})
	} else {
		from, to := q.namedSpan()
		answer, err = s.deps.Engine.Range(ctx, p, expr, time.UnixMilli(from), time.UnixMilli(to),
			step, query.Options{})
	}
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	switch v := answer.Value.(type) {
	case promql.Vector:
		for i := range v {
			if v[i].H == nil {
				visit(v[i].Metric, []int64{v[i].T}, []float64{v[i].F})
			}
		}
	case promql.Matrix:
		for i := range v {
			at, values := make([]int64, len(v[i].Floats)), make([]float64, len(v[i].Floats))
			for j, f := range v[i].Floats {
				at[j], values[j] = f.T, f.F
			}
			visit(v[i].Metric, at, values)
		}
	}
	return missingOf(answer), nil
}

// namedError gives what the engine refuses its status.
func namedError(ctx context.Context, a *catalog.Asked, err error) error {
	limit, limited := errors.AsType[*query.LimitError](err)
	busy, waits := errors.AsType[*query.BusyError](err)
	_, wrong := errors.AsType[*query.ExpressionError](err)
	var samples promql.ErrTooManySamples
	var late promql.ErrQueryTimeout
	switch {
	case limited:
		return bad("too_large", "metrics", "%s: %v", a.Name, limit)
	case waits:
		return &Error{
			Status:     http.StatusTooManyRequests,
			Reason:     "too_many_requests",
			Field:      "metrics",
			Message:    busy.Error(),
			RetryAfter: busy.RetryAfter(),
		}
	case errors.As(err, &samples):
		return bad(
			"too_large",
			"metrics",
			"%s needs more samples than query.max_samples allows: ask for less time, a wider "+
				"step or one node at a time",
			a.Name,
		)
	case errors.As(err, &late):
		return &Error{
			Status:  http.StatusGatewayTimeout,
			Reason:  "timeout",
			Message: "the answer took too long: ask for less time or fewer metrics",
			Cause:   err,
		}
	case wrong:
		return &Error{
			Status:  http.StatusUnprocessableEntity,
			Reason:  "not_evaluated",
			Field:   "metrics",
			Message: a.Name + " cannot be evaluated: " + err.Error(),
		}
	}
	return asError(ctx, err)
}

// appendNamed appends one element of a payload. NaN is left out unless reportNaN=true asks for it;
// then each step without a value is there, too.
func (q *metricsQuery) appendNamed(dst []byte, n *named) []byte {
	dst = append(dst, `{"metric":`...)
	dst = appendString(dst, n.metric)
	dst = append(dst, `,"type":`...)
	dst = appendString(dst, n.kind)
	dst = append(dst, `,"unit":`...)
	dst = appendString(dst, n.unit)
	dst = append(dst, `,"labels":{`...)
	first := true
	eachEntityLabel(n.labels, func(name, value string) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, name), ':')
		dst = appendString(dst, value)
	})
	dst = append(dst, `},"values":[`...)
	written := false
	one := func(at int64, v float64) {
		if math.IsNaN(v) && !q.nan {
			return
		}
		if written {
			dst = append(dst, ',')
		}
		written = true
		dst = append(dst, `{"value":"`...)
		dst = appendDouble(dst, v)
		dst = append(dst, `","time":"`...)
		dst = time.UnixMilli(at).UTC().AppendFormat(dst, timeFormat)
		dst = append(dst, `"}`...)
	}
	if !q.nan || q.namedStep == 0 {
		for i, at := range n.at {
			one(at, n.values[i])
		}
		return append(dst, "]}"...)
	}
	i := 0
	from, to := q.namedSpan()
	for at := from; at <= to; at += q.namedStep {
		v := math.NaN()
		if i < len(n.at) && n.at[i] == at {
			v = n.values[i]
			i++
		}
		one(at, v)
	}
	return append(dst, "]}"...)
}

// addNamed counts values of the catalogue as appendNamed writes them.
func (b *budget) addNamed(q *metricsQuery, list []named) error {
	for i := range list {
		n := len(list[i].at)
		if q.nan && q.namedStep > 0 {
			from, to := q.namedSpan()
			n = int((to-from)/q.namedStep) + 1
		}
		b.points += n
		b.bytes += headBytes + labelBytes(list[i].labels) + valueBytes*int64(n)
	}
	b.series += len(list)
	return b.check()
}

// withNamed adds to the element of a node its values of the catalogue.
func (q *metricsQuery) withNamed(e element, list []named, missing []string) element {
	if e.err != nil || len(q.names) == 0 {
		return e
	}
	n, series, count := e.n, e.append, e.count
	e.n += len(list)
	e.append = func(b []byte, i int) []byte {
		if i < n {
			return series(b, i)
		}
		return q.appendNamed(b, &list[i-n])
	}
	e.count = func(b *budget) error {
		if err := count(b); err != nil {
			return err
		}
		return b.addNamed(q, list)
	}
	e.missing = append(slices.Clone(e.missing), missing...)
	return e
}

// catalogRoutes are there if Deps.Catalog is.
func (s *Server) catalogRoutes() []route {
	if s.deps.Catalog == nil {
		return nil
	}
	return []route{{pattern: "GET /v1/catalog", scoped: s.getCatalog}}
}

// getCatalog answers /v1/catalog: the groups of the account's catalogue.
func (s *Server) getCatalog(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	return writeJSON(w, r, s.deps.Catalog(p.Account).Groups)
}

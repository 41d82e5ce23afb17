package values

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/instant"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/read"
)

// scope returns whose values the request's path means.
func (a *asking) scope() catalog.Scope {
	s := catalog.Scope{Cluster: a.r.PathValue("cluster"), Datacenter: a.r.PathValue("datacenter")}
	if a.r.PathValue("id") != "" {
		s.Node = a.nodes[0].ID.String()
	}
	return s
}

// windowFrames is how many frames the window of a rate should have: two make a rate, and one may be
// late or lost.
const windowFrames = 4

// entries evaluates what the question asks by name, for all nodes of the scope at once; nil: it
// asks for nothing by name.
func (a *asking) entries() (*entries, error) {
	q := a.question
	if len(q.names) == 0 {
		return nil, nil
	}
	window := catalog.DefaultWindow
	for i := range a.nodes {
		window = max(window, windowFrames*time.Duration(a.nodes[i].Interval)*time.Millisecond)
	}
	all := &entries{nan: q.nan, steps: stepsOf(q), nodes: map[uuid.UUID][]entry{}}
	window = max(window, all.steps.duration())
	for i := range q.names {
		name := &q.names[i]
		within := a.scope()
		within.Keyspace, within.Table = name.Keyspace, name.Table
		for j := range name.Picked {
			v := &name.Picked[j]
			expr := v.Expr(within, catalog.Labels(name.Of, catalog.NodeLabels...), window)
			missing, err := a.evaluate(expr, all.steps,
				func(l labels.Labels, at []int64, values []float64) {
					id, err := uuid.Parse(l.Get("node"))
					if err != nil {
						return // an account's own entry that takes the label away
					}
					if all.values += len(at); all.values > a.config.Limits.Values {
						return // it will be refused
					}
					all.nodes[id] = append(all.nodes[id], entry{name.Short(), v.Type,
						catalog.UnitOf(v.Unit).Symbol, l, at, values})
				})
			if err != nil {
				return nil, refuseName(a.r.Context(), name, err)
			}
			if all.values > a.config.Limits.Values {
				return nil, refusal.Bad("too_many_values", "metrics", "the answer would have "+
					"more than %d values: ask for fewer metrics, less time, a wider step or one "+
					"node at a time", a.config.Limits.Values)
			}
			all.missing = read.AppendMissing(all.missing, missing)
		}
	}
	return all, nil
}

// evaluate asks the engine and visits each series of the answer. missing says in words what is
// stored and could not be read.
func (a *asking) evaluate(expr string, s steps,
	visit func(l labels.Labels, at []int64, values []float64)) (missing []string, err error) {
	ctx := a.r.Context()
	var answer *query.Answer
	if a.question.time.Latest {
		answer, err = a.config.Engine.Instant(ctx, a.who, expr, a.config.Clock(), query.Options{})
	} else {
		answer, err = a.config.Engine.Range(ctx, a.who, expr, time.UnixMilli(s.first),
			time.UnixMilli(s.last), s.duration(), query.Options{})
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
	return instant.Missing(answer), nil
}

// refuseName gives what the engine refuses of a name its status.
func refuseName(ctx context.Context, name *catalog.Asked, err error) *listener.Error {
	over, limited := errors.AsType[*limit.Error](err)
	busy, waits := errors.AsType[*limit.BusyError](err)
	_, wrong := errors.AsType[*query.ExpressionError](err)
	_, many := errors.AsType[promql.ErrTooManySamples](err)
	_, late := errors.AsType[promql.ErrQueryTimeout](err)
	switch {
	case limited:
		return refusal.Bad("too_large", "metrics", "%s: %v", name.Name, over)
	case waits:
		return &listener.Error{Status: http.StatusTooManyRequests, Reason: "too_many_requests",
			Field: "metrics", Message: busy.Error(), RetryAfter: busy.RetryAfter()}
	case many:
		return refusal.Bad("too_large", "metrics", "%s needs more samples than "+
			"query.max_samples allows: ask for less time, a wider step or one node at a time",
			name.Name)
	case late:
		return &listener.Error{Status: http.StatusGatewayTimeout, Reason: "timeout",
			Message: "the answer took too long: ask for less time or fewer metrics", Cause: err}
	case wrong:
		return &listener.Error{Status: http.StatusUnprocessableEntity, Reason: "not_evaluated",
			Field: "metrics", Message: name.Name + " cannot be evaluated: " + err.Error()}
	}
	return refusal.Of(ctx, err)
}

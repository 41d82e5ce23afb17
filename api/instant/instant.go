// Package instant asks PromQL at an instant, for answers that are put together from several
// questions. It imports api/refusal, and query.
package instant

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/read"
)

// Engine evaluates PromQL, as query.Engine.
type Engine interface {
	// Instant evaluates an expression at one instant.
	Instant(ctx context.Context, who account.Principal, expr string, at time.Time,
		o query.Options) (*query.Answer, error)
}

// seriesBytes is what a series of an answer takes in memory beside its texts: its labels are some
// eight.
const seriesBytes = 600

// Ask evaluates an expression, and visits the series of the answer but for histograms. missing says
// in words why the answer is not whole. The error is a *listener.Error, or package memory's.
func Ask(ctx context.Context, engine Engine, p account.Principal, expr string, at time.Time,
	visit func(labels map[string]string, v float64)) (missing []string, err error) {
	answer, err := engine.Instant(ctx, p, expr, at, query.Options{Fresh: true})
	if err != nil {
		return nil, refuse(ctx, err)
	}
	defer answer.Close()
	v, err := answer.Vector()
	if err != nil {
		return nil, err
	}
	takes := seriesBytes * int64(len(v))
	for i := range v {
		takes += textBytes(v[i].Metric)
	}
	if err := memory.Of(ctx).Take(takes); err != nil {
		return nil, err
	}
	for i := range v {
		if v[i].H == nil {
			visit(v[i].Metric.Map(), v[i].F)
		}
	}
	return Missing(answer), nil
}

// textBytes is how long the values of labels are.
func textBytes(l labels.Labels) (n int64) {
	l.Range(func(l labels.Label) { n += int64(len(l.Value)) })
	return n
}

// Missing are the warnings of an answer that say what it lacks.
func Missing(answer *query.Answer) (missing []string) {
	for _, warning := range answer.Warnings {
		if text, is := strings.CutPrefix(warning.Error(), read.NotWhole); is {
			missing = append(missing, text)
		}
	}
	return missing
}

// refuse gives what the engine refuses of an expression that is ours its status.
func refuse(ctx context.Context, err error) *listener.Error {
	limit, limited := errors.AsType[*limit.Error](err)
	_, many := errors.AsType[promql.ErrTooManySamples](err)
	_, late := errors.AsType[promql.ErrQueryTimeout](err)
	switch {
	case limited:
		return refusal.Bad("too_large", "cluster", "%v", limit)
	case many:
		return refusal.Bad("too_large", "cluster", "the answer needs more samples than "+
			"query.max_samples allows: ask for one cluster or one node")
	case late:
		return &listener.Error{Status: http.StatusGatewayTimeout, Reason: "timeout", Cause: err,
			Message: "the answer took too long: ask for one cluster or one node"}
	}
	return refusal.Of(ctx, err)
}

package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/read"
)

// newestBytes is what a series of an answer takes in memory beside its texts: its labels are some
// eight.
const newestBytes = 600

// newest asks PromQL at an instant, and visits the series of the answer but for histograms. missing
// says in words why the answer is not whole.
func (s *Server) newest(ctx context.Context, p account.Principal, expr string, at time.Time,
	visit func(labels map[string]string, v float64)) (missing []string, err error) {
	answer, err := s.deps.Engine.Instant(ctx, p, expr, at, query.Options{Fresh: true})
	if err != nil {
		return nil, engineError(ctx, err)
	}
	defer answer.Close()
	v, err := answer.Vector()
	if err != nil {
		return nil, err
	}
	takes := newestBytes * int64(len(v))
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
	return missingOf(answer), nil
}

// textBytes is how long the values of labels are.
func textBytes(l labels.Labels) (n int64) {
	l.Range(func(l labels.Label) { n += int64(len(l.Value)) })
	return n
}

// missingOf are the warnings of an answer that say what it lacks.
func missingOf(answer *query.Answer) (missing []string) {
	for _, warning := range answer.Warnings {
		if text, is := strings.CutPrefix(warning.Error(), read.NotWhole); is {
			missing = append(missing, text)
		}
	}
	return missing
}

// engineError gives what the engine refuses of an expression that is ours its status.
func engineError(ctx context.Context, err error) *Error {
	limit, limited := errors.AsType[*query.LimitError](err)
	_, many := errors.AsType[promql.ErrTooManySamples](err)
	_, late := errors.AsType[promql.ErrQueryTimeout](err)
	switch {
	case limited:
		return bad("too_large", "cluster", "%v", limit)
	case many:
		return bad("too_large", "cluster", "the answer needs more samples than "+
			"query.max_samples allows: ask for one cluster or one node")
	case late:
		return &Error{Status: http.StatusGatewayTimeout, Reason: "timeout", Cause: err,
			Message: "the answer took too long: ask for one cluster or one node"}
	}
	return asError(ctx, err)
}

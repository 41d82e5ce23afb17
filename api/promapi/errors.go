package promapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/metadata"
	"github.com/ringwatch/ringwatch/query/selector"
)

// bad is a refusal of a parameter.
func bad(format string, args ...any) *listener.Error {
	return &listener.Error{Status: http.StatusBadRequest, Reason: "bad_data",
		Message: fmt.Sprintf(format, args...)}
}

// invalid is Prometheus's own refusal of a parameter.
func invalid(name string, err error) *listener.Error {
	return bad("invalid parameter %q: %v", name, err)
}

// fail writes an error as Prometheus does.
func fail(w http.ResponseWriter, _ *http.Request, e *listener.Error) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": kind(e),
		"error": e.Message})
}

// kinds are Prometheus's words for what went wrong.
var kinds = []string{"timeout", "canceled", "execution", "bad_data", "internal", "unavailable",
	"not_found", "not_acceptable"}

func kind(e *listener.Error) string {
	if slices.Contains(kinds, e.Reason) {
		return e.Reason
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		return "unauthorized"
	case e.Status == http.StatusForbidden:
		return "forbidden"
	case e.Status == http.StatusTooManyRequests:
		return "too_many_requests"
	case e.Status == http.StatusNotFound:
		return "not_found"
	case e.Status == http.StatusGatewayTimeout:
		return "timeout"
	case e.Status == http.StatusServiceUnavailable:
		return "unavailable"
	case e.Status >= 500:
		return "internal"
	}
	return "bad_data"
}

// statusCanceled is what Prometheus answers to who has gone.
const statusCanceled = 499

// asError gives an error of a query its status.
func asError(ctx context.Context, err error) error {
	var (
		known    *listener.Error
		over     *limit.Error
		busy     *limit.BusyError
		timeout  promql.ErrQueryTimeout
		canceled promql.ErrQueryCanceled
		samples  promql.ErrTooManySamples
		text     parser.ParseErrors
		pattern  *selector.LimitError
		wrong    *query.ExpressionError
	)
	failure := func(status int, reason, message string, retry int) error {
		return &listener.Error{Status: status, Reason: reason, Message: message, RetryAfter: retry,
			Cause: err}
	}
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &wrong) && wrong.Evaluated:
		return failure(http.StatusUnprocessableEntity, "execution", wrong.Error(), 0)
	case errors.As(err, &wrong), errors.As(err, &text), errors.As(err, &pattern):
		return invalid("query", err)
	case errors.As(err, &over) && over.Limit == "max_steps":
		return bad("exceeded maximum resolution of %d points per timeseries: %v", over.Value,
			over)
	case errors.As(err, &over):
		return failure(http.StatusUnprocessableEntity, "execution", over.Error(), 0)
	case errors.As(err, &busy):
		return failure(http.StatusTooManyRequests, "unavailable", busy.Error(), busy.RetryAfter())
	case errors.As(err, &samples):
		return failure(http.StatusUnprocessableEntity, "execution",
			err.Error()+": max_samples bounds them; ask for less time, a wider step or "+
				"fewer series", 0)
	case errors.Is(err, memory.ErrTooLarge):
		return failure(http.StatusUnprocessableEntity, "execution",
			"the query needs more memory than an account may have at once: ask for fewer series, "+
				"less time or a wider step", 0)
	case errors.Is(err, memory.ErrBusy):
		return failure(http.StatusServiceUnavailable, "unavailable",
			"the account's other queries use all memory that it may have: ask again when they "+
				"are done", 2)
	case errors.Is(err, index.ErrLoading):
		return failure(http.StatusServiceUnavailable, "unavailable",
			"the list of series is being loaded: try again in a moment; /-/ready shows the "+
				"progress", 5)
	case errors.Is(err, metadata.ErrNoIndex):
		return failure(http.StatusServiceUnavailable, "unavailable",
			"this process has no index of series: ask one that reads the store", 0)
	case errors.Is(err, index.ErrTooLarge):
		return failure(http.StatusUnprocessableEntity, "execution", err.Error(), 0)
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		return failure(http.StatusServiceUnavailable, "timeout",
			"the query took too long: ask for less time, a wider step or fewer series", 0)
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return failure(statusCanceled, "canceled", "the query was canceled", 0)
	}
	var engine promql.ErrStorage
	if errors.As(err, &engine) || ctx.Err() != nil {
		return err // the server says what it knows of its sources
	}
	return err
}

package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
)

// MakeFor makes a report of a cluster that the principal may see. The error wraps ErrNoNodes if
// there is nothing to report of.
type MakeFor func(ctx context.Context, p account.Principal, cluster string, from, to time.Time,
) (*Report, error)

const (
	daySpan = 24 * time.Hour
	// patience is how many times a request's usual time a report may take: two minutes.
	patience = 4
	// minSpan is the least that a report is of: a step of it.
	minSpan = 5 * time.Minute
	// retryAfter is after how many seconds who waits for another report asks again.
	retryAfter = 5
	// pagePolicy lets the page stand alone: styles and pictures of its own, no script, no
	// request.
	pagePolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
)

// Handler has the endpoint /v1/clusters/{cluster}/report.
type Handler struct {
	make     MakeFor
	fleet    *fleet.Fleet
	maxBytes int64
	metrics  *reply.Metrics
	clock    func() time.Time
	reports  reports
}

// NewHandler returns the endpoint. A report in any form has maxBytes at most.
func NewHandler(makeFor MakeFor, nodes *fleet.Fleet, maxBytes int64, metrics *reply.Metrics,
	clock func() time.Time) *Handler {
	return &Handler{make: makeFor, fleet: nodes, maxBytes: maxBytes, metrics: metrics, clock: clock}
}

// Routes returns the endpoint.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{{Pattern: "GET /v1/clusters/{cluster}/report", Handle: h.getReport,
		Patience: patience}}
}

// reports makes sure that an account has one report made at a time: each asks some 150 queries.
type reports struct {
	mu     sync.Mutex
	making map[string]bool // by account
}

// begin reports whether the account may have a report made now; then end says that it is done.
func (r *reports) begin(name string) (end func(), may bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.making[name] {
		return nil, false
	}
	if r.making == nil {
		r.making = map[string]bool{}
	}
	r.making[name] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.making, name)
	}, true
}

// getReport answers /v1/clusters/{cluster}/report: what the cluster was like in the last 24
// hours, or on a day in UTC.
func (h *Handler) getReport(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := request.Parameters(r, "format", "day")
	if err != nil {
		return err
	}
	format := q.Get("format")
	switch format {
	case "", "json", "text", "html":
	default:
		return refusal.UnknownWord("format", format, []string{"json", "text", "html"})
	}
	to := h.clock()
	from := to.Add(-daySpan)
	if q.Has("day") {
		if from, to, err = dayOf(q.Get("day"), to); err != nil {
			return err
		}
	}
	if _, err := h.fleet.InPath(r, p); err != nil {
		return err
	}
	end, may := h.reports.begin(p.Account)
	if !may {
		return &listener.Error{Status: http.StatusTooManyRequests, Reason: "too_many_requests",
			Field: "Authorization", RetryAfter: retryAfter,
			Message: fmt.Sprintf("a report of account %s "+
				"is being made: ask again when it is ready", p.Account)}
	}
	defer end()
	made, err := h.make(r.Context(), p, r.PathValue("cluster"), from, to)
	switch {
	case errors.Is(err, ErrNoNodes):
		return &listener.Error{Status: http.StatusNotFound, Reason: "no_report", Field: "day",
			Message: fmt.Sprintf("the cluster had no nodes from %s to %s: choose another day",
				from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))}
	case err != nil && errors.Is(r.Context().Err(), context.DeadlineExceeded):
		return &listener.Error{Status: http.StatusGatewayTimeout, Reason: "timeout", Cause: err,
			Message: "the report took too long: ringwatch report makes it without a limit of time"}
	case err != nil:
		return err
	}
	return h.write(w, r, format, made)
}

// dayOf returns when a day in UTC begins and ends, the latter not after now.
func dayOf(text string, now time.Time) (from, to time.Time, err error) {
	if from, err = time.Parse(time.DateOnly, text); err != nil {
		return from, to, refusal.Bad("bad_day", "day",
			"%.40q is not a day: write one such as 2026-11-20", text)
	}
	if !from.Before(now.Add(-minSpan)) {
		return from, to, refusal.Bad("bad_day", "day",
			"%s has not begun in UTC: leave day out for the last 24 hours", text)
	}
	if to = from.Add(daySpan); to.After(now) {
		to = now
	}
	return from, to, nil
}

// bounded is a buffer that takes no more than a number of bytes.
type bounded struct {
	buffer bytes.Buffer
	most   int64
}

var errTooLong = errors.New("more than an answer may have")

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if int64(b.buffer.Len()+len(p)) > b.most {
		return 0, errTooLong
	}
	return b.buffer.Write(p)
}

// write writes a report when all of it is there.
func (h *Handler) write(w http.ResponseWriter, r *http.Request, format string, made *Report) error {
	write, kind := made.WriteJSON, "application/json"
	switch format {
	case "text":
		write, kind = made.WriteText, "text/plain; charset=utf-8"
	case "html":
		write, kind = made.WriteHTML, "text/html; charset=utf-8"
	}
	body := bounded{most: h.maxBytes}
	if err := write(&body); errors.Is(err, errTooLong) {
		return refusal.Bad("too_large", "format",
			"the report would have more than %d MiB: ringwatch report "+
				"makes it of any size", h.maxBytes>>20)
	} else if err != nil {
		return err
	}
	if format == "html" {
		w.Header().Set("Content-Security-Policy", pagePolicy)
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	h.metrics.NotePartial(w, made.Lacks)
	out := reply.New(w, r, kind)
	_, _ = body.buffer.WriteTo(out) // a client that went away misses nothing
	out.End()
	return nil
}

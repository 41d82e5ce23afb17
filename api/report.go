package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
)

// Report is what a cluster was like over a time, in three forms; package report makes it.
type Report interface {
	WriteText(io.Writer) error
	WriteHTML(io.Writer) error
	WriteJSON(io.Writer) error
}

// MakeReport makes a report of a cluster that the principal may see. lacks says in words what could
// not be asked. The error wraps ErrNoReport if there is nothing to report of.
type MakeReport func(ctx context.Context, p account.Principal, cluster string, from, to time.Time,
) (r Report, lacks []string, err error)

// ErrNoReport says that a cluster had no nodes in a time.
var ErrNoReport = errors.New("api: the cluster had no nodes in that time")

const (
	reportTime = 24 * time.Hour
	// reportLong is how many times a request's usual time a report may take: two minutes.
	reportLong = 4
	// reportMin is the least that a report is of: a step of it.
	reportMin = 5 * time.Minute
	// reportRetry is after how many seconds who waits for another report asks again.
	reportRetry = 5
	// reportPolicy lets the page stand alone: styles and pictures of its own, no script, no
	// request.
	reportPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
)

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

// reportRoutes are there if Deps.Report is.
func (s *Server) reportRoutes() []route {
	if s.deps.Report == nil {
		return nil
	}
	return []route{{pattern: "GET /v1/clusters/{cluster}/report", scoped: s.getReport,
		long: reportLong}}
}

// getReport answers /v1/clusters/{cluster}/report: what the cluster was like in the last 24
// hours, or on a day in UTC.
func (s *Server) getReport(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := parameters(r, "format", "day")
	if err != nil {
		return err
	}
	format := q.Get("format")
	switch format {
	case "", "json", "text", "html":
	default:
		return unknownWord("format", format, []string{"json", "text", "html"})
	}
	to := s.config.Clock()
	from := to.Add(-reportTime)
	if q.Has("day") {
		if from, to, err = dayOf(q.Get("day"), to); err != nil {
			return err
		}
	}
	if _, err := s.where(r, p); err != nil {
		return err
	}
	end, may := s.reports.begin(p.Account)
	if !may {
		return &Error{Status: http.StatusTooManyRequests, Reason: "too_many_requests",
			Field: "Authorization", RetryAfter: reportRetry,
			Message: fmt.Sprintf("a report of account %s "+
				"is being made: ask again when it is ready", p.Account)}
	}
	defer end()
	made, lacks, err := s.deps.Report(r.Context(), p, r.PathValue("cluster"), from, to)
	switch {
	case errors.Is(err, ErrNoReport):
		return &Error{Status: http.StatusNotFound, Reason: "no_report", Field: "day",
			Message: fmt.Sprintf("the cluster had no nodes from %s to %s: choose another day",
				from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))}
	case err != nil && errors.Is(r.Context().Err(), context.DeadlineExceeded):
		return &Error{Status: http.StatusGatewayTimeout, Reason: "timeout", Cause: err,
			Message: "the report took too long: ringwatch report makes it without a limit of time"}
	case err != nil:
		return err
	}
	return s.writeReport(w, r, format, made, lacks)
}

// dayOf returns when a day in UTC begins and ends, the latter not after now.
func dayOf(text string, now time.Time) (from, to time.Time, err error) {
	if from, err = time.Parse(time.DateOnly, text); err != nil {
		return from, to, bad("bad_day", "day", "%.40q is not a day: write one such as 2026-11-20",
			text)
	}
	if !from.Before(now.Add(-reportMin)) {
		return from, to, bad("bad_day", "day",
			"%s has not begun in UTC: leave day out for the last 24 hours", text)
	}
	if to = from.Add(reportTime); to.After(now) {
		to = now
	}
	return from, to, nil
}

// bounded is a buffer that takes no more than a number of bytes.
type bounded struct {
	bytes.Buffer
	most int64
}

var errTooLong = errors.New("more than an answer may have")

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if int64(b.Len()+len(p)) > b.most {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

// writeReport writes a report when all of it is there.
func (s *Server) writeReport(w http.ResponseWriter, r *http.Request, format string, made Report,
	lacks []string) error {
	write, kind := made.WriteJSON, "application/json"
	switch format {
	case "text":
		write, kind = made.WriteText, "text/plain; charset=utf-8"
	case "html":
		write, kind = made.WriteHTML, "text/html; charset=utf-8"
	}
	body := bounded{most: s.config.MaxResponseBytes}
	if err := write(&body); errors.Is(err, errTooLong) {
		return bad("too_large", "format",
			"the report would have more than %d MiB: ringwatch report "+
				"makes it of any size", s.config.MaxResponseBytes>>20)
	} else if err != nil {
		return err
	}
	if format == "html" {
		w.Header().Set("Content-Security-Policy", reportPolicy)
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	s.notePartial(w, lacks)
	out := answer(w, r, kind)
	_, _ = body.WriteTo(out) // a client that went away misses nothing
	out.end()
	return nil
}

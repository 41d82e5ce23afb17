package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/refusal"
)

// admit lets a handler answer for the account of the request's key, if that has the scope.
func (s *Server) admit(route listener.Route) http.HandlerFunc {
	scope := cmp.Or(route.Scope, account.Read)
	timeout := s.config.RequestTimeout * time.Duration(max(route.Patience, 1))
	return func(w http.ResponseWriter, r *http.Request) {
		if route.Patience > 1 { // the server's own write timeout counts from the request's head
			_ = http.NewResponseController(w).SetWriteDeadline(
				time.Now().Add(timeout + s.config.RequestTimeout))
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		p, err := s.enter(w, r, scope)
		if err == nil {
			within, end := s.deps.Reader.Shared.Scope(ctx, p.Account)
			defer end()
			err = route.Handle(w, r.WithContext(within), p)
		}
		if err == nil {
			return
		}
		e := refusal.Of(ctx, err)
		if e.Status >= 500 && r.Context().Err() == nil {
			s.deps.Log.Warn("a request failed", "reason", e.Reason,
				"request", listener.ID(r.Context()), "path", r.URL.Path, "account", p.Account,
				"error", err, "cause", e.Cause)
		}
		refusal.Write(w, r, e, route.Fail)
	}
}

// lowMemoryRetry is after how many seconds who is refused for want of memory asks again: by then
// the collector has run, and answers have been written.
const lowMemoryRetry = 5

// enter returns who a request comes from if it may be answered: its size, its key and the
// account's limits are right.
func (s *Server) enter(w http.ResponseWriter, r *http.Request,
	scope account.Scope) (account.Principal, error) {
	if n := len(r.URL.RawQuery); n > s.config.MaxQueryBytes {
		return account.Principal{}, &listener.Error{Status: http.StatusRequestURITooLong,
			Reason: "query_too_long", Field: "query",
			Message: fmt.Sprintf("the part after ? has %d bytes, and %d are allowed: ask for "+
				"fewer metrics at a time", n, s.config.MaxQueryBytes)}
	}
	if r.ContentLength > s.config.MaxRequestBytes {
		return account.Principal{}, &listener.Error{Status: http.StatusRequestEntityTooLarge,
			Reason: "body_too_large", Field: "body",
			Message: fmt.Sprintf("the body has %d bytes, and %d are allowed: ask for less "+
				"at a time", r.ContentLength, s.config.MaxRequestBytes)}
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.config.MaxRequestBytes)
	p, err := s.deps.Admit(r)
	if err != nil {
		return p, err
	}
	listener.Admitted(r.Context(), p.Account, p.Key())
	if !p.Can(scope) {
		return p, &listener.Error{Status: http.StatusForbidden, Reason: "no_scope",
			Field: "Authorization",
			Message: fmt.Sprintf("this key does not have the scope %s: use one that has it, "+
				"such as ringwatch key create --scopes operator makes", scope)}
	}
	if s.deps.Near != nil && s.deps.Near() {
		return p, &listener.Error{Status: http.StatusServiceUnavailable, Reason: "low_memory",
			Message: "the process is near its memory limit: ask again in some seconds, or give " +
				"the role more memory", RetryAfter: lowMemoryRetry}
	}
	if s.deps.Limit == nil {
		return p, nil
	}
	node := ""
	if id, err := uuid.Parse(r.PathValue("id")); err == nil {
		node = id.String()
	}
	if after, whose := s.deps.Limit(r.Context(), p.Account, node); after > 0 {
		field, message := "Authorization", fmt.Sprintf("account %s asks too often: ask again in %s",
			p.Account, wait(after))
		if whose != "account" {
			field, message = "id", fmt.Sprintf("account %s asks too often for this node: ask "+
				"again in %s", p.Account, wait(after))
		}
		return p, &listener.Error{Status: http.StatusTooManyRequests, Reason: "too_many_requests",
			Field: field, Message: message, RetryAfter: int(math.Ceil(after.Seconds()))}
	}
	return p, nil
}

// wait is a duration for people.
func wait(d time.Duration) time.Duration {
	return max(d.Round(100*time.Millisecond), 100*time.Millisecond)
}

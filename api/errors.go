package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
)

// Error is a refusal or a failure as clients see it.
type Error = listener.Error

// bad is a 400 that names the field.
func bad(reason, field, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Reason: reason, Field: field,
		Message: fmt.Sprintf(format, args...)}
}

// asError gives every error its status.
func asError(ctx context.Context, err error) *Error {
	var e *Error
	var many *account.TooManyError
	var busy *query.BusyError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &many):
		return &Error{Status: http.StatusTooManyRequests, Reason: "too_many_wrong_keys",
			Message: many.Error(), RetryAfter: int(many.After.Seconds()) + 1}
	case errors.As(err, &busy):
		return &Error{Status: http.StatusTooManyRequests, Reason: "too_many_requests",
			Field: "Authorization", RetryAfter: busy.RetryAfter(), Message: busy.Error()}
	case errors.Is(err, account.ErrNoKey):
		return &Error{Status: http.StatusUnauthorized, Reason: "no_key", Field: "Authorization",
			Message: err.Error()}
	case errors.Is(err, account.ErrUnknownKey):
		return &Error{Status: http.StatusUnauthorized, Reason: "unknown_key",
			Field: "Authorization", Message: err.Error()}
	case errors.Is(err, account.ErrExpired):
		return &Error{Status: http.StatusUnauthorized, Reason: "expired_key",
			Field: "Authorization", Message: err.Error()}
	case errors.Is(err, account.ErrRevoked):
		return &Error{Status: http.StatusUnauthorized, Reason: "revoked_key",
			Field: "Authorization", Message: err.Error()}
	case errors.Is(err, account.ErrNetwork):
		return &Error{Status: http.StatusForbidden, Reason: "network", Field: "Authorization",
			Message: err.Error()}
	case errors.Is(err, account.ErrKeysAway):
		return &Error{Status: http.StatusServiceUnavailable, Reason: "key_check",
			Field: "Authorization", Message: err.Error(), RetryAfter: 5}
	case errors.Is(err, memory.ErrTooLarge):
		return &Error{Status: http.StatusBadRequest, Reason: "too_large",
			Message: "the answer needs more memory than an account may have at once: ask for " +
				"fewer metrics, less time or one node at a time", Cause: err}
	case errors.Is(err, memory.ErrBusy):
		return &Error{Status: http.StatusServiceUnavailable, Reason: "busy",
			Message: "the account's other answers use all memory that it may have: ask again " +
				"when they are done, or for less at a time", RetryAfter: 2, Cause: err}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Error{Status: http.StatusGatewayTimeout, Reason: "timeout",
			Message: "the answer took too long: ask for less time or fewer metrics", Cause: err}
	}
	return &Error{Status: http.StatusServiceUnavailable, Reason: "unavailable",
		Message:    "the store does not answer now: try again in a moment; /-/ready says why",
		RetryAfter: 5, Cause: err}
}

// writeError writes a refusal in this package's form.
func writeError(w http.ResponseWriter, e *Error) { refuse(w, nil, e, nil) }

// refuse writes a refusal, in a form of its own if a route has one.
func refuse(w http.ResponseWriter, r *http.Request, e *Error,
	form func(http.ResponseWriter, *http.Request, *Error)) {
	h := w.Header()
	if e.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="ringwatch"`)
		if r == nil || !account.FromConsole(r) { // a browser would ask for a password itself
			h.Add("WWW-Authenticate", `Basic realm="ringwatch"`)
		}
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	if form != nil {
		form(w, r, e)
		return
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	// a client that went away misses nothing
	_ = json.NewEncoder(w).Encode(map[string]*Error{"error": e})
}

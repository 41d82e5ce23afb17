// Package refusal says why a request gets no answer: as an error that names the status, the field
// and the remedy, and as the body that clients read. Of makes one of any error. It imports what
// fails: access, memory and query.
//
// What it promises: what an error says of the inside stays in its Cause, which is for the log.
package refusal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/nearest"
)

// Bad is a 400 that names the field.
func Bad(reason, field, format string, args ...any) *listener.Error {
	return &listener.Error{Status: http.StatusBadRequest, Reason: reason, Field: field,
		Message: fmt.Sprintf(format, args...)}
}

// A name that does not exist is refused, wherever a request may say one: an empty answer would be
// an all-clear. What there is instead is told of what the key may see alone.

// UnknownName refuses the name of a thing, such as a cluster, that is none of those the key sees.
// It sorts known.
func UnknownName(thing, field, name string, known []string) *listener.Error {
	slices.Sort(known)
	return &listener.Error{Status: http.StatusNotFound, Reason: "unknown_" + thing, Field: field,
		Message: fmt.Sprintf("this key sees no %s %.200q: %s", thing, name,
			nearest.Offer(name, known))}
}

// UnknownWord refuses a word that is none of a fixed list.
func UnknownWord(field, text string, words []string) *listener.Error {
	return Bad("bad_"+field, field, "unknown %s %.40q: %s", field, text,
		nearest.Offer(text, words))
}

// Of gives every error of a request its status. ctx is the request's.
func Of(ctx context.Context, err error) *listener.Error {
	var known *listener.Error
	var busy *limit.BusyError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &busy):
		return &listener.Error{Status: http.StatusTooManyRequests, Reason: "too_many_requests",
			Field: "Authorization", RetryAfter: busy.RetryAfter(), Message: busy.Error()}
	case errors.Is(err, memory.ErrTooLarge):
		return &listener.Error{Status: http.StatusBadRequest, Reason: "too_large",
			Message: "the answer needs more memory than an account may have at once: ask for " +
				"fewer metrics, less time or one node at a time", Cause: err}
	case errors.Is(err, memory.ErrBusy):
		return &listener.Error{Status: http.StatusServiceUnavailable, Reason: "busy",
			Message: "the account's other answers use all memory that it may have: ask again " +
				"when they are done, or for less at a time", RetryAfter: 2, Cause: err}
	}
	if e := ofKey(err); e != nil {
		return e
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &listener.Error{Status: http.StatusGatewayTimeout, Reason: "timeout",
			Message: "the answer took too long: ask for less time or fewer metrics", Cause: err}
	}
	return &listener.Error{Status: http.StatusServiceUnavailable, Reason: "unavailable",
		Message:    "the store does not answer now: try again in a moment; /-/ready says why",
		RetryAfter: 5, Cause: err}
}

// ofKey gives what is wrong with a request's key its status; nil: it is something else.
func ofKey(err error) *listener.Error {
	if many, is := errors.AsType[*account.TooManyError](err); is {
		return &listener.Error{Status: http.StatusTooManyRequests, Reason: "too_many_wrong_keys",
			Message: many.Error(), RetryAfter: int(many.After.Seconds()) + 1}
	}
	for _, c := range []struct {
		is     error
		status int
		reason string
		retry  int // seconds
	}{
		{account.ErrNoKey, http.StatusUnauthorized, "no_key", 0},
		{account.ErrUnknownKey, http.StatusUnauthorized, "unknown_key", 0},
		{account.ErrExpired, http.StatusUnauthorized, "expired_key", 0},
		{account.ErrRevoked, http.StatusUnauthorized, "revoked_key", 0},
		{account.ErrNetwork, http.StatusForbidden, "network", 0},
		{account.ErrKeysAway, http.StatusServiceUnavailable, "key_check", 5},
	} {
		if errors.Is(err, c.is) {
			return &listener.Error{Status: c.status, Reason: c.reason, Field: "Authorization",
				Message: err.Error(), RetryAfter: c.retry}
		}
	}
	return nil
}

// Write writes a refusal. r may be nil where no page of the console asks. form is the form of a
// route's own; nil: the API's.
func Write(w http.ResponseWriter, r *http.Request, e *listener.Error,
	form func(http.ResponseWriter, *http.Request, *listener.Error)) {
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
	_ = json.NewEncoder(w).Encode(map[string]*listener.Error{"error": e})
}

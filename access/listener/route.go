package listener

import (
	"net/http"

	"github.com/ringwatch/ringwatch/access/account"
)

// Error is a refusal or a failure as clients see it:
//
//	{"error":{"reason":"bad_time","field":"from","message":"…"}}
type Error struct {
	Status  int    `json:"-"`
	Reason  string `json:"reason"`          // for programs
	Field   string `json:"field,omitempty"` // the part of the request that is wrong
	Message string `json:"message"`         // one sentence for people, with the remedy

	RetryAfter int   `json:"-"` // seconds, 0: no such header
	Cause      error `json:"-"` // for the log
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns what lies behind it, which clients do not see.
func (e *Error) Unwrap() error { return e.Cause }

// Route is an endpoint that another package adds to a server. The server asks for the key, counts
// the request against the account's limits and bounds its time and body before Handle is called.
type Route struct {
	Pattern string        // as http.ServeMux takes it, for instance "GET /api/v1/query"
	Scope   account.Scope // that the key must have; empty: read
	// Handle answers for the account of the key. It writes nothing before it is sure of success and
	// returns an error otherwise.
	Handle func(w http.ResponseWriter, r *http.Request, p account.Principal) error
	// Fail writes a refusal, also one of the server's own, in the form that the endpoint's clients
	// know. Headers that every refusal has are set already. nil: the server's form.
	Fail func(w http.ResponseWriter, r *http.Request, e *Error)
	// Patience is how many times the server's usual time a request may take; 0: once.
	Patience int
}

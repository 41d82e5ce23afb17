package lookup

import (
	"context"
	"errors"
	"fmt"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// Kind is what sort of failure an Error is.
type Kind int

const (
	Wrong    Kind = iota // the request is wrong and will be
	NotThere             // no such table, or not for this account
	Busy                 // the throttle has no room: later
	Late                 // Cassandra did not answer in time
	Away                 // Cassandra, or what of it has the key, does not answer
)

// Error is why a request, or one of its keys, has no answer. Its message is for the client and
// names nothing of the inside.
type Error struct {
	Kind    Kind
	Reason  string        // for programs
	Field   string        // the part of the request that is wrong
	Message string        // one sentence with the remedy
	After   time.Duration // Busy: when to come back
	cause   error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns what lies behind it.
func (e *Error) Unwrap() error { return e.cause }

func wrong(reason, field, format string, args ...any) *Error {
	return &Error{Kind: Wrong, Reason: reason, Field: field, Message: fmt.Sprintf(format, args...)}
}

// notThere is one text for a table that does not exist and for one that the account may not read.
func notThere(cause error) *Error {
	return &Error{Kind: NotThere, Reason: "unknown_table", Field: "table",
		Message: "this key may look up no table with that name: the operator lists them in " +
			"lookup.tables", cause: cause}
}

// failed gives an error of the ring its kind.
func failed(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	if held, ok := errors.AsType[*throttle.Error](err); ok && held.RetryAfter == 0 {
		return &Error{Kind: Wrong, Reason: "too_many_keys", Field: "keys",
			Message: "these are more keys than class " + held.Class +
				" may ever read at once: ask in several requests", cause: err}
	} else if ok {
		return &Error{Kind: Busy, Reason: "throttled",
			Message: "too many reads of class " + held.Class +
				" are under way: ask again in a moment, or for fewer keys",
			After: max(held.RetryAfter, time.Second), cause: err}
	}
	if errors.As(err, new(*ring.KeyError)) {
		return &Error{Kind: Wrong, Reason: "bad_key", Message: "the table can have no such key",
			cause: err}
	}
	e := &Error{Kind: Away, Reason: "unavailable",
		Message: "no replica of it answers now: ask again in a moment", cause: err}
	var request gocql.RequestError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err,
		gocql.ErrTimeoutNoResponse), errors.Is(err, ring.ErrLate):
		e.Kind = Late
	case errors.As(err, &request):
		switch request.Code() {
		case gocql.ErrCodeReadTimeout:
			e.Kind = Late
		case gocql.ErrCodeReadFailure:
			e.Reason, e.Message = "read_failure", "its replicas fail to read it, because of "+
				"tombstones or damage: look into their logs"
		case gocql.ErrCodeInvalid, gocql.ErrCodeSyntax:
			e.Kind, e.Reason, e.Message = Wrong, "invalid", "Cassandra refuses to read this: "+
				"there can be no such key"
		case gocql.ErrCodeUnauthorized, gocql.ErrCodeCredentials:
			e.Reason, e.Message = "unauthorized", "this server may not read the table in "+
				"Cassandra: ask its operator to grant that"
		}
	}
	if e.Kind == Late {
		e.Reason, e.Message = "timeout", "its replicas did not answer in time: ask again, or "+
			"for fewer keys"
	}
	return e
}

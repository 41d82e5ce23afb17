package lookup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/query/nearest"
	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// Error is why a request, or one of its keys, has no answer. Its message is for the client and
// names nothing of the inside.
type Error = listener.Error

// away is what keeps a key from being read until an operator or time has mended it.
func away(reason, message string, cause error) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Reason: reason, Message: message,
		RetryAfter: 5, Cause: cause}
}

// notThere is one text for a table that does not exist and for one that the account may not read.
// It names those that the account may read.
func notThere(name string, readable []string, cause error) *Error {
	return &Error{Status: http.StatusNotFound, Reason: "unknown_table", Field: "table",
		Message: fmt.Sprintf("this key may look up no table %.200q: %s; the operator lists them "+
			"in lookup.tables", name, nearest.Offer(name, readable)), Cause: cause}
}

// failed gives an error of the ring its status.
func failed(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	if held, ok := errors.AsType[*throttle.Error](err); ok && held.RetryAfter == 0 {
		return &Error{Status: http.StatusBadRequest, Reason: "too_many_keys", Field: "keys",
			Message: "these are more keys than class " + held.Class +
				" may ever read at once: ask in several requests", Cause: err}
	} else if ok {
		return &Error{Status: http.StatusTooManyRequests, Reason: "throttled",
			Message: "too many reads of class " + held.Class +
				" are under way: ask again in a moment, or for fewer keys",
			RetryAfter: max(1, int(math.Ceil(held.RetryAfter.Seconds()))), Cause: err}
	}
	if errors.As(err, new(*ring.KeyError)) {
		return &Error{Status: http.StatusBadRequest, Reason: "bad_key",
			Message: "the table can have no such key", Cause: err}
	}
	var request gocql.RequestError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err,
		gocql.ErrTimeoutNoResponse), errors.Is(err, ring.ErrLate):
		return late(err)
	case errors.As(err, &request):
		switch request.Code() {
		case gocql.ErrCodeReadTimeout:
			return late(err)
		case gocql.ErrCodeReadFailure:
			return away("read_failure", "its replicas fail to read it, because of tombstones or "+
				"damage: look into their logs", err)
		case gocql.ErrCodeInvalid, gocql.ErrCodeSyntax:
			return &Error{Status: http.StatusBadRequest, Reason: "invalid",
				Message: "Cassandra refuses to read this: there can be no such key", Cause: err}
		case gocql.ErrCodeUnauthorized, gocql.ErrCodeCredentials:
			return away("unauthorized", "this server may not read the table in Cassandra: ask "+
				"its operator to grant that", err)
		}
	}
	return away("unavailable", "no replica of it answers now: ask again in a moment", err)
}

func late(cause error) *Error {
	return &Error{Status: http.StatusGatewayTimeout, Reason: "timeout",
		Message: "its replicas did not answer in time: ask again, or for fewer keys", Cause: cause}
}

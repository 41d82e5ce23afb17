package query

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/promql"
)

// ExpressionError says what is wrong with an expression: with the text itself, or with what it
// would make of the series that there are.
type ExpressionError struct {
	Evaluated bool // it was found while the expression was evaluated
	Err       error
}

// Error implements error.
func (e *ExpressionError) Error() string { return e.Err.Error() }

// Unwrap returns the parser's or the evaluation's own error.
func (e *ExpressionError) Unwrap() error { return e.Err }

// sourceError marks what reading the sources has failed with, which Prometheus's engine wraps like
// what it does not like about an expression.
type sourceError struct{ error }

func (e sourceError) Unwrap() error { return e.error }

// unwrapped returns the error of a source, or of a limit, as it was before the engine wrapped it.
// Any other is the expression's.
func unwrapped(err error) error {
	if of, is := errors.AsType[sourceError](err); is {
		return of.error
	}
	if of, is := errors.AsType[promql.ErrStorage](err); is {
		return of.Err
	}
	switch err.(type) {
	case promql.ErrQueryTimeout, promql.ErrQueryCanceled, promql.ErrTooManySamples:
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &ExpressionError{Evaluated: true, Err: err}
}

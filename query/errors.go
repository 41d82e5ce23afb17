package query

import (
	"fmt"
	"math"
	"time"
)

// NotWhole is how warnings begin that say what an answer lacks.
const NotWhole = "the answer is not whole: "

// LimitError says that a query was refused because it needs more than its account may have.
type LimitError struct {
	Limit  string // its name in the configuration, for instance max_series
	Value  int64
	Needed int64  // what the query would have needed, at least; 0: nobody knows
	Unit   string // of both, in words; empty: none
	Remedy string // how to narrow the query
}

// Error implements error.
func (e *LimitError) Error() string {
	unit := e.Unit
	if unit != "" {
		unit = " " + unit
	}
	if e.Needed > 0 {
		return fmt.Sprintf("the query needs %d%s, and %s allows %d: %s", e.Needed, unit, e.Limit,
			e.Value, e.Remedy)
	}
	return fmt.Sprintf("the query needs more than the %d%s that %s allows: %s", e.Value, unit,
		e.Limit, e.Remedy)
}

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

// BusyError says that too many queries of the account wait already.
type BusyError struct {
	Account string
	Waiting int // queries of the account
	// After is when they are done, if they take what the last queries took.
	After time.Duration
}

// RetryAfter is after how many seconds to ask again: at least one, and no more than thirty.
func (e *BusyError) RetryAfter() int {
	return min(max(1, int(math.Ceil(e.After.Seconds()))), 30)
}

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%d queries of account %s are waiting, as many as max_waiting allows: ask "+
		"again in %d s, or "+
		"less often", e.Waiting, e.Account, e.RetryAfter())
}

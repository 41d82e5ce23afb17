// Package limit keeps one account's questions from making another's wait: Queue lets each have its
// turn, Error and BusyError say which limit refused a question, and what to do.
//
// It imports none of our packages.
package limit

import (
	"fmt"
	"math"
	"time"
)

// Error says that a query was refused because it needs more than its account may have.
type Error struct {
	Limit  string // its name in the configuration, for instance max_series
	Value  int64
	Needed int64  // what the query would have needed, at least; 0: nobody knows
	Unit   string // of both, in words; empty: none
	Remedy string // how to narrow the query
}

// Error implements error.
func (e *Error) Error() string {
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

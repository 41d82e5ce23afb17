package rows

import (
	"context"
	"errors"
	"fmt"
)

// Error is why an engine could not do what it was asked to do.
type Error struct {
	Err       error  // in the engine's words
	Meaning   string // what that means, and what to do about it; "": the words say it
	Retryable bool   // the same call may succeed later without anybody changing anything
	Cause     error  // ErrDenied, ErrUnknown or nil
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the error's cause.
func (e *Error) Is(target error) bool { return e.Cause != nil && e.Cause == target }

// Causes of an Error, for errors.Is.
var (
	// ErrDenied says that we may not do that.
	ErrDenied = errors.New("rows: not permitted")
	// ErrUnknown says that the engine has no such table or column.
	ErrUnknown = errors.New("rows: no such table or column")
)

// ErrNotConnected is returned by all calls before there is a connection to the engine, and after
// its end.
var ErrNotConnected error = &Error{Err: errors.New("store: not connected yet"), Retryable: true}

// Retryable reports whether the same call may succeed later without anybody changing anything: the
// engine is away, overloaded, starting or did not answer in time, or the throttle had no room. What
// is refused for what it is (bad credentials, missing tables, missing rights) is not, nor is the
// end of a context.
func Retryable(err error) bool {
	var e *Error
	return err != nil && !errors.Is(err, context.Canceled) && errors.As(err, &e) && e.Retryable
}

// Explained puts what an engine's error means, and what to do, before its own words.
func Explained(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Meaning != "" {
		return fmt.Errorf("%s: %w", e.Meaning, err)
	}
	return err
}

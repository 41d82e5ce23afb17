// Package exit has the program's exit codes, and the errors that have one. An error of none of
// these types ends the program with Failed.
package exit

// Exit codes: 0 done, 1 failed, 2 called or configured wrongly, 3 rules that are odd but not wrong.
const (
	Failed  = 1
	Misused = 2
	Odd     = 3
)

// UsageError is the caller's mistake: exit code 2.
type UsageError struct{ error }

// CodeError has an exit code of its own.
type CodeError struct {
	error
	Code int
}

// Usage is an error of the caller's.
func Usage(err error) error { return UsageError{err} }

// WithCode is an error with an exit code of its own.
func WithCode(err error, code int) error { return CodeError{err, code} }

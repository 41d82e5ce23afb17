package query

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

package ring

import (
	"context"
	"errors"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// KeyError says that a key's value is none that its table can have. Nothing was sent for the key.
type KeyError struct {
	Index  int    // of the key
	Column string // empty: the key as a whole
	Err    error
}

func (e *KeyError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("key %d: %v", e.Index, e.Err)
	}
	return fmt.Sprintf("key %d, column %s: %v", e.Index, e.Column, e.Err)
}

func (e *KeyError) Unwrap() error { return e.Err }

// What reading a key can fail with.
var (
	// ErrClosed ends reads that are under way when the reader is closed, and those that come later.
	ErrClosed = errors.New("the reader is closed")
	// ErrLate ends a request that has waited so long for its replica that another one is asked.
	ErrLate = errors.New("no answer in time")
)

var errStray = errors.New("the answer has rows of other keys than were asked for")

// blame says what an error is about. That decides what to do next.
type blame int

const (
	ofHost    blame = iota // the node or the way to it: another may answer the same
	ofData                 // one of the keys, perhaps: fewer at a time may be answered
	ofRequest              // the question, or the reader's end: nobody will answer it
)

// blameOf sorts what the driver returns.
func blameOf(err error) blame {
	var request gocql.RequestError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, gocql.ErrSessionClosed), errors.Is(err,
		ErrClosed):
		return ofRequest
	case errors.Is(err, errStray):
		return ofData
	case errors.As(err, &request):
		switch request.Code() {
		case gocql.ErrCodeReadTimeout, gocql.ErrCodeReadFailure, gocql.ErrCodeInvalid,
			gocql.ErrCodeProtocol, gocql.ErrCodeFunctionFailure:
			return ofData
		case gocql.ErrCodeSyntax, gocql.ErrCodeUnauthorized, gocql.ErrCodeCredentials,
			gocql.ErrCodeConfig:
			return ofRequest
		}
	}
	return ofHost
}

// refused tells whether a node understood a statement and will not have it.
func refused(err error) bool {
	var request gocql.RequestError
	if !errors.As(err, &request) {
		return false
	}
	switch request.Code() {
	case gocql.ErrCodeSyntax, gocql.ErrCodeInvalid, gocql.ErrCodeUnauthorized, gocql.ErrCodeConfig,
		gocql.ErrCodeProtocol:
		return true
	}
	return false
}

// invalid tells whether a node refuses a statement that it once prepared: the table may have
// changed.
func invalid(err error) bool {
	var request gocql.RequestError
	return errors.As(err, &request) && request.Code() == gocql.ErrCodeInvalid
}

// dead tells whether the way to a node is broken, so that it is left alone at once.
func dead(err error) bool {
	return errors.Is(err, gocql.ErrNoConnections) || errors.Is(err, gocql.ErrConnectionClosed) ||
		errors.Is(err, ErrLate)
}

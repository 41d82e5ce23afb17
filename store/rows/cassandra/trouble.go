package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store/rows"
)

// asRowsError returns an error of the driver's or of the throttle's as a rows.Error. One that is a
// rows.Error already, and the end of a context that somebody has cancelled, stay as they are.
func asRowsError(err error) error {
	var known *rows.Error
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &known) {
		return err
	}
	if throttled(err) {
		return &rows.Error{Err: err, Retryable: true}
	}
	e := &rows.Error{Err: err, Retryable: retryable(err), Meaning: explain(err)}
	var refused gocql.RequestError
	switch {
	case errors.Is(err, ring.ErrNoTable):
		e.Cause = rows.ErrUnknown
	case !errors.As(err, &refused):
	case refused.Code() == gocql.ErrCodeUnauthorized:
		e.Cause = rows.ErrDenied
	case refused.Code() == gocql.ErrCodeInvalid:
		e.Cause = rows.ErrUnknown
	}
	return e
}

// throttled reports whether an error is the throttle's.
func throttled(err error) bool { return errors.Is(err, throttle.ErrThrottled) }

// retryable reports whether Cassandra is away, overloaded, starting or did not answer in time.
func retryable(err error) bool {
	for _, known := range []error{
		gocql.ErrNoConnections, gocql.ErrTimeoutNoResponse, gocql.ErrConnectionClosed,
		gocql.ErrNoStreams, gocql.ErrTooManyTimeouts, gocql.ErrUnavailable, gocql.ErrSessionClosed,
		gocql.ErrHostQueryFailed, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNREFUSED,
		syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var request gocql.RequestError
	if errors.As(err, &request) {
		switch request.Code() {
		case gocql.ErrCodeServer, gocql.ErrCodeUnavailable, gocql.ErrCodeOverloaded,
			gocql.ErrCodeBootstrapping, gocql.ErrCodeTruncate, gocql.ErrCodeWriteTimeout,
			gocql.ErrCodeReadTimeout, gocql.ErrCodeReadFailure, gocql.ErrCodeWriteFailure,
			gocql.ErrCodeCDCWriteFailure,
			gocql.ErrCodeCASWriteUnknown, gocql.ErrCodeUnprepared:
			return true
		}
		return false
	}
	var network net.Error
	return errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)
}

// explain says what an error of the driver's means, and what to do.
func explain(err error) string {
	var (
		writeTimeout *gocql.RequestErrWriteTimeout
		writeFailure *gocql.RequestErrWriteFailure
		readTimeout  *gocql.RequestErrReadTimeout
		readFailure  *gocql.RequestErrReadFailure
		unavailable  *gocql.RequestErrUnavailable
		refused      gocql.RequestError
	)
	switch {
	case errors.As(err, &writeTimeout):
		return fmt.Sprintf("Cassandra is overloaded, or a node of it hangs or has a full disk: "+
			"%d of %d replicas wrote in time", writeTimeout.Received, writeTimeout.BlockFor)
	case errors.As(err, &readTimeout):
		return fmt.Sprintf("Cassandra is overloaded, or a node of it hangs: %d of %d replicas "+
			"answered in time", readTimeout.Received, readTimeout.BlockFor)
	case errors.As(err, &writeFailure):
		return fmt.Sprintf("%d of Cassandra's replicas failed to write: look into their logs",
			writeFailure.NumFailures)
	case errors.As(err, &readFailure):
		return fmt.Sprintf("%d of Cassandra's replicas failed to read: look into their logs",
			readFailure.NumFailures)
	case errors.As(err, &unavailable):
		return fmt.Sprintf("%d replicas are up, and %d are needed: see nodetool status",
			unavailable.Alive, unavailable.Required)
	case errors.As(err, &refused):
		switch refused.Code() {
		case gocql.ErrCodeInvalid, gocql.ErrCodeSyntax, gocql.ErrCodeConfig,
			gocql.ErrCodeUnprepared:
			return "Cassandra refuses the statement; if its tables were changed, run ringwatch " +
				"schema apply"
		case gocql.ErrCodeUnauthorized, gocql.ErrCodeCredentials:
			return "Cassandra does not permit it: see docs/STORE.md, Roles in Cassandra"
		}
		return ""
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, gocql.ErrTimeoutNoResponse):
		return "Cassandra does not answer in time"
	case retryable(err):
		return "no node of Cassandra can be reached"
	}
	return ""
}

// logEvery is how often at most the log is told that Cassandra fails: under overload calls fail and
// succeed by turns.
const logEvery = 10 * time.Second

// record remembers how a call ended, for Failing, and logs it when that changes.
func (s *Session) record(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	if err == nil {
		if s.trouble.Load() != nil && s.trouble.Swap(nil) != nil {
			s.log.Info("store: Cassandra answers again")
		}
		return
	}
	s.trouble.Store(&err)
	now := time.Now().UnixNano()
	if last := s.loggedAt.Load(); now-last > int64(logEvery) &&
		s.loggedAt.CompareAndSwap(last, now) {
		s.log.Warn("store: Cassandra fails; calls that can be repeated are repeated", "error", err,
			"retryable", rows.Retryable(err))
	}
}

// Failing returns why the last call failed, or nil.
func (s *Session) Failing() error { return loadError(&s.trouble) }

// Applying returns why Apply does not get on, or nil.
func (s *Session) Applying() error { return loadError(&s.applying) }

// loadError returns the error that a pointer has, or nil.
func loadError(p *atomic.Pointer[error]) error {
	if err := p.Load(); err != nil {
		return *err
	}
	return nil
}

package store

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/ring/throttle"
)

var (
	// ErrNotConnected is returned by all that needs Cassandra before Connect has succeeded, and after Close. It is retryable.
	ErrNotConnected = errors.New("store: not connected to Cassandra yet")
	// ErrLayout is wrapped by Apply's error about a table that is there with other columns than ours.
	ErrLayout = errors.New("store: a table of another layout")
	// ErrLoss is wrapped by ApplyChanges' errors about changes that would lose data.
	ErrLoss = errors.New("store: refused, because it would lose data")
	// ErrRights is wrapped by Apply's error if this role of Cassandra's may not change the schema and it has to be changed.
	ErrRights = errors.New("store: this role may not change the schema")
	// ErrKeysRights is wrapped by CreateKey's and RevokeKey's errors if this role of Cassandra's may
	// not write API keys.
	ErrKeysRights = errors.New("store: this role of Cassandra's may not write API keys")
	// ErrCutovers is returned for windows of which this process cannot know what generation serves them, because it could not read the cutover table for too
	// long. It is retryable.
	ErrCutovers = errors.New("store: the cutover table could not be read for too long")
	// ErrGeneration is wrapped by the error about a generation that this program does not know.
	ErrGeneration = errors.New("store: unknown generation")
	// ErrCutover is wrapped by the error about a cutover that cannot be.
	ErrCutover = errors.New("store: cutover refused")
	// ErrDrop is wrapped by Drop's error about a generation that has data.
	ErrDrop = errors.New("store: drop refused")
	// ErrDisagreement is wrapped by Apply's error about nodes that do not have one schema, because one of them is away or frozen. It is retryable.
	ErrDisagreement = errors.New("store: Cassandra's nodes do not agree on the schema; see nodetool describecluster")
	// ErrTooLarge is returned for a frame that Cassandra would refuse.
	ErrTooLarge = errors.New("store: frame too large")
)

// Retryable reports whether the same call may succeed later without anybody changing anything: Cassandra is away, overloaded, starting or did not answer in
// time, or the throttle had no room. What Cassandra refuses for what it is (bad credentials, missing tables, missing rights) is not, nor is the end of a context.
func Retryable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	for _, known := range []error{
		ErrNotConnected, ErrCutovers, ErrDisagreement, ErrSettling, gocql.ErrNoConnections, gocql.ErrTimeoutNoResponse, gocql.ErrConnectionClosed, gocql.ErrNoStreams, gocql.ErrTooManyTimeouts,
		gocql.ErrUnavailable, gocql.ErrSessionClosed, gocql.ErrHostQueryFailed, throttle.ErrThrottled, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var request gocql.RequestError
	if errors.As(err, &request) {
		switch request.Code() {
		case gocql.ErrCodeServer, gocql.ErrCodeUnavailable, gocql.ErrCodeOverloaded, gocql.ErrCodeBootstrapping, gocql.ErrCodeTruncate, gocql.ErrCodeWriteTimeout,
			gocql.ErrCodeReadTimeout, gocql.ErrCodeReadFailure, gocql.ErrCodeWriteFailure, gocql.ErrCodeCDCWriteFailure,
			gocql.ErrCodeCASWriteUnknown, gocql.ErrCodeUnprepared:
			return true
		}
		return false
	}
	var network net.Error
	return errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)
}

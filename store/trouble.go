package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/memory"
)

// probeTimeout bounds Ready's own question to Cassandra.
const probeTimeout = 2 * time.Second

// Ready returns nil if the last call to Cassandra succeeded, else in one sentence why it did not, or why windows are refused. If the last call failed it asks
// again, so that who has nothing to do learns that Cassandra is back.
func (s *Store) Ready(ctx context.Context) error {
	if _, err := s.cql(); err != nil {
		return err
	}
	if _, err := s.applying.why(); err != nil {
		return fmt.Errorf("store: the tables are being checked: %w", explained(err))
	}
	if p := s.cutovers.blocked.Load(); p != nil {
		return *p
	}
	if s.trouble.Load() != nil {
		bounded, cancel := context.WithTimeout(ctx, probeTimeout)
		_, err := s.readCutovers(bounded)
		cancel()
		if err != nil {
			return fmt.Errorf("store: Cassandra does not answer as it should: %w", explained(err))
		}
	}
	return nil
}

// Ready returns nil while frames are written and windows closed as they come, else in one sentence what is in the way.
func (w *Writer) Ready(ctx context.Context) error {
	if since, err := w.stuck.why(); err != nil {
		return fmt.Errorf("store: frames wait since %s to be written: %w", since.UTC().Format(time.RFC3339), explained(err))
	}
	if n, err := w.unclosed(); err != nil {
		return fmt.Errorf("store: %d windows wait to be closed: %w", n, explained(err))
	}
	if n, err := w.unmade(); err != nil {
		return fmt.Errorf("store: %d hours or days wait to be made: %w", n, explained(err))
	}
	return w.store.Ready(ctx)
}

// unclosed returns how many windows could not be closed when that was tried last, and why the first of them could not.
func (w *Writer) unclosed() (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := int64(0)
	for k, o := range w.open {
		if o.err == nil || memory.Refused(o.err) { // see Aside
			continue
		}
		if n++; err == nil || k.start < first {
			first, err = k.start, o.err
		}
	}
	return n, err
}

// hold is why a kind of work does not get on. Single calls may succeed all the while: under overload they do so by turns.
type hold struct {
	mu    sync.Mutex
	since time.Time
	err   error
}

func (h *hold) by(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.since = time.Now()
	}
	h.err = err
}

func (h *hold) gone() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = nil
}

func (h *hold) why() (since time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.since, h.err
}

// explained puts what an error of Cassandra's means, and what to do, before its own words.
func explained(err error) error {
	if meaning := explain(err); meaning != "" {
		return fmt.Errorf("%s: %w", meaning, err)
	}
	return err
}

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
	case errors.Is(err, ErrExpired), errors.Is(err, ErrBehind), errors.Is(err, ErrCutovers), errors.Is(err, ErrNotConnected), errors.Is(err, ErrDisagreement), errors.Is(err, ErrSettling):
		return "" // they speak for themselves
	case errors.As(err, &writeTimeout):
		return fmt.Sprintf("Cassandra is overloaded, or a node of it hangs or has a full disk: %d of %d replicas wrote in time", writeTimeout.Received, writeTimeout.BlockFor)
	case errors.As(err, &readTimeout):
		return fmt.Sprintf("Cassandra is overloaded, or a node of it hangs: %d of %d replicas answered in time", readTimeout.Received, readTimeout.BlockFor)
	case errors.As(err, &writeFailure):
		return fmt.Sprintf("%d of Cassandra's replicas failed to write: look into their logs", writeFailure.NumFailures)
	case errors.As(err, &readFailure):
		return fmt.Sprintf("%d of Cassandra's replicas failed to read: look into their logs", readFailure.NumFailures)
	case errors.As(err, &unavailable):
		return fmt.Sprintf("%d replicas are up, and %d are needed: see nodetool status", unavailable.Alive, unavailable.Required)
	case errors.As(err, &refused):
		switch refused.Code() {
		case gocql.ErrCodeInvalid, gocql.ErrCodeSyntax, gocql.ErrCodeConfig, gocql.ErrCodeUnprepared:
			return "Cassandra refuses the statement; if its tables were changed, run ringwatch schema apply"
		case gocql.ErrCodeUnauthorized, gocql.ErrCodeCredentials:
			return "Cassandra does not permit it: see docs/STORE.md, Roles in Cassandra"
		}
		return ""
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, gocql.ErrTimeoutNoResponse):
		return "Cassandra does not answer in time"
	case Retryable(err):
		return "no node of Cassandra can be reached"
	}
	return ""
}

// quiet is how long the store says nothing after it has said that Cassandra fails: under overload calls fail and succeed by turns.
const quiet = 10 * time.Second

// note remembers how a call ended, for Ready, and tells the log when that changes.
func (s *Store) note(err error) {
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
	if last := s.complained.Load(); now-last > int64(quiet) && s.complained.CompareAndSwap(last, now) {
		s.log.Warn("store: Cassandra fails; calls that can be repeated are repeated", "error", err, "retryable", Retryable(err))
	}
}

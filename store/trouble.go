package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

// probeTimeout bounds Ready's own question to Cassandra.
const probeTimeout = 2 * time.Second

// Ready returns nil if the last call to Cassandra succeeded, else in one sentence why it did not,
// or why windows are refused. If the last call failed it asks again, so that who has nothing to do
// learns that Cassandra is back.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.session.Connected(); err != nil {
		return err
	}
	if s.external != nil {
		if err := s.external.Applying(); err != nil {
			return fmt.Errorf("store: the tables are being checked: %w", explained(err))
		}
	}
	if err := s.cutovers.Blocked(); err != nil {
		return err
	}
	if s.session.Failing() != nil {
		bounded, cancel := context.WithTimeout(ctx, probeTimeout)
		_, err := s.cutovers.All(bounded)
		cancel()
		if err != nil {
			return fmt.Errorf("store: the database does not answer as it should: %w",
				explained(err))
		}
	}
	return nil
}

// Ready returns nil while frames are written and windows closed as they come, else in one sentence
// what is in the way.
func (w *Writer) Ready(ctx context.Context) error {
	if since, err := w.stalled.cause(); err != nil {
		return fmt.Errorf("store: frames wait since %s to be written: %w",
			since.UTC().Format(time.RFC3339), explained(err))
	}
	if n, err := w.windows.Unclosed(); err != nil {
		return fmt.Errorf("store: %d windows wait to be closed: %w", n, explained(err))
	}
	if n, err := w.schedule.Failed(); err != nil {
		return fmt.Errorf("store: %d hours or days wait to be made: %w", n, explained(err))
	}
	return w.store.Ready(ctx)
}

// stall is why a kind of work does not get on. Single calls may succeed all the while: under
// overload they do so by turns.
type stall struct {
	mu    sync.Mutex
	since time.Time
	err   error
}

func (h *stall) set(err error) {
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

func (h *stall) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = nil
}

func (h *stall) cause() (since time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.since, h.err
}

// explained puts what an error of Cassandra's means, and what to do, before its own words.
func explained(err error) error {
	switch {
	case errors.Is(err, ErrExpired), errors.Is(err, ErrBehind), errors.Is(err, ErrCutovers):
		return err // they speak for themselves
	}
	return rows.Explained(err)
}

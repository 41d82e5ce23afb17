// Package cassandra keeps rows in Apache Cassandra. Start with Session: a connection to it as a
// rows.Engine. It also looks after the schema: tables and their settings, who may do what, how much
// there is, and how safe an acknowledged write is.
//
// What it promises: what rows.Engine does, for all processes that write and read at Consistency.
// An error that may pass by itself is Retryable, and errors say what they mean and what to do. A
// change of the schema that would lose data is refused, but for a shorter TTL that the caller
// allows.
//
// It is the only package in the store that knows CQL and the driver. Of our packages it imports
// store/rows, ring with its throttle, and access/certs.
package cassandra

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Session is a connection to Cassandra. Its methods may be called from many goroutines.
type Session struct {
	config Config
	log    *slog.Logger

	mu      sync.RWMutex
	session *gocql.Session

	grouped grouped

	// why the tables are not there yet; nil: they are, or nobody has asked
	applying atomic.Pointer[error]
	trouble  atomic.Pointer[error] // why the last call failed; nil: it did not
	loggedAt atomic.Int64          // when the log was told last, nanoseconds since the Unix epoch
	warning  warning               // how acknowledged frames can be lost
}

var _ rows.Engine = (*Session)(nil)

// New returns a session with a configuration that is valid. It starts nothing: call Connect.
func New(c Config) *Session {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Settle == 0 {
		c.Settle = settleFor
	}
	return &Session{config: c, log: c.Log}
}

// Connect connects to Cassandra, trying again with backoff until it succeeds or ctx ends. Each
// failure is logged.
func (s *Session) Connect(ctx context.Context) error {
	for wait := rows.NewBackoff(); ; {
		session, err := s.config.cluster().CreateSession()
		if err == nil {
			s.mu.Lock()
			s.session = session
			s.mu.Unlock()
			s.record(nil)
			return nil
		}
		err = asRowsError(err)
		s.record(err)
		s.log.Warn("store: cannot connect to Cassandra; trying again", "hosts", s.config.Hosts,
			"error", err)
		if ended := wait.Sleep(ctx); ended != nil {
			return fmt.Errorf("store: gave up connecting to Cassandra: %w: %w", ended, err)
		}
	}
}

// Close ends the connection.
func (s *Session) Close() {
	s.mu.Lock()
	session := s.session
	s.session = nil
	s.mu.Unlock()
	s.grouped.close()
	if session == nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		session.Close()
	}()
	select {
	case <-ended:
	case <-time.After(closeTimeout):
		s.log.Warn("store: the driver did not end the connection to Cassandra in time; left it",
			"after", closeTimeout)
	}
}

// closeTimeout is how long Close waits for the driver. Version 2.1.2 waits for ever if it is closed
// while it connects again: its control connection waits for a refresh of the schema that Close has
// stopped, and Close for the control connection.
const closeTimeout = 5 * time.Second

// CQL returns the driver's session, or rows.ErrNotConnected.
func (s *Session) CQL() (*gocql.Session, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.session == nil {
		return nil, rows.ErrNotConnected
	}
	return s.session, nil
}

// Connected returns rows.ErrNotConnected if there is no connection.
func (s *Session) Connected() error {
	_, err := s.CQL()
	return err
}

// Name returns a table's full name, as a statement has it.
func (s *Session) Name(table string) string { return s.config.Keyspace + "." + table }

// admit asks the throttle for one call, and returns what is to be called when that has ended.
func (s *Session) admit(ctx context.Context, w rows.Work, table string) (func(took time.Duration,
	err error), error) {
	if w.Class == "" || s.config.Admit == nil {
		return func(time.Duration, error) {}, nil
	}
	wait := ctx
	if w.Patience > 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, w.Patience)
		defer cancel()
	}
	done, err := s.config.Admit(wait, ring.Work{Class: w.Class, Client: w.Client},
		s.config.Keyspace, table, 1)
	if err != nil {
		return nil, asRowsError(err)
	}
	return func(took time.Duration, err error) {
		if !rows.Retryable(err) {
			err = nil // it says nothing of Cassandra's health
		}
		done(took, err)
	}, nil
}

// Run runs a statement or a batch that returns nothing; table is what it is about.
func (s *Session) Run(ctx context.Context, w rows.Work, table string,
	execute func(context.Context) error) error {
	done, err := s.admit(ctx, w, table)
	if err != nil {
		return err
	}
	begun := time.Now()
	err = asRowsError(execute(ctx))
	took := time.Since(begun)
	done(took, err)
	w.Answers.Add(took)
	s.record(err)
	return err
}

// Scan runs a query about a table and calls row until it returns false. What the throttle is told
// to have taken is the time to the first page: how many follow is the question's size.
func (s *Session) Scan(ctx context.Context, w rows.Work, table string, q *gocql.Query,
	row func(scan func(into ...any) bool) bool) error {
	done, err := s.admit(ctx, w, table)
	if err != nil {
		return err
	}
	begun := time.Now()
	iter := q.IterContext(ctx)
	took := time.Since(begun)
	w.Answers.Add(took)
	scan := func(into ...any) bool { return iter.Scan(driverTargets(into)...) }
	for row(scan) {
	}
	err = asRowsError(iter.Close())
	done(took, err)
	s.record(err)
	return err
}

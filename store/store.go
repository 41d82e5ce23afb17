// Package store keeps what nodes said in Cassandra and answers by node, metric and time. Every reader and writer of metrics goes through it.
//
// It has two layers. Frames are written as they come (fresh: a row per frame). When a window's five minutes are over, its frames are read back and the window is
// written to the tables of the Generation that serves its time (raw), its meta row last; the default, v3, has a row per metric. A window is answered from raw exactly if
// it has a meta row, else from fresh: so there is neither gap nor doubling, whenever and by whomever it is closed.
//
// What it promises: a frame that WriteFrame took is found by Read until its TTL, exactly once per series and instant, whatever was written twice, late, in which order, or by which process.
// A frame that arrives after its window was closed is seen at once, too: see late.go.
//
// What bites: windows with late frames are read from both layers until the frames have expired, which costs a read more.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/window"
)

// Store is a connection to Cassandra. Its methods may be called from many goroutines.
type Store struct {
	config  Config
	metrics *Metrics
	log     *slog.Logger

	mu      sync.RWMutex
	session *gocql.Session

	reading sync.Mutex
	reader  *ring.Reader // once somebody has read many partitions at once

	applying   hold                  // why the tables are not there yet
	settleFor  time.Duration         // the constant; tests wait less
	trouble    atomic.Pointer[error] // why the last call failed; nil: it did not
	complained atomic.Int64          // when the log was told last, nanoseconds since the Unix epoch
	stamped    *atomic.Int64         // the last of stamp

	cutovers      cutoverCache
	progress      progressCache
	announcing    chan struct{}                 // a place for each frame that announce looks into
	announcedKeys *bounded[nodeDay, uint64]     // dictionarySum of the last key frame whose dictionaries are written
	announced     *bounded[windowID, time.Time] // when delta frames of a window were last looked into
	marked        *bounded[windowID, time.Time] // windows that this process has marked as late, and when
	warning       warning                       // how acknowledged frames can be lost

	pace         *pace                                       // of closing windows
	written      *bounded[writtenKey, []window.Hash]         // which dictionaries are in a partition, see written.go
	dictionaries *bounded[dictionaryKey, *window.Dictionary] // decoded
	keptSpans    *bounded[keptID, *keptSpan]                 // nil: none are kept
}

type dictionaryKey struct {
	account string
	node    uuid.UUID
	hash    window.Hash
}

// dictionaryValues bounds decoded dictionaries, which weigh what they have of labels.
const dictionaryValues = 4_000_000

// New checks the configuration. It starts nothing: call Connect. m may be nil.
func New(c Config, m *Metrics) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if m == nil {
		m = NewMetrics(nil)
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	var kept *bounded[keptID, *keptSpan]
	if c.KeptBytes > 0 {
		kept = newBounded[keptID, *keptSpan](c.KeptBytes)
	}
	return &Store{
		keptSpans: kept,
		config:    c, metrics: m, log: c.Log, settleFor: settleFor,
		stamped:       new(atomic.Int64),
		pace:          newPace(m.ClosingAtOnce.Set),
		written:       newBounded[writtenKey, []window.Hash](writtenBytes),
		dictionaries:  newBounded[dictionaryKey, *window.Dictionary](dictionaryValues),
		marked:        newBounded[windowID, time.Time](lateMarks),
		announcing:    make(chan struct{}, announcesAtOnce),
		announcedKeys: newBounded[nodeDay, uint64](announcedNodes),
		announced:     newBounded[windowID, time.Time](announcedNodes),
	}, nil
}

// Connect connects to Cassandra, trying again with backoff until it succeeds or ctx ends. Each failure is logged.
func (s *Store) Connect(ctx context.Context) error {
	rows := counted{s.config.Keyspace, s.metrics}
	for wait := newBackoff(); ; {
		cluster := s.config.cluster()
		cluster.QueryObserver, cluster.BatchObserver = rows, rows
		session, err := cluster.CreateSession()
		if err == nil {
			s.mu.Lock()
			s.session = session
			s.mu.Unlock()
			s.note(nil)
			return nil
		}
		s.note(err)
		s.log.Warn("store: cannot connect to Cassandra; trying again", "hosts", s.config.Hosts, "error", err)
		if err := wait.sleep(ctx); err != nil {
			return fmt.Errorf("store: gave up connecting to Cassandra: %w: %w", err, *s.trouble.Load())
		}
	}
}

// Close ends the connection.
func (s *Store) Close() {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.reader != nil {
		s.reader.Close()
		s.reader = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != nil {
		s.session.Close()
		s.session = nil
	}
}

func (s *Store) cql() (*gocql.Session, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.session == nil {
		return nil, ErrNotConnected
	}
	return s.session, nil
}

// table returns a table's full name.
func (s *Store) table(name string) string { return s.config.Keyspace + "." + name }

// exec runs a statement.
func (s *Store) exec(ctx context.Context, statement string, args ...any) error {
	session, err := s.cql()
	if err != nil {
		s.note(err)
		return err
	}
	return s.run(ctx, tableOf(statement), session.Query(statement, args...).ExecContext)
}

// each runs a query and calls row for each of its rows until it returns false. row gets them by scanning.
func (s *Store) each(ctx context.Context, row func(scan func(into ...any) bool) bool, statement string, args ...any) error {
	session, err := s.cql()
	if err != nil {
		return err
	}
	return s.scan(ctx, session.Query(statement, args...), row)
}

// retry calls f until it succeeds, its error is not retryable or ctx ends.
func (s *Store) retry(ctx context.Context, what string, f func() error) error {
	for wait := newBackoff(); ; {
		err := f()
		if err == nil || !Retryable(err) || ctx.Err() != nil {
			return err
		}
		s.metrics.Retries.Inc()
		if ended := wait.sleep(ctx); ended != nil {
			return fmt.Errorf("gave up on %s: %w: %w", what, ended, err)
		}
	}
}

// backoff waits longer each time, with jitter so that many do not come back at once.
type backoff struct{ wait time.Duration }

const (
	firstWait   = 50 * time.Millisecond
	longestWait = 5 * time.Second
)

func newBackoff() *backoff { return &backoff{firstWait} }

func (b *backoff) sleep(ctx context.Context) error {
	d := b.wait/2 + rand.N(b.wait)
	b.wait = min(2*b.wait, longestWait)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// stamp returns the write time of what is made of a reading that begins now, in µs since the Unix epoch: the clock, but never the same twice.
func (s *Store) stamp() int64 {
	for {
		last := s.stamped.Load()
		now := max(s.config.Now().UnixMicro(), last+1)
		if s.stamped.CompareAndSwap(last, now) {
			return now
		}
	}
}

// millis returns the clock in milliseconds since the Unix epoch.
func (s *Store) millis() int64 { return s.config.Now().UnixMilli() }

package store

import (
	"context"
	"errors"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// work is what a call is for, as the throttle is told.
type work struct {
	ring.Work
	patience time.Duration // how long it waits for the throttle; 0: as long as that lets it
}

type workKey struct{}

// as marks calls under ctx, unless they are marked already: who marks first knows best what it is all for.
func as(ctx context.Context, class, client string, patience time.Duration) context.Context {
	if _, marked := ctx.Value(workKey{}).(work); marked {
		return ctx
	}
	return context.WithValue(ctx, workKey{}, work{ring.Work{Class: class, Client: client}, patience})
}

// unmarked takes the mark away: what everything else depends on waits for no throttle.
func unmarked(ctx context.Context) context.Context {
	return context.WithValue(ctx, workKey{}, nil)
}

// Bulk marks calls under ctx as work that nobody waits for: Config.Admit is asked in that class, for reads and writes.
func Bulk(ctx context.Context, client string) context.Context {
	return as(ctx, throttle.Bulk, client, 0)
}

// dashboard marks calls under ctx as work that somebody looks at.
func dashboard(ctx context.Context, account string) context.Context {
	return as(ctx, throttle.Dashboard, account, 0)
}

// rollingPatience is how long rolling up waits for the throttle. It uses what closes windows, which must not wait behind it; it is tried again.
const rollingPatience = time.Second

// rolling marks calls under ctx as rolling up.
func rolling(ctx context.Context) context.Context {
	return as(ctx, throttle.Bulk, "Ringwatch/rollups", rollingPatience)
}

// admit asks Config.Admit for one call if it is marked, and returns what is to be called when it has ended.
func (s *Store) admit(ctx context.Context, table string) (func(took time.Duration, err error), error) {
	w, marked := ctx.Value(workKey{}).(work)
	if !marked || s.config.Admit == nil {
		return func(time.Duration, error) {}, nil
	}
	wait := ctx
	if w.patience > 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, w.patience)
		defer cancel()
	}
	done, err := s.config.Admit(wait, w.Work, s.config.Keyspace, table, 1)
	if err != nil {
		return nil, err
	}
	return func(took time.Duration, err error) {
		if !Retryable(err) {
			err = nil // it says nothing of Cassandra's health
		}
		done(took, err)
	}, nil
}

// run runs a statement or a batch that returns nothing.
func (s *Store) run(ctx context.Context, table string, execute func(context.Context) error) error {
	done, err := s.admit(ctx, table)
	if err != nil {
		return err
	}
	begun := time.Now()
	err = execute(ctx)
	took := time.Since(begun)
	done(took, err)
	answered(ctx, took)
	s.note(err)
	return err
}

// scan runs a query and calls row until it returns false. What the throttle is told to have taken is the time to the first page: how many follow is the question's size.
func (s *Store) scan(ctx context.Context, q *gocql.Query, row func(scan func(into ...any) bool) bool) error {
	done, err := s.admit(ctx, tableOf(q.Statement()))
	if err != nil {
		return err
	}
	begun := time.Now()
	iter := q.IterContext(ctx)
	took := time.Since(begun)
	answered(ctx, took)
	for row(iter.Scan) {
	}
	err = iter.Close()
	done(took, err)
	s.note(err)
	return err
}

// tableOf is the table that a statement of this package is about.
func tableOf(statement string) string {
	for _, before := range []string{" FROM ", "INSERT INTO ", "UPDATE "} {
		if _, rest, found := strings.Cut(statement, before); found {
			name, _, _ := strings.Cut(rest, " ")
			_, table, _ := strings.Cut(name, ".")
			return table
		}
	}
	return ""
}

// throttled reports whether an error is the throttle's.
func throttled(err error) bool { return errors.Is(err, throttle.ErrThrottled) }

// ring returns what reads many partitions at once, made when it is first asked for.
func (s *Store) ring() (*ring.Reader, error) {
	s.reading.Lock() // not mu: it looks at the cluster
	defer s.reading.Unlock()
	session, err := s.cql()
	if err != nil || s.reader != nil {
		return s.reader, err
	}
	c := s.config.Ring
	c.Datacenter, c.Consistency, c.CacheBytes, c.CacheTTL = s.config.Datacenter, s.config.Consistency, 0, nil // what was just written must be found
	reader, err := ring.New(session, c, s.config.Admit, s.config.Registerer)
	if err == nil {
		s.reader = reader
	}
	return reader, err
}

package store

import (
	"context"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
)

// What is here is for the layouts that are not on rows yet: they speak CQL, and take what a call is
// for from its context.

func (s *Store) cql() (*gocql.Session, error) { return s.session.CQL() }

// table returns a table's full name.
func (s *Store) table(name string) string { return s.session.Name(name) }

// exec runs a statement.
func (s *Store) exec(ctx context.Context, statement string, args ...any) error {
	return s.session.Exec(ctx, workOf(ctx), statement, args...)
}

// each runs a query and calls row for each of its rows until it returns false. row gets them by
// scanning.
func (s *Store) each(ctx context.Context, row func(scan func(into ...any) bool) bool, statement string, args ...any) error {
	session, err := s.cql()
	if err != nil {
		return err
	}
	return s.scan(ctx, session.Query(statement, args...), row)
}

// run runs a statement or a batch that returns nothing.
func (s *Store) run(ctx context.Context, table string, execute func(context.Context) error) error {
	return s.session.Run(ctx, workOf(ctx), table, execute)
}

// scan is each.
func (s *Store) scan(ctx context.Context, q *gocql.Query, row func(scan func(into ...any) bool) bool) error {
	return s.session.Query(ctx, workOf(ctx), q, row)
}

func (s *Store) freshFrames(ctx context.Context, account string, node uuid.UUID, window int64) ([][]byte, error) {
	return s.fresh.frames(ctx, workOf(ctx), memory.Of(ctx), account, node, window)
}

func (s *Store) havingFrames(ctx context.Context, account string, node uuid.UUID, windows []int64) ([]int64, error) {
	return s.fresh.having(ctx, workOf(ctx), account, node, windows)
}

func (s *Store) lateMarks(ctx context.Context, account string, node uuid.UUID, from, to int64) (map[int64]int64, error) {
	return s.late.marks(ctx, workOf(ctx), account, node, from, to)
}

func (s *Store) writeDictionaries(ctx context.Context, n window.Node, start int64, list []window.EncodedDictionary) error {
	return s.series.write(ctx, workOf(ctx), n, start, list)
}

func (s *Store) fill(ctx context.Context, h shelf, list []window.EncodedDictionary, tell func([]window.EncodedDictionary) error) error {
	return s.series.fill(ctx, workOf(ctx), h, list, tell)
}

// The waits between tries.
const (
	firstWait   = rows.FirstWait
	longestWait = rows.LongestWait
)

type backoff struct{ *rows.Backoff }

func newBackoff() backoff { return backoff{rows.NewBackoff()} }

func (b backoff) sleep(ctx context.Context) error { return b.Sleep(ctx) }

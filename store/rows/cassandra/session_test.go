package cassandra

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/rowstest"
)

func TestMain(m *testing.M) { engines.Main(m) }

var keyspaces atomic.Int64

func testConfig(t *testing.T, addr string) Config {
	return Config{
		Hosts: []string{addr}, Keyspace: fmt.Sprintf("rows_%d_%d", os.Getpid(), keyspaces.Add(1)),
		ReplicationFactor: 1, Consistency: "LOCAL_QUORUM",
		Timeout: time.Minute, Ring: ring.DefaultConfig(),
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

func mustConnect(t *testing.T, c Config) *Session {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	s := New(c)
	if err := s.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func execute(t *testing.T, s *Session, statement string) error {
	session, err := s.CQL()
	if err != nil {
		return err
	}
	return session.Query(statement).ExecContext(t.Context())
}

// schemaOf is the schema of just these tables.
func schemaOf(tables ...*rows.Table) rows.Schema {
	return rows.Schema{
		Tables: func(context.Context) ([]*rows.Table, error) { return tables, nil },
		Seed:   func(context.Context) error { return nil },
	}
}

func TestContract(t *testing.T) {
	node := engines.SharedCassandra(t)
	rowstest.Run(t, func(t *testing.T, admit rowstest.Admit, tables ...*rows.Table) rows.Engine {
		c := testConfig(t, node.Addr())
		if admit != nil {
			c.Admit = func(ctx context.Context, w ring.Work, _, table string,
				n int) (func(time.Duration, error), error) {
				return admit(ctx, rows.Work{Class: w.Class, Client: w.Client}, table, n)
			}
		}
		s := mustConnect(t, c)
		if _, err := s.Apply(t.Context(), rows.Changes{}, schemaOf(tables...)); err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestNotConnected(t *testing.T) {
	s := New(testConfig(t, "127.0.0.1:1"))
	table := &rows.Table{Name: "t", Partition: []rows.Column{{Name: "p"}}}
	for what, err := range map[string]error{
		"put": s.Put(t.Context(), rows.Work{}, table, rows.Row{Key: []any{"p"}}),
		"read": s.Read(t.Context(), rows.Work{}, rows.Query{Table: table, Key: []any{"p"},
			Columns: []string{"p"}}, nil),
		"many": s.ReadMany(t.Context(), rows.Work{},
			rows.Query{Table: table, Columns: []string{"p"}}, nil, nil),
	} {
		if !errors.Is(err, rows.ErrNotConnected) || !rows.Retryable(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestContradictionHasAnEnd: what stays as it is, is an error that names it, after the bound.
func TestContradictionHasAnEnd(t *testing.T) {
	c := testConfig(t, engines.SharedCassandra(t).Addr())
	c.Settle = 500 * time.Millisecond
	retries := 0
	c.Retried = func() { retries++ }
	s := mustConnect(t, c)
	table := &rows.Table{Name: "t", Partition: []rows.Column{{Name: "p"}},
		Values: []rows.Column{{Name: "v"}}, Compression: rows.Fast}
	schema := schemaOf(table)
	if _, err := s.Apply(t.Context(), rows.Changes{}, schema); err != nil {
		t.Fatal(err)
	}
	schema.Seed = func(ctx context.Context) error {
		return s.Read(ctx, rows.Work{}, rows.Query{Table: table, Key: []any{"p"},
			Columns: []string{"gone"}}, func(scan func(...any) bool) bool { return scan(nil) })
	}
	_, err := s.Apply(t.Context(), rows.Changes{}, schema)
	if err == nil || rows.Retryable(err) || errors.Is(err, ErrSettling) ||
		!strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
	if retries == 0 {
		t.Error("it was not tried again")
	}
	if s.Applying() == nil {
		t.Error("nothing is in the way")
	}
}

package store

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/cassandra"
	"github.com/ringwatch/ringwatch/store/rows/files"
	"github.com/ringwatch/ringwatch/store/schema"
)

// database is an engine with what a store needs of it beside rows: its connection, how it fares,
// and its tables.
type database interface {
	rows.Engine

	Connect(context.Context) error
	Connected() error // rows.ErrNotConnected, or nil
	Failing() error   // why the last call failed, or nil
	Close()

	schema.Database
	Empty(context.Context, *rows.Table) (bool, error) // of a table that is there
}

// externalDatabase is a database that somebody else runs, and that says how safe rows are in it.
type externalDatabase interface {
	schema.External
	Applying() error // why Apply does not get on, or nil
}

// newDatabase returns the configuration's database: Cassandra, or files if it names a directory.
func newDatabase(c *Config, m *Metrics) (database, error) {
	counted := func(table string, read, written int) {
		if read > 0 {
			m.rowsRead.WithLabelValues(table).Add(float64(read))
		}
		if written > 0 {
			m.rowsWritten.WithLabelValues(table).Add(float64(written))
		}
	}
	if c.Dir == "" {
		cluster := c.cluster()
		cluster.Retried, cluster.Counted = m.retries.Inc, counted
		return cassandra.New(cluster), nil
	}
	own := files.Config{MaxBytes: c.MaxBytes, Besides: c.Besides, Counted: counted,
		Registerer: c.Registerer, Now: c.DirNow, Log: c.Log}
	// What is written and not in files yet is held three times at most, and a part is for their
	// blocks.
	own.MemoryBytes, own.CacheBytes = int(c.DirMemory/4), int(c.DirMemory/4)
	if admit := c.Admit; admit != nil {
		own.Admit = func(
			ctx context.Context, w rows.Work, table string, n int,
		) (func(time.Duration, error), error) {
			return admit(ctx, ring.Work{Class: w.Class, Client: w.Client}, c.Keyspace, table, n)
		}
	}
	return files.New(c.Dir, own)
}

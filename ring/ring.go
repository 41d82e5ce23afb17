// Package ring reads many partitions of Cassandra tables at once.
//
// Keys are hashed as Cassandra does and grouped by the replicas that own them; each group is one request to a replica that has the rows itself. A group that is late is raced
// by another replica, rows that are asked for often are kept in memory, and all reads can be held to what a throttle admits.
//
// What it promises: an answer per key, in the order of the keys; the answer of a key is never that of another; a key that cannot be read fails alone; no read outlives its context.
package ring

import (
	"context"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Key names a partition: a value for each column of the table's partition key, in the table's order, of a Go type that gocql takes for the column.
type Key []any

// Query says what is read of each partition.
type Query struct {
	Keyspace, Table string
	// Columns are read in this order; none: all of the table, partition key first, as Table.Columns has them.
	Columns []string
	// Where restricts clustering columns, in CQL, e.g. "window >= ? AND window <= ?"; Args are its values. The same for every key.
	Where string
	Args  []any
	// Limit is how many rows of a partition are read; 0: all.
	Limit int
	// Consistency of the read; gocql.Any, the zero value: Config.Consistency. Beyond LOCAL_ONE and ONE a replica that is asked for a group asks others itself.
	Consistency gocql.Consistency
	// Work is told to the throttle.
	Work Work
	// Fresh reads past the row cache, and fills it.
	Fresh bool
}

// Work says who asks, for the throttle and for who looks at it. An empty Class is Config.Class.
type Work struct{ Class, Client string }

// Result is the answer for one key.
type Result struct {
	Rows   []Row // none, and no Err: there is no such row
	Err    error // this key could not be read
	Cached bool  // no replica was asked
}

// Admit waits until n operations on a table may begin, no longer than ctx; done is called once when they have ended.
type Admit func(ctx context.Context, w Work, keyspace, table string, n int) (done func(took time.Duration, err error), err error)

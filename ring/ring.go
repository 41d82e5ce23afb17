// Package ring reads many partitions of Cassandra tables at once.
//
// Keys are hashed as Cassandra does and grouped by the replicas that own them; each group is one
// request to a replica that has the rows itself. A group that is late is raced by another
// replica, rows that are asked for often are kept in memory, and all reads can be held to what a
// throttle admits. It stands on a gocql session of yours and needs nothing of Ringwatch's.
//
//	reader, err := ring.Connect(ctx, session, ring.DefaultConfig(), nil, prometheus.DefaultRegisterer)
//	…
//	results, err := reader.Read(ctx, ring.Query{Keyspace: "shop", Table: "prices", Columns: []string{"cents"}}, []ring.Key{{"cup"}, {"pot"}})
//
// What it promises:
//   - An answer per key, in the order of the keys, rows in the order of the table. The answer of
//     a key is never that of another: rows tell by their own key columns whose they are.
//   - A key that is not there is told from one that could not be read; one that cannot be read
//     fails alone, whether it is no key of the table, lies on nodes that are down, or breaks
//     every request that it is part of.
//   - No read outlives its context, or Config.Timeout where that has no deadline.
//   - Only nodes of Config.Datacenter are asked, as far as the keyspace's replication is known. A
//     topology that is out of date costs a hop, never an answer.
//   - Reads only: a Query is one SELECT, prepared, whatever its Where says. So asking twice does
//     no harm, which is what races and repetitions rest on.
//
// What bites:
//   - Keys of types of which equal values have several forms (decimal, varint, float and double,
//     and everything made of parts: collections, tuples, types of your own) are asked for singly,
//     each of its owner. So are composite keys, but for those that differ in one column alone.
//   - Partitioners other than Murmur3 and replication strategies other than the two that come
//     with Cassandra leave the choice of the node to the session's own policy.
//   - A read at a consistency beyond LOCAL_ONE and ONE has its group coordinated by a replica of
//     all its keys, which asks the others for each key.
//   - A group's answer is in memory as a whole before its keys are given out: partitions of many
//     megabytes want a small Config.GroupKeys, or a Limit.
//   - The session's Timeout ends requests too. Let it be longer than Config.Timeout.
//   - Static columns of a partition without rows make a row, as in any SELECT.
package ring

import (
	"context"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Key names a partition: a value for each column of the table's partition key, in the table's
// order, of a Go type that gocql takes for the column.
type Key []any

// Query says what is read of each partition.
type Query struct {
	Keyspace, Table string
	// Columns are read in this order; none: all of the table, partition key first, as
	// Table.Columns has them.
	Columns []string
	// Where restricts clustering columns, in CQL, e.g. "window >= ? AND window <= ?"; Args are
	// its values. The same for every key.
	Where string
	Args  []any
	// Limit is how many rows of a partition are read; 0: all.
	Limit int
	// Consistency of the read; gocql.Any, the zero value: Config.Consistency. Beyond LOCAL_ONE
	// and ONE a replica that is asked for a group asks others itself.
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

// Admit waits until n operations on a table may begin, no longer than ctx; done is called once
// when they have ended.
type Admit func(ctx context.Context, w Work, keyspace, table string,
	n int) (done func(took time.Duration, err error), err error)

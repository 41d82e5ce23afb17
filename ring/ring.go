// Package ring reads many partitions of Cassandra tables at once.
//
// Begin with Reader. It stands on a gocql session of yours and imports none of our packages.
//
//	Reader.Read, Stream
//	   ├─ plan       the statement for this shape of query, prepared once        plan.go, tables.go
//	   ├─ keySet     keys in Cassandra's form, each once, hashed to tokens       keys.go, token.go
//	   ├─ rowCache   rows in memory, and reads of others that can be joined      rowcache.go, flight.go
//	   └─ fetch      the rest, in one goroutine that decides                     fetch.go
//	        ├─ chooser   groups keys by the replicas that have most of them      group.go
//	        └─ attempt   one request to one replica, when the throttle admits it attempt.go
//	             └─ late? another replica is raced for the same keys             speculate.go
//	follow keeps up with who has which tokens, beside all reads                  follow.go, topology.go
//
//	reader, err := ring.Connect(ctx, session, ring.DefaultConfig(), nil, prometheus.DefaultRegisterer)
//	…
//	results, err := reader.Read(ctx, ring.Query{Keyspace: "shop", Table: "prices", Columns: []string{"cents"}}, []ring.Key{{"cup"}, {"pot"}})
//
// What it promises:
//   - There is an answer per key, in the order of the keys, with rows in the order of the table. A
//     key never gets another key's answer: each row says by its own key columns whose it is.
//   - A key that is not there differs from one that could not be read. A key that cannot be read
//     fails alone, whether the table can have no such key, its nodes are down, or it breaks every
//     request that it is part of.
//   - No read outlives its context, or Config.Timeout where that has no deadline.
//   - Only nodes of Config.Datacenter are asked, as far as the keyspace's replication is known. A
//     topology that is out of date costs a hop, never an answer.
//   - It only reads: a Query is one prepared SELECT, whatever its Where says. So asking twice does
//     no harm; races and repetitions rely on that.
//
// What bites:
//   - In some types equal values have several forms: decimal, varint, float, double, and all that
//     is made of parts (collections, tuples, types of your own). Keys of these types are not
//     grouped: each has a request of its own. Composite keys are grouped only where they differ in
//     a single column.
//   - With a partitioner other than Murmur3, or a replication strategy other than the two that come
//     with Cassandra, the session's own policy chooses the node.
//   - Beyond LOCAL_ONE and ONE a group is coordinated by a replica of all its keys, which asks the
//     other replicas for each key.
//   - A group's answer is in memory as a whole before its keys are given out. For partitions of
//     many megabytes set a small Config.GroupKeys, or a Limit.
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

package store

import (
	"context"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// counted counts the rows that go to Cassandra and come from it, by table: the driver tells it of
// each request, whoever in this package makes it. How many rows a window or an answer takes is what
// most of its cost follows from.
type counted struct {
	keyspace string
	metrics  *Metrics
}

// ObserveQuery is called for each page of a query, too.
func (c counted) ObserveQuery(_ context.Context, q gocql.ObservedQuery) {
	statement := strings.ReplaceAll(q.Statement, `"`, "")                 // package ring quotes
	if q.Err != nil || !strings.Contains(statement, " "+c.keyspace+".") { // Cassandra's own tables are not ours
		return
	}
	if table := tableOf(statement); strings.HasPrefix(statement, "SELECT ") {
		c.metrics.RowsRead.WithLabelValues(table).Add(float64(q.Rows))
	} else if table != "" {
		c.metrics.RowsWritten.WithLabelValues(table).Inc()
	}
}

// ObserveBatch counts a row for each statement.
func (c counted) ObserveBatch(_ context.Context, b gocql.ObservedBatch) {
	if b.Err != nil {
		return
	}
	for _, statement := range b.Statements {
		c.metrics.RowsWritten.WithLabelValues(tableOf(statement)).Inc()
	}
}

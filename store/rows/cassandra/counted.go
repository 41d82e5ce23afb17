package cassandra

import (
	"context"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// observer hears from the driver of each request, whoever in this package makes it. How many rows a
// window or an answer takes is what most of its cost follows from.
type observer struct{ *Config }

// ObserveQuery is called for each page of a query, too.
func (o observer) ObserveQuery(_ context.Context, q gocql.ObservedQuery) {
	if o.Observed != nil {
		o.Observed()
	}
	// package ring quotes
	statement := strings.ReplaceAll(q.Statement, `"`, "")
	// Cassandra's own tables are not ours
	if o.Counted == nil || q.Err != nil || !strings.Contains(statement, " "+o.Keyspace+".") {
		return
	}
	if table := tableOf(statement); strings.HasPrefix(statement, "SELECT ") {
		o.Counted(table, q.Rows, 0)
	} else if table != "" {
		o.Counted(table, 0, 1)
	}
}

// ObserveBatch counts a row for each statement.
func (o observer) ObserveBatch(_ context.Context, b gocql.ObservedBatch) {
	if o.Observed != nil {
		o.Observed()
	}
	if o.Counted == nil || b.Err != nil {
		return
	}
	for _, statement := range b.Statements {
		o.Counted(tableOf(statement), 0, 1)
	}
}

// tableOf is the table that a statement of the store is about.
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

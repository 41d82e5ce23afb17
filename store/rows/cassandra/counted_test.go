package cassandra

import (
	"context"
	"errors"
	"maps"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// TestRowsAreCountedByTable: what failed and what is Cassandra's own does not count.
func TestRowsAreCountedByTable(t *testing.T) {
	read, written := map[string]int{}, map[string]int{}
	c := observer{&Config{Keyspace: "ringwatch", Counted: func(table string, r, w int) {
		if r > 0 {
			read[table] += r
		}
		if w > 0 {
			written[table] += w
		}
	}}}
	for _, q := range []gocql.ObservedQuery{
		{Statement: "SELECT blob FROM ringwatch.series WHERE account = ?", Rows: 500},
		// the second page
		{Statement: "SELECT blob FROM ringwatch.series WHERE account = ?", Rows: 7},
		{Statement: `SELECT "frame" FROM "ringwatch"."fresh" WHERE "account" = ?`, Rows: 2},
		{Statement: "SELECT blob FROM ringwatch.series WHERE account = ?", Rows: 7,
			Err: errors.New("away")},
		{Statement: "SELECT now() FROM system.local", Rows: 1},
		{Statement: "INSERT INTO ringwatch.fresh (account) VALUES (?)"},
		{Statement: "CREATE TABLE IF NOT EXISTS ringwatch.fresh (a text)"},
	} {
		c.ObserveQuery(context.Background(), q)
	}
	insert := "INSERT INTO ringwatch.v3_hours (account) VALUES (?)"
	c.ObserveBatch(context.Background(),
		gocql.ObservedBatch{Statements: []string{insert, insert, insert}})
	c.ObserveBatch(context.Background(), gocql.ObservedBatch{Statements: []string{insert},
		Err: errors.New("away")})
	if !maps.Equal(read, map[string]int{"series": 507, "fresh": 2}) ||
		!maps.Equal(written, map[string]int{"fresh": 1, "v3_hours": 3}) {
		t.Errorf("read %v, written %v", read, written)
	}
}

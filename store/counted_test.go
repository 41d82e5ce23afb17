package store

import (
	"context"
	"errors"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestRowsAreCountedByTable: what failed and what is Cassandra's own does not count.
func TestRowsAreCountedByTable(t *testing.T) {
	c := counted{"ringwatch", NewMetrics(nil)}
	for _, q := range []gocql.ObservedQuery{
		{Statement: "SELECT blob FROM ringwatch.series WHERE account = ?", Rows: 500},
		{Statement: "SELECT blob FROM ringwatch.series WHERE account = ?", Rows: 7}, // the second page
		{Statement: `SELECT "frame" FROM "ringwatch"."fresh" WHERE "account" = ?`, Rows: 2},
		{Statement: "SELECT blob FROM ringwatch.series WHERE account = ?", Rows: 7, Err: errors.New("away")},
		{Statement: "SELECT now() FROM system.local", Rows: 1},
		{Statement: "INSERT INTO ringwatch.fresh (account) VALUES (?)"},
		{Statement: "CREATE TABLE IF NOT EXISTS ringwatch.fresh (a text)"},
	} {
		c.ObserveQuery(context.Background(), q)
	}
	insert := "INSERT INTO ringwatch.v3_raw (account) VALUES (?)"
	c.ObserveBatch(context.Background(), gocql.ObservedBatch{Statements: []string{insert, insert, insert}})
	c.ObserveBatch(context.Background(), gocql.ObservedBatch{Statements: []string{insert}, Err: errors.New("away")})
	for _, want := range []struct {
		what string
		got  float64
		rows float64
	}{
		{"read from series", testutil.ToFloat64(c.metrics.RowsRead.WithLabelValues("series")), 507},
		{"read from fresh", testutil.ToFloat64(c.metrics.RowsRead.WithLabelValues("fresh")), 2},
		{"written to fresh", testutil.ToFloat64(c.metrics.RowsWritten.WithLabelValues("fresh")), 1},
		{"written to v3_raw", testutil.ToFloat64(c.metrics.RowsWritten.WithLabelValues("v3_raw")), 3},
		{"tables read", float64(testutil.CollectAndCount(c.metrics.RowsRead)), 2},
		{"tables written", float64(testutil.CollectAndCount(c.metrics.RowsWritten)), 2},
	} {
		if want.got != want.rows {
			t.Errorf("%s: %v, want %v", want.what, want.got, want.rows)
		}
	}
}

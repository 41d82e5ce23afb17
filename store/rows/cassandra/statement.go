package cassandra

import (
	"context"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/store/rows"
)

// Exec runs a statement of a layout that is not on rows yet.
func (s *Session) Exec(ctx context.Context, w rows.Work, statement string, args ...any) error {
	session, err := s.CQL()
	if err != nil {
		return err
	}
	return s.Run(ctx, w, tableOf(statement), session.Query(statement, args...).ExecContext)
}

// Query runs a query of a layout that is not on rows yet, as Read does.
func (s *Session) Query(ctx context.Context, w rows.Work, q *gocql.Query, row func(scan func(into ...any) bool) bool) error {
	return s.Scan(ctx, w, tableOf(q.Statement()), q, row)
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

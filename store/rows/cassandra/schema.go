package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/store/rows"
)

// ErrDisagreement is wrapped by Apply's error about nodes that do not have one schema, because one
// of them is away or frozen. It is retryable.
var ErrDisagreement error = &rows.Error{
	Err: errors.New("store: Cassandra's nodes do not agree on the schema; see nodetool " +
		"describecluster"), Retryable: true,
}

// Apply creates what is missing of keyspace, tables and columns, alters what differs if it may,
// and returns a sentence for each change. Without Changes.Alter it warns of settings that differ
// from the configuration. Before it changes anything it looks for what would lose data, a shorter
// TTL or fewer replicas: that is an error which wraps rows.ErrLoss. It may be called again at any
// time, and by several at once. While Cassandra's nodes do not agree on the schema it waits: what
// one of them says may be old. While another process creates the same it waits, too: see
// settle.go.
//
// A table that is there with other columns is an error that wraps rows.ErrLayout; nothing of it is
// touched. Without the right to create, and something to create, the error wraps rows.ErrRights.
func (s *Session) Apply(ctx context.Context, c rows.Changes, schema rows.Schema) ([]string, error) {
	var done []string
	moment := settling{bound: s.config.Settle}
	a := application{s, c, schema}
	err := rows.Retry(ctx, "apply schema", s.config.Retried, func() error {
		more, err := a.once(ctx)
		done = append(done, more...)
		if err = moment.judge(err); err != nil && !errors.Is(err, context.Canceled) {
			s.applying.Store(&err)
		}
		return err
	})
	if err == nil {
		s.applying.Store(nil)
	}
	return done, err
}

// Has reports whether a table is there. The error wraps rows.ErrLayout if it is there with other
// columns.
func (s *Session) Has(ctx context.Context, t *rows.Table) (bool, error) {
	found, _, err := compare(ctx, s, t)
	return found, err
}

// Empty reports whether a table has no rows.
func (s *Session) Empty(ctx context.Context, t *rows.Table) (bool, error) {
	empty := true
	err := rows.Retry(ctx, "look for rows of "+t.Name, s.config.Retried, func() error {
		return s.systemQuery(ctx, func(scan func(...any) bool) bool {
			empty = !scan(nil)
			return false
		}, "SELECT "+t.Partition[0].Name+" FROM "+s.Name(t.Name)+" LIMIT 1")
	})
	return empty, err
}

// Create creates tables that are not there.
func (s *Session) Create(ctx context.Context, list ...*rows.Table) error {
	for _, t := range list {
		if err := rows.Retry(ctx, "create "+t.Name, s.config.Retried, func() error {
			return s.change(ctx, create(s.Name(t.Name), t))
		}); err != nil {
			return err
		}
	}
	return nil
}

// Drop drops a table, if it is there.
func (s *Session) Drop(ctx context.Context, t *rows.Table) error {
	drop := func() error { return s.change(ctx, "DROP TABLE IF EXISTS "+s.Name(t.Name)) }
	// a change may take a busy Cassandra longer than a query may
	return rows.Retry(ctx, "drop "+t.Name, s.config.Retried, drop)
}

// change runs a schema statement on the node with the lowest host id that is up. All processes do,
// so that node does one after the other: two nodes that create one table at once would give it two
// identities.
func (s *Session) change(ctx context.Context, statement string) error {
	session, err := s.CQL()
	if err != nil {
		return err
	}
	var lowest string
	for _, h := range session.GetHosts() {
		if h.IsUp() && (lowest == "" || h.HostID() < lowest) {
			lowest = h.HostID()
		}
	}
	q := session.Query(statement)
	if lowest != "" {
		q = q.SetHostID(lowest)
	}
	if err := asRowsError(q.ExecContext(ctx)); err != nil {
		var exists *gocql.RequestErrAlreadyExists
		if !errors.As(err, &exists) {
			s.record(err)
			if errors.Is(err, rows.ErrDenied) {
				return fmt.Errorf("%w (%w): run ringwatch schema apply with a role that may, see "+
					"docs/STORE.md, Roles in Cassandra", rows.ErrRights, err)
			}
			return fmt.Errorf("store: schema change failed: %w", err)
		}
	}
	return s.agreement(ctx)
}

// agreement waits a moment until all nodes have one schema. The error wraps ErrDisagreement if they
// do not.
func (s *Session) agreement(ctx context.Context) error {
	session, err := s.CQL()
	if err != nil {
		return err
	}
	if err = session.AwaitSchemaAgreement(ctx); err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", ErrDisagreement, err)
		}
		s.record(err)
	}
	return err
}

// compare compares a table's columns with what they should be. Further regular columns are a newer
// version's and do no harm; regular ones that are missing are an older version's, and returned.
func compare(ctx context.Context, s *Session, t *rows.Table) (found bool, missing []rows.Column,
	err error) {
	want := map[string]string{}
	describe := func(list []rows.Column, kind string) {
		for i, c := range list {
			position, order := i, "none"
			switch {
			case kind == "regular":
				position = -1
			case kind == "clustering" && c.Descending:
				order = "desc"
			case kind == "clustering":
				order = "asc"
			}
			want[c.Name] = fmt.Sprintf("%s %s %d %s", kinds[c.Kind], kind, position, order)
		}
	}
	describe(t.Partition, "partition_key")
	describe(t.Clustering, "clustering")
	describe(t.Values, "regular")
	var wrong []string
	var name, order, kind, typ string
	var position int
	err = s.systemQuery(ctx, func(scan func(...any) bool) bool {
		if !scan(&name, &order, &kind, &position, &typ) {
			return false
		}
		found = true
		got := fmt.Sprintf("%s %s %d %s", typ, kind, position, order)
		if w, known := want[name]; known && w != got || !known && kind != "regular" {
			wrong = append(wrong, fmt.Sprintf("%s is %q, not %q", name, got, w))
		}
		delete(want, name)
		return true
	}, "SELECT column_name, clustering_order, kind, position, type FROM system_schema.columns "+
		"WHERE keyspace_name = ? AND table_name = ?", s.config.Keyspace, t.Name)
	if err != nil || !found {
		return false, nil, err
	}
	for _, c := range t.Values {
		if want[c.Name] != "" {
			missing = append(missing, c)
			delete(want, c.Name)
		}
	}
	for name := range want {
		wrong = append(wrong, name+" is missing")
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return true, nil, fmt.Errorf("%w: %s is not a table of Ringwatch's (%s); set another "+
			"keyspace, or rename or drop that table", rows.ErrLayout, s.Name(t.Name),
			strings.Join(wrong, "; "))
	}
	return true, missing, nil
}

// systemQuery runs a query of Cassandra's own tables.
func (s *Session) systemQuery(ctx context.Context, row func(scan func(into ...any) bool) bool,
	statement string, args ...any) error {
	session, err := s.CQL()
	if err != nil {
		return err
	}
	return s.Scan(ctx, rows.Work{}, "", session.Query(statement, args...), row)
}

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Changes is what ApplyChanges may do beside creating what is missing.
type Changes struct {
	Alter           bool // set what differs: TTLs, compaction, compression, more replicas
	AllowShorterTTL bool // even if rows will expire earlier than they do now
}

// Apply creates what is missing of keyspace, tables and columns, and warns of settings that differ from the configuration. Roles call it when they start; several
// may at once. A table that is there with other columns is an error that wraps ErrLayout; nothing of it is touched. Without the right to create,
// and something to create, the error wraps ErrRights.
func (s *Store) Apply(ctx context.Context) error {
	_, err := s.ApplyChanges(ctx, Changes{})
	return err
}

// ApplyChanges creates what is missing and alters what differs, and returns a sentence for each change. Before it changes anything it looks for what would
// lose data, a shorter TTL or fewer replicas: that is an error which wraps ErrLoss. It may be called again at any time. While Cassandra's nodes do not agree on the schema it
// waits: what one of them says may be old. While another process creates the same it waits, too: see settle.go.
func (s *Store) ApplyChanges(ctx context.Context, c Changes) ([]string, error) {
	var done []string
	moment := settling{bound: s.settleFor}
	err := s.retry(ctx, "apply schema", func() (err error) {
		defer func() { s.applying.by(err) }()
		more, err := s.applyOnce(ctx, c)
		done = append(done, more...)
		return moment.judge(err)
	})
	if err == nil {
		s.applying.gone()
	}
	return done, err
}

// applyOnce returns what it has done, even if it fails then.
func (s *Store) applyOnce(ctx context.Context, c Changes) (done []string, err error) {
	plan, err := s.plan(ctx, c)
	if err != nil && !errors.Is(err, ErrLoss) {
		return nil, err
	}
	if c.Alter || len(plan) > 0 {
		// Who was asked may not have heard of a change yet, and must not make another one then. A role that finds everything there starts all the same.
		if err := s.agreement(ctx); err != nil {
			return nil, err
		}
		if plan, err = s.plan(ctx, c); err != nil {
			return nil, err
		}
	}
	for _, step := range plan {
		if err := s.change(ctx, step.statement); err != nil {
			return done, err
		}
		done = append(done, step.what)
	}
	if err := s.seedCutovers(ctx); err != nil {
		return done, err
	}
	return done, s.verify(ctx)
}

// step is one change of the schema.
type step struct{ what, statement string }

// plan returns what is to be done. Errors that wrap ErrLoss are collected, so that all of them show at once.
func (s *Store) plan(ctx context.Context, c Changes) ([]step, error) {
	steps, refused, err := s.planKeyspace(ctx, c)
	if err != nil {
		return nil, err
	}
	tables, err := s.tablesNow(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		found, missing, err := s.check(ctx, t)
		if err != nil {
			return nil, err
		}
		if !found {
			steps = append(steps, step{"created table " + t.name, t.create(s.config.Keyspace)})
			continue
		}
		for _, m := range missing {
			steps = append(steps, step{"added column " + m.name + " to " + t.name, fmt.Sprintf("ALTER TABLE %s ADD %s %s", s.table(t.name), m.name, m.kind)})
		}
		more, err := s.planSettings(ctx, t, c)
		if errors.Is(err, ErrLoss) {
			refused = append(refused, err)
		} else if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return steps, errors.Join(refused...)
}

// tablesNow returns the shared tables and those of the generations that serve any time whose data has not expired.
func (s *Store) tablesNow(ctx context.Context) ([]tableLayout, error) {
	tables := s.config.tables()
	names, err := s.liveGenerations(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		g, err := s.generation(name)
		if err != nil { // a newer program's: its tables are not ours to look after
			s.log.Warn("store: left tables alone", "error", err)
			continue
		}
		tables = append(tables, g.Tables(&s.config)...)
	}
	return tables, nil
}

// verify looks at everything again: another process may have created something at the same time, in another layout, or be at it still.
func (s *Store) verify(ctx context.Context) error {
	tables, err := s.tablesNow(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		found, missing, err := s.check(ctx, t)
		if err == nil && (!found || len(missing) > 0) {
			err = fmt.Errorf("store: table %s.%s: %w", s.config.Keyspace, t.name, errNotThere)
		}
		if err == nil {
			err = s.probe(ctx, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// change runs a schema statement on the node with the lowest host id that is up. All processes do, so that node does one after the other: two
// nodes that create one table at once would give it two identities.
func (s *Store) change(ctx context.Context, statement string) error {
	session, err := s.cql()
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
	if err := q.ExecContext(ctx); err != nil {
		var exists *gocql.RequestErrAlreadyExists
		if !asError(err, &exists) {
			s.note(err)
			var refused gocql.RequestError
			if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeUnauthorized {
				return fmt.Errorf("%w (%w): run ringwatch schema apply with a role that may, see docs/STORE.md, Roles in Cassandra", ErrRights, err)
			}
			return fmt.Errorf("store: schema change failed: %w", err)
		}
	}
	return s.agreement(ctx)
}

// agreement waits a moment until all nodes have one schema. The error wraps ErrDisagreement if they do not.
func (s *Store) agreement(ctx context.Context) error {
	session, err := s.cql()
	if err != nil {
		return err
	}
	if err = session.AwaitSchemaAgreement(ctx); err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", ErrDisagreement, err)
		}
		s.note(err)
	}
	return err
}

// check compares a table's columns with its layout. Further regular columns are a newer version's and do no harm; regular ones that are missing are an
// older version's, and returned.
func (s *Store) check(ctx context.Context, t tableLayout) (found bool, missing []columnLayout, err error) {
	want := map[string]string{}
	describe := func(list []columnLayout, kind string) {
		for i, c := range list {
			position, order := i, "none"
			switch {
			case kind == "regular":
				position = -1
			case kind == "clustering" && c.descending:
				order = "desc"
			case kind == "clustering":
				order = "asc"
			}
			want[c.name] = fmt.Sprintf("%s %s %d %s", c.kind, kind, position, order)
		}
	}
	describe(t.partition, "partition_key")
	describe(t.cluster, "clustering")
	describe(t.rest, "regular")
	var wrong []string
	var name, order, kind, typ string
	var position int
	err = s.each(ctx, func(scan func(...any) bool) bool {
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
	}, "SELECT column_name, clustering_order, kind, position, type FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?", s.config.Keyspace, t.name)
	if err != nil || !found {
		return false, nil, err
	}
	for _, c := range t.rest {
		if want[c.name] != "" {
			missing = append(missing, c)
			delete(want, c.name)
		}
	}
	for name := range want {
		wrong = append(wrong, name+" is missing")
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return true, nil, fmt.Errorf("%w: %s.%s is not a table of Ringwatch's (%s); set another keyspace, or rename or drop that table", ErrLayout, s.config.Keyspace, t.name, strings.Join(wrong, "; "))
	}
	return true, missing, nil
}

package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/store/rows"
)

// application is one Apply: what is asked for, of a session.
type application struct {
	session *Session
	changes rows.Changes
	schema  rows.Schema
}

// once returns what it has done, even if it fails then.
func (a *application) once(ctx context.Context) (done []string, err error) {
	plan, err := a.plan(ctx)
	if err != nil && !errors.Is(err, rows.ErrLoss) {
		return nil, err
	}
	if a.changes.Alter || len(plan) > 0 {
		// Who was asked may not have heard of a change yet, and must not make another one then. A
		// role that finds everything there starts all the same.
		if err := a.session.agreement(ctx); err != nil {
			return nil, err
		}
		if plan, err = a.plan(ctx); err != nil {
			return nil, err
		}
	}
	for _, step := range plan {
		if err := a.session.change(ctx, step.statement); err != nil {
			return done, err
		}
		done = append(done, step.what)
	}
	if err := a.schema.Seed(ctx); err != nil {
		return done, err
	}
	return done, a.verify(ctx)
}

// step is one change of the schema.
type step struct{ what, statement string }

// plan returns what is to be done. Errors that wrap rows.ErrLoss are collected, so that all of
// them show at once.
func (a *application) plan(ctx context.Context) ([]step, error) {
	steps, refused, err := a.keyspace(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := a.schema.Tables(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		found, missing, err := compare(ctx, a.session, t)
		if err != nil {
			return nil, err
		}
		if !found {
			steps = append(steps, step{"created table " + t.Name,
				create(a.session.Name(t.Name), t)})
			continue
		}
		for _, m := range missing {
			steps = append(steps, step{"added column " + m.Name + " to " + t.Name,
				fmt.Sprintf("ALTER TABLE %s ADD %s %s", a.session.Name(t.Name), m.Name,
					kinds[m.Kind])})
		}
		more, err := a.settings(ctx, t)
		if errors.Is(err, rows.ErrLoss) {
			refused = append(refused, err)
		} else if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return steps, errors.Join(refused...)
}

// verify looks at everything again: another process may have created something at the same time, in
// another layout, or be at it still.
func (a *application) verify(ctx context.Context) error {
	tables, err := a.schema.Tables(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		found, missing, err := compare(ctx, a.session, t)
		if err == nil && (!found || len(missing) > 0) {
			err = fmt.Errorf("store: table %s: %w", a.session.Name(t.Name), errNotThere)
		}
		if err == nil {
			err = a.probe(ctx, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// probe reads nothing from a table: it fails while the node that it asks does not know the table.
func (a *application) probe(ctx context.Context, t *rows.Table) error {
	var where []string
	var key []any
	for _, c := range t.Partition {
		where = append(where, c.Name+" = ?")
		switch c.Kind {
		case rows.Text:
			key = append(key, "ringwatch") // a key of one column must not be empty
		case rows.UUID:
			key = append(key, gocql.UUID{})
		default:
			key = append(key, int64(0))
		}
	}
	return a.session.systemQuery(ctx, func(func(...any) bool) bool { return false },
		"SELECT "+t.Partition[0].Name+" FROM "+a.session.Name(t.Name)+" WHERE "+
			strings.Join(where, " AND ")+" LIMIT 1", key...)
}

// settings returns the statement that gives a table the settings that it should have, if they
// differ. Without Changes.Alter it only warns.
func (a *application) settings(ctx context.Context, t *rows.Table) ([]step, error) {
	s, c := a.session, a.changes
	var ttl, grace int64
	var compacts, compresses map[string]string
	var comment, repair, speculative string
	found := false
	err := s.systemQuery(ctx, func(scan func(...any) bool) bool {
		if !scan(&ttl, &grace, &compacts, &compresses, &comment, &repair, &speculative) {
			return false
		}
		found = true
		return true
	}, "SELECT default_time_to_live, gc_grace_seconds, compaction, compression, comment, "+
		"read_repair, speculative_retry FROM system_schema.tables WHERE keyspace_name = ? AND "+
		"table_name = ?",
		s.config.Keyspace, t.Name)
	if err != nil {
		return nil, err
	}
	if !found { // its columns are there, which Cassandra writes first
		return nil, fmt.Errorf("store: settings of table %s: %w", s.Name(t.Name), errNotThere)
	}
	same := map[string]bool{
		"default_time_to_live": ttl == seconds(t.TTL),
		"gc_grace_seconds":     grace == seconds(t.Grace),
		"compaction":           holds(compacts, compaction(t)),
		"compression":          holds(compresses, compression(t.Compression)),
		"comment":              comment == t.Comment,
		"read_repair":          strings.EqualFold(repair, "NONE"),
		// Cassandra gives it its older name back
		"speculative_retry": strings.EqualFold(speculative, "NEVER") ||
			strings.EqualFold(speculative, "NONE"),
	}
	var set, names []string
	for _, o := range options(t) {
		if !same[o.name] {
			set, names = append(set, o.name+" = "+o.value), append(names, o.name)
		}
	}
	if len(set) == 0 {
		return nil, nil
	}
	if !c.Alter {
		s.log.Warn("store: a table has other settings than the configuration says; ringwatch "+
			"schema apply would set them", "table", t.Name, "settings", strings.Join(names, ", "))
		return nil, nil
	}
	if shorter := seconds(t.TTL) > 0 && (ttl == 0 || seconds(t.TTL) < ttl); shorter &&
		!c.AllowShorterTTL {
		was := "for ever"
		if ttl > 0 {
			was = (time.Duration(ttl) * time.Second).String()
		}
		return nil, fmt.Errorf("%w: table %s keeps its rows %s and the configuration says %s; "+
			"set it back, or use --allow-shorter-ttl", rows.ErrLoss, t.Name, was, t.TTL)
	}
	return []step{{"set " + strings.Join(names, ", ") + " of " + t.Name,
		"ALTER TABLE " + s.Name(t.Name) + " WITH " + strings.Join(set, " AND ")}}, nil
}

// holds reports whether a table's setting has all that is wanted. Classes are named with their
// package.
func holds(have, want map[string]string) bool {
	for k, v := range want {
		if h := have[k]; h != v && !(k == "class" && strings.HasSuffix(h, "."+v)) {
			return false
		}
	}
	return true
}

// keyspace returns what is to be done about the keyspace, and what of it would lose data.
func (a *application) keyspace(ctx context.Context) (steps []step, refused []error, err error) {
	s, c := a.session, a.changes
	var have map[string]string
	err = s.systemQuery(ctx, func(scan func(...any) bool) bool { return scan(&have) },
		"SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?",
		s.config.Keyspace)
	if err != nil {
		return nil, nil, err
	}
	want := s.config.replication()
	if have == nil {
		return []step{{"created keyspace " + s.config.Keyspace,
			"CREATE KEYSPACE IF NOT EXISTS " + s.config.Keyspace + " WITH replication = " +
				mapLiteral(want)}}, nil, nil
	}
	more, refusal := compareReplication(s.config.Keyspace, have, want)
	switch {
	case refusal != nil && c.Alter:
		return nil, []error{refusal}, nil
	case refusal != nil:
		s.log.Warn("store: the keyspace's replication is not the configuration's", "have", have,
			"want", want)
	case more != "" && c.Alter:
		return []step{{"set replication to " + mapLiteral(want) +
				"; now run nodetool repair --full " + s.config.Keyspace +
				" on every node: until then reads may miss older data",
				"ALTER KEYSPACE " + s.config.Keyspace + " WITH replication = " + mapLiteral(want)}},
			nil, nil
	case more != "":
		s.log.Warn("store: the keyspace has fewer replicas than the configuration says; "+
			"ringwatch schema apply would add them", "have", have, "want", want)
	}
	return nil, nil, nil
}

// compareReplication says what of have is less than wanted, or why want cannot be had without
// losing copies. A keyspace that an operator has made with a strategy of their own is left as it is
// where the configuration names no datacenters.
func compareReplication(keyspace string,
	have, want map[string]string) (more string, refused error) {
	class := have["class"][strings.LastIndex(have["class"], ".")+1:]
	if class != want["class"] {
		if want["class"] == "SimpleStrategy" {
			return "", nil
		}
		return "", fmt.Errorf("%w: keyspace %s is replicated by %s, the configuration says %s; "+
			"change it by hand with ALTER KEYSPACE and then run nodetool repair --full %s "+
			"on every node",
			rows.ErrLoss, keyspace, class, want["class"], keyspace)
	}
	for _, k := range slices.Sorted(maps.Keys(have)) {
		if k == "class" {
			continue
		}
		has, wants := copies(have[k]), copies(want[k])
		if wants < has {
			where := ""
			if k != "replication_factor" {
				where = " in datacenter " + k
			}
			return "", fmt.Errorf("%w: keyspace %s keeps %d copies%s and the configuration says "+
				"%d; set it back, or lower it by hand with ALTER KEYSPACE", rows.ErrLoss, keyspace,
				has, where, wants)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if k != "class" && copies(want[k]) > copies(have[k]) {
			more = k
		}
	}
	return more, nil
}

// copies reads a number of replicas, "3" or "3/1" with transient ones.
func copies(s string) int {
	full, _, _ := strings.Cut(s, "/")
	n, _ := strconv.Atoi(full)
	return n
}

package store

import (
	"context"
	"fmt"
	"time"
)

// Drop drops the tables of a generation that serves no time any more and whose data has all expired; its rows in the cutover table become "none". Else it
// touches nothing, and the error wraps ErrDrop and says until when there is data. If it ends in between it may be called again.
func (s *Store) Drop(ctx context.Context, name string) error {
	if !knownGeneration(name) {
		return fmt.Errorf("%w: there is no generation %q; use one of %v", ErrDrop, name, Generations())
	}
	g, err := s.generation(name)
	if err != nil {
		return err
	}
	list, err := s.readCutovers(ctx)
	if err != nil {
		return err
	}
	layouts := g.Tables(&s.config)
	var tables []tableLayout
	ttl := s.config.RawTTL // or what the tables were made with, if that is longer
	for _, t := range layouts {
		have, found, err := s.ttlOf(ctx, t.name)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		tables = append(tables, t)
		if t.ttl == s.config.RawTTL {
			ttl = max(ttl, have)
		}
	}
	if len(tables) == 0 {
		return fmt.Errorf("%w: generation %s has no tables in keyspace %s", ErrDrop, name, s.config.Keyspace)
	}
	now := s.millis()
	for i, c := range list {
		if c.Generation != name {
			continue
		}
		if i+1 == len(list) {
			return fmt.Errorf("%w: %s serves from %s on; cut over to another generation first", ErrDrop, name, clockTime(c.At))
		}
		if until := list[i+1].At + ttl.Milliseconds(); until > now {
			return fmt.Errorf("%w: %s has data until %s (it serves to %s, and rows live %s)", ErrDrop, name, clockTime(until), clockTime(list[i+1].At), ttl)
		}
	}
	for _, c := range list { // first, so that nothing reads or creates the tables again
		if c.Generation != name {
			continue
		}
		if err := s.exec(ctx, "UPDATE "+s.table(cutoverTable)+" SET generation = ? WHERE scope = ? AND at = ?", noGeneration, cutoverScope, c.At); err != nil {
			return err
		}
	}
	for _, t := range tables {
		drop := func() error { return s.change(ctx, "DROP TABLE IF EXISTS "+s.table(t.name)) }
		if err := s.retry(ctx, "drop "+t.name, drop); err != nil { // a change may take a busy Cassandra longer than a query may
			return err
		}
	}
	return nil
}

// ttlOf returns how long a table keeps its rows; 0: for ever.
func (s *Store) ttlOf(ctx context.Context, table string) (ttl time.Duration, found bool, err error) {
	var n int64
	err = s.each(ctx, func(scan func(...any) bool) bool {
		more := scan(&n)
		found = found || more
		return more
	}, "SELECT default_time_to_live FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", s.config.Keyspace, table)
	return time.Duration(n) * time.Second, found, err
}

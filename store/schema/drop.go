package schema

import (
	"context"
	"fmt"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
)

// Drop drops the tables of a generation that serves no time any more and whose data has all
// expired; its rows in the cutover table become "none". Else it touches nothing, and the error
// wraps ErrDrop and says until when there is data. If it ends in between it may be called again.
func (s *Schema) Drop(ctx context.Context, name string) error {
	if !generations.Known(name) {
		return fmt.Errorf("%w: there is no generation %q; use one of %v", ErrDrop, name,
			generations.Names())
	}
	g, err := s.config.Generations.Named(name, spans.Task{})
	if err != nil {
		return err
	}
	list, err := s.config.Cutovers.All(ctx)
	if err != nil {
		return err
	}
	var tables []*rows.Table
	ttl := s.config.RawTTL // or what the tables were made with, if that is longer
	for _, t := range g.Tables() {
		have, found, err := s.config.Database.TTL(ctx, t.Name)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		tables = append(tables, t)
		if t.TTL == s.config.RawTTL {
			ttl = max(ttl, have)
		}
	}
	if len(tables) == 0 {
		return fmt.Errorf("%w: generation %s has no tables in keyspace %s", ErrDrop, name,
			s.config.Keyspace)
	}
	now := s.config.Clock.Millis()
	for i, c := range list {
		if c.Generation != name {
			continue
		}
		if i+1 == len(list) {
			return fmt.Errorf("%w: %s serves from %s on; cut over to another generation first",
				ErrDrop, name, calendar.Text(c.At))
		}
		if until := list[i+1].At + ttl.Milliseconds(); until > now {
			return fmt.Errorf("%w: %s has data until %s (it serves to %s, and rows live %s)",
				ErrDrop, name, calendar.Text(until), calendar.Text(list[i+1].At), ttl)
		}
	}
	for _, c := range list { // first, so that nothing reads or creates the tables again
		if c.Generation != name {
			continue
		}
		if err := s.config.Cutovers.Drop(ctx, c); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if err := s.config.Database.Drop(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

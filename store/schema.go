package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/cassandra"
	"github.com/ringwatch/ringwatch/store/spans"
)

// Changes is what ApplyChanges may do beside creating what is missing.
type Changes = rows.Changes

// Schema looks after the tables, and after which generation of them serves which time.
type Schema struct {
	config      *Config
	log         *slog.Logger
	clock       *calendar.Clock
	session     database
	external    externalDatabase // nil: the database is a directory, which is our own
	cutovers    *cutovers.Table
	tables      []*rows.Table // that all generations share
	generations *generations.Set
}

// Apply creates what is missing of keyspace, tables and columns, and warns of settings that differ
// from the configuration. Roles call it when they start; several may at once. A table that is there
// with other columns is an error that wraps ErrLayout; nothing of it is touched. Without the right
// to create, and something to create, the error wraps ErrRights.
func (s *Schema) Apply(ctx context.Context) error {
	_, err := s.ApplyChanges(ctx, Changes{})
	return err
}

// ApplyChanges creates what is missing and alters what differs, and returns a sentence for each
// change. Before it changes anything it looks for what would lose data, a shorter TTL or fewer
// replicas: that is an error which wraps ErrLoss. It may be called again at any time.
func (s *Schema) ApplyChanges(ctx context.Context, c Changes) ([]string, error) {
	return s.session.Apply(ctx, c, rows.Schema{Tables: s.tablesNow, Seed: s.cutovers.Seed})
}

// tablesNow returns the shared tables and those of the generations that serve any time whose data
// has not expired.
func (s *Schema) tablesNow(ctx context.Context) ([]*rows.Table, error) {
	list := append([]*rows.Table{}, s.tables...)
	names, err := s.liveGenerations(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		g, err := s.generations.Named(name, spans.Task{})
		if err != nil { // a newer program's: its tables are not ours to look after
			s.log.Warn("store: left tables alone", "error", err)
			continue
		}
		list = append(list, g.Tables()...)
	}
	return list, nil
}

// liveGenerations returns the generations that serve any time whose data has not expired. Before
// there is a cutover table it is the one that the configuration names.
func (s *Schema) liveGenerations(ctx context.Context) ([]string, error) {
	found, err := s.session.Has(ctx, cutovers.Layout())
	if err != nil {
		return nil, err
	}
	var list []cutovers.Cutover
	if found {
		if list, err = s.cutovers.All(ctx); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return []string{s.config.Generation}, nil
	}
	return s.cutovers.Live(list), nil
}

// Cutover lets a generation serve the windows from at on, rounded up to the begin of a window. It
// creates the generation's tables. at must be at least CutoverLead ahead, so that every process
// knows it in time, and so must what it changes: a cutover that lies ahead may be replaced by
// another at the same time. The error wraps ErrCutover if it cannot be. by says who wants it.
func (s *Schema) Cutover(ctx context.Context, to string, at time.Time,
	by string) (cutovers.Cutover, error) {
	c := cutovers.Cutover{At: at.UnixMilli(), Generation: to, By: by, Written: s.clock.Millis()}
	if start := calendar.Floor(c.At, calendar.WindowMillis); start < c.At {
		c.At = start + calendar.WindowMillis
	}
	if !generations.Known(to) {
		return c, fmt.Errorf("%w: there is no generation %q; use one of %v", ErrCutover, to,
			generations.Names())
	}
	g, err := s.generations.Named(to, spans.Task{})
	if err != nil {
		return c, err
	}
	if err := s.Apply(ctx); err != nil {
		return c, err
	}
	for _, t := range g.Tables() {
		found, err := s.session.Has(ctx, t)
		if err == nil && !found {
			err = s.session.Create(ctx, t)
		}
		if err != nil {
			return c, err
		}
	}
	// Only now: creating tables may have taken a while.
	c.Written = s.clock.Millis()
	if earliest := c.Written + CutoverLead.Milliseconds(); c.At < earliest {
		first := frame.WindowOf(earliest-1) + calendar.WindowMillis
		return c, fmt.Errorf("%w: %s is less than %s ahead, so some process may not learn of it "+
			"in time; use %s or later", ErrCutover, calendar.Text(c.At), CutoverLead,
			calendar.Text(first))
	}
	return c, s.cutovers.Put(ctx, c)
}

// CommitLog is what Cassandra says of how safe a write is that it has acknowledged.
type CommitLog = cassandra.CommitLog

// CommitLogRemedy is what to do about CommitLog.Risk.
const CommitLogRemedy = cassandra.CommitLogRemedy

// CommitLog asks Cassandra how safe an acknowledged write is.
func (s *Schema) CommitLog(ctx context.Context) (CommitLog, error) {
	if s.external == nil {
		return CommitLog{}, errOwn
	}
	return s.external.CommitLog(ctx)
}

// Warning returns in a sentence, with the remedy, how acknowledged frames can be lost in Cassandra,
// why a directory cannot be written or that its bound removes rows before their time, or "". The
// log has the sentence when it is new: roles call it when they start. What it cannot learn, for
// want of rights or because Cassandra is away, is no warning, and what it knew before stays.
func (s *Schema) Warning(ctx context.Context) string { return s.session.Warning(ctx) }

// ClockOff returns by how much a Cassandra node's clock is ahead of ours, as well as one exchange
// can tell. Cutovers and write times need clocks that agree.
func (s *Schema) ClockOff(ctx context.Context) (time.Duration, error) {
	if s.external == nil {
		return 0, nil // it is the same clock
	}
	return s.external.ClockOff(ctx)
}

// errOwn is the answer to questions that are about Cassandra.
var errOwn = errors.New("store: rows lie in a directory, not in Cassandra")

// Package schema looks after the tables of a store, and after which generation of them serves which
// time.
package schema

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/cassandra"
	"github.com/ringwatch/ringwatch/store/spans"
)

// Schema looks after the tables, and after which generation of them serves which time.
type Schema struct{ config Config }

// Config is what a Schema works with.
type Config struct {
	Database    Database
	External    External // nil: the database is a directory, which is our own
	Cutovers    *cutovers.Table
	Generations *generations.Set
	Tables      []*rows.Table // that all generations share
	Clock       *calendar.Clock
	Log         *slog.Logger
	Generation  string // that a new keyspace begins with
	Keyspace    string
	RawTTL      time.Duration // of closed windows
}

// Database is an engine's tables.
type Database interface {
	// Warning returns in a sentence what its operator should know although it answers, or "".
	Warning(context.Context) string

	Apply(context.Context, rows.Changes, rows.Schema) ([]string, error)
	Has(context.Context, *rows.Table) (bool, error)
	Create(context.Context, ...*rows.Table) error
	Drop(context.Context, *rows.Table) error
	TTL(ctx context.Context, table string) (ttl time.Duration, found bool, err error)
	Use(context.Context) (rows.Use, error)
}

// External is a database that somebody else runs, and that says how safe rows are in it.
type External interface {
	Grants(role string, list ...cassandra.Grant) []string
	CommitLog(context.Context) (cassandra.CommitLog, error)
	ClockOff(context.Context) (time.Duration, error)
}

// New returns a Schema.
func New(c Config) *Schema { return &Schema{c} }

var (
	// ErrCutover is wrapped by the error about a cutover that cannot be.
	ErrCutover = errors.New("store: cutover refused")
	// ErrDrop is wrapped by Drop's error about a generation that has data.
	ErrDrop = errors.New("store: drop refused")
)

// Apply creates what is missing of keyspace, tables and columns, and warns of settings that differ
// from the configuration. Roles call it when they start; several may at once. A table that is there
// with other columns is an error that wraps rows.ErrLayout; nothing of it is touched. Without the
// right to create, and something to create, the error wraps rows.ErrRights.
func (s *Schema) Apply(ctx context.Context) error {
	_, err := s.ApplyChanges(ctx, rows.Changes{})
	return err
}

// ApplyChanges creates what is missing and alters what differs, and returns a sentence for each
// change. Before it changes anything it looks for what would lose data, a shorter TTL or fewer
// replicas: that is an error which wraps rows.ErrLoss. It may be called again at any time.
func (s *Schema) ApplyChanges(ctx context.Context, c rows.Changes) ([]string, error) {
	return s.config.Database.Apply(ctx, c, rows.Schema{Tables: s.tablesNow,
		Seed: s.config.Cutovers.Seed})
}

// tablesNow returns the shared tables and those of the generations that serve any time whose data
// has not expired.
func (s *Schema) tablesNow(ctx context.Context) ([]*rows.Table, error) {
	list := append([]*rows.Table{}, s.config.Tables...)
	names, err := s.liveGenerations(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		g, err := s.config.Generations.Named(name, spans.Task{})
		if err != nil { // a newer program's: its tables are not ours to look after
			s.config.Log.Warn("store: left tables alone", "error", err)
			continue
		}
		list = append(list, g.Tables()...)
	}
	return list, nil
}

// liveGenerations returns the generations that serve any time whose data has not expired. Before
// there is a cutover table it is the one that the configuration names.
func (s *Schema) liveGenerations(ctx context.Context) ([]string, error) {
	found, err := s.config.Database.Has(ctx, cutovers.Layout())
	if err != nil {
		return nil, err
	}
	var list []cutovers.Cutover
	if found {
		if list, err = s.config.Cutovers.All(ctx); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return []string{s.config.Generation}, nil
	}
	return s.config.Cutovers.Live(list), nil
}

// CommitLog asks Cassandra how safe an acknowledged write is.
func (s *Schema) CommitLog(ctx context.Context) (cassandra.CommitLog, error) {
	if s.config.External == nil {
		return cassandra.CommitLog{}, errOwn
	}
	return s.config.External.CommitLog(ctx)
}

// Warning returns in a sentence, with the remedy, how acknowledged frames can be lost in Cassandra,
// why a directory cannot be written or that its bound removes rows before their time, or "". The
// log has the sentence when it is new: roles call it when they start. What it cannot learn, for
// want of rights or because Cassandra is away, is no warning, and what it knew before stays.
func (s *Schema) Warning(ctx context.Context) string { return s.config.Database.Warning(ctx) }

// ClockOff returns by how much a Cassandra node's clock is ahead of ours, as well as one exchange
// can tell. Cutovers and write times need clocks that agree.
func (s *Schema) ClockOff(ctx context.Context) (time.Duration, error) {
	if s.config.External == nil {
		return 0, nil // it is the same clock
	}
	return s.config.External.ClockOff(ctx)
}

// errOwn is the answer to questions that are about Cassandra.
var errOwn = errors.New("store: rows lie in a directory, not in Cassandra")

package store

import (
	"context"

	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/moving"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/cassandra"
	"github.com/ringwatch/ringwatch/store/schema"
)

// Names of the rooms that who is outside uses.

// Changes is what ApplyChanges may do beside creating what is missing.
type Changes = rows.Changes

// Overview is what ringwatch schema show prints.
type Overview = schema.Overview

// CommitLogRemedy is what to do about cassandra.CommitLog.Risk.
const CommitLogRemedy = cassandra.CommitLogRemedy

// CutoverLead is how far ahead a cutover must lie, so that every process knows it in time.
const CutoverLead = cutovers.Lead

type (
	// Mover copies the rows of a directory into a Store's Cassandra.
	Mover = moving.Mover
	// MoverConfig says how a directory is moved.
	MoverConfig = moving.Config
	// MoveProgress is how far a Mover is.
	MoveProgress = moving.Progress
)

// NewMover looks at a directory. The error says what of it this program cannot move.
func (s *Store) NewMover(c MoverConfig) (*Mover, error) {
	return moving.New(moving.Target{Database: s.session, Tables: s.byName, Cutovers: s.cutovers,
		Clock: s.clock, Keyspace: s.config.Keyspace, Generation: generations.Default,
		Retried: s.metrics.retries.Inc}, c)
}

// Cutovers returns the cutover table, by ascending time, at most cutovers.Refresh old. It is right
// about windows that begin before until; the error wraps ErrCutovers if that cannot be known, and
// says why.
func (s *Store) Cutovers(ctx context.Context, until int64) ([]cutovers.Cutover, error) {
	return s.cutovers.Known(ctx, until)
}

package store

import (
	"context"

	"github.com/ringwatch/ringwatch/store/cutovers"
)

// CutoverLead is how far ahead a cutover must lie, so that every process knows it in time.
const CutoverLead = cutovers.Lead

// Cutovers returns the cutover table, by ascending time, at most cutovers.Refresh old. It is right
// about windows that begin before until; the error wraps ErrCutovers if that cannot be known, and
// says why.
func (s *Store) Cutovers(ctx context.Context, until int64) ([]cutovers.Cutover, error) {
	return s.cutovers.Known(ctx, until)
}

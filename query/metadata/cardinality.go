package metadata

import (
	"context"

	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/index"
)

// Cardinality counts what today's series are made of, in the first minutes of a day also
// yesterday's. Its lists have at most limit entries each. It counts what is kept: up and the other
// series that are made of a node's state when they are asked for are not among it, and a histogram
// is one series.
func (s *Lists) Cardinality(
	ctx context.Context, who account.Principal, limit int,
) (index.Cardinality, annotations.Annotations, error) {
	now := s.source.Limits.Clock()
	found, _, warnings, err := s.find(ctx, who, SeriesQuery{From: now, To: now})
	if err != nil {
		return index.Cardinality{}, nil, err
	}
	ctx, end := s.source.Reader.Shared.Scope(ctx, who.Account)
	defer end()
	if err := memory.Of(ctx).Take(found.CardinalityBytes()); err != nil {
		return index.Cardinality{}, nil, err
	}
	c := found.Cardinality(limit)
	return c, warnings, found.Err()
}

package store

import (
	"context"
	"fmt"

	"github.com/ringwatch/ringwatch/store/calendar"
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

// span is a range of windows and what serves it.
type span struct {
	from, to int64 // first and last window
	Generation
}

// routed routes the windows from … to, both included.
func (s task) routed(ctx context.Context, from, to int64) ([]span, error) {
	list, err := s.Cutovers(ctx, to)
	if err != nil {
		return nil, err
	}
	var routes []span
	for i, c := range list {
		first, last := max(from, c.At), to
		if i+1 < len(list) {
			last = min(to, list[i+1].At-calendar.WindowMillis)
		}
		if first > last {
			continue
		}
		g, err := s.generation(c.Generation)
		if err != nil {
			return nil, err
		}
		routes = append(routes, span{first, last, g})
	}
	return routes, nil
}

// generationAt returns what serves a window.
func (s task) generationAt(ctx context.Context, start int64) (Generation, error) {
	routes, err := s.routed(ctx, start, start)
	if err != nil {
		return nil, err
	}
	if len(routes) != 1 {
		return nil, fmt.Errorf("%w: none serves the window at %s; run ringwatch schema apply",
			ErrGeneration, calendar.Text(start))
	}
	return routes[0].Generation, nil
}

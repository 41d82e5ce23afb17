package schema

import (
	"context"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/spans"
)

// Cutover lets a generation serve the windows from at on, rounded up to the begin of a window. It
// creates the generation's tables. at must be at least cutovers.Lead ahead, so that every process
// knows it in time, and so must what it changes: a cutover that lies ahead may be replaced by
// another at the same time. The error wraps ErrCutover if it cannot be. by says who wants it.
func (s *Schema) Cutover(ctx context.Context, to string, at time.Time,
	by string) (cutovers.Cutover, error) {
	c := cutovers.Cutover{At: at.UnixMilli(), Generation: to, By: by,
		Written: s.config.Clock.Millis()}
	if start := calendar.Floor(c.At, calendar.WindowMillis); start < c.At {
		c.At = start + calendar.WindowMillis
	}
	if !generations.Known(to) {
		return c, fmt.Errorf("%w: there is no generation %q; use one of %v", ErrCutover, to,
			generations.Names())
	}
	g, err := s.config.Generations.Named(to, spans.Task{})
	if err != nil {
		return c, err
	}
	if err := s.Apply(ctx); err != nil {
		return c, err
	}
	for _, t := range g.Tables() {
		found, err := s.config.Database.Has(ctx, t)
		if err == nil && !found {
			err = s.config.Database.Create(ctx, t)
		}
		if err != nil {
			return c, err
		}
	}
	// Only now: creating tables may have taken a while.
	c.Written = s.config.Clock.Millis()
	if earliest := c.Written + cutovers.Lead.Milliseconds(); c.At < earliest {
		first := frame.WindowOf(earliest-1) + calendar.WindowMillis
		return c, fmt.Errorf("%w: %s is less than %s ahead, so some process may not learn of it "+
			"in time; use %s or later", ErrCutover, calendar.Text(c.At), cutovers.Lead,
			calendar.Text(first))
	}
	return c, s.config.Cutovers.Put(ctx, c)
}

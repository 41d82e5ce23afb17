package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Retry calls try until it succeeds or fails for good, with a pause that grows to five seconds. If
// the time for it runs out, it returns what was wrong last.
func Retry(ctx context.Context, log *slog.Logger, what string, retryable func(error) bool,
	try func(context.Context) error) error {
	var last error
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if last != nil && timeUp(ctx) {
			return fmt.Errorf("gave up on %s: %w", what, last)
		}
		if ctx.Err() != nil || !retryable(err) {
			return err
		}
		last = err
		log.Warn("trying again", "what", what, "error", err)
		select {
		case <-ctx.Done():
			if timeUp(ctx) {
				return fmt.Errorf("gave up on %s: %w", what, err)
			}
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// timeUp says whether ctx ended because its time ran out, not because somebody stopped the process.
func timeUp(ctx context.Context) bool { return errors.Is(ctx.Err(), context.DeadlineExceeded) }

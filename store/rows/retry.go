package rows

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Backoff waits longer each time, with jitter so that many do not come back at once.
type Backoff struct{ wait time.Duration }

// The waits of a Backoff, before jitter.
const (
	FirstWait   = 50 * time.Millisecond
	LongestWait = 5 * time.Second
)

// NewBackoff returns a Backoff that begins with FirstWait.
func NewBackoff() *Backoff { return &Backoff{FirstWait} }

// Sleep waits, or returns why ctx ended.
func (b *Backoff) Sleep(ctx context.Context) error {
	d := b.wait/2 + rand.N(b.wait)
	b.wait = min(2*b.wait, LongestWait)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Retry calls f until it succeeds, its error is not Retryable or ctx ends. again is called before
// each further try; nil: nothing is.
func Retry(ctx context.Context, what string, again func(), f func() error) error {
	for wait := NewBackoff(); ; {
		err := f()
		if err == nil || !Retryable(err) || ctx.Err() != nil {
			return err
		}
		if again != nil {
			again()
		}
		if ended := wait.Sleep(ctx); ended != nil {
			return fmt.Errorf("gave up on %s: %w: %w", what, ended, err)
		}
	}
}

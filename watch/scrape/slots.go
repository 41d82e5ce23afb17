package scrape

import (
	"context"
	"time"
)

// slots bound how many scrapes run at once, and with that their memory. Who was slow or failed the
// last time, or was not asked yet, waits behind its like only.
type slots struct{ fast, slow chan struct{} }

// fastScrape is what a target may take that is not slow.
const fastScrape = time.Second

func newSlots(n int) slots {
	return slots{fast: make(chan struct{}, n), slow: make(chan struct{}, 4*n)}
}

// take waits for a slot and returns what gives it back; nil if ctx has ended.
func (s *slots) take(ctx context.Context, fast bool) func() {
	from := s.slow
	if fast {
		from = s.fast
	}
	select {
	case <-ctx.Done():
		return nil
	case from <- struct{}{}:
	}
	return func() { <-from }
}

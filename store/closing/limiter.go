package closing

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Limiter is how many windows are closed at once. While all of them are in use and Cassandra
// answers quickly it lets in one more for each round of windows, so that a fast Cassandra gets more
// to do; when Cassandra answers slowly or fails it halves at once, so that frames, which go the
// same way, do not wait behind windows. That is how TCP shares a line.
type Limiter struct {
	mu    sync.Mutex
	width int // how many may be closed at once
	busy  int // how many are
	quick int // closed in a row with quick answers, since width last changed
	// how many were under way when width was halved: what their answers took says nothing of now
	ignored int
	freed   chan struct{} // somebody may go on
	report  func(width float64)
}

const (
	// A window waits for some ten answers of Cassandra, one after the other, and takes a core for
	// its encoding in between. Four keep two cores busy on an idle machine; with fewer, a Cassandra
	// that is slow all day would let closing fall behind, and then frames wait, too.
	minClosing = 4
	// A window takes some ten MB while it is closed if its node is large, a tenth of that if not:
	// 320 MB at the very most.
	maxClosing = 32
	// What an answer takes on average while a window is closed. A healthy Cassandra takes 1 to 5 ms
	// for these statements.
	quickAnswer, slowAnswer = 20 * time.Millisecond, 80 * time.Millisecond
)

// NewLimiter returns a Limiter. said is told how many may be closed at once.
func NewLimiter(said func(float64)) *Limiter {
	said(minClosing)
	return &Limiter{width: minClosing, freed: make(chan struct{}, 1), report: said}
}

// enter waits until one more window may be closed.
func (p *Limiter) enter(ctx context.Context) error {
	for {
		p.mu.Lock()
		if p.busy < p.width {
			p.busy++
			p.mu.Unlock()
			return nil
		}
		p.mu.Unlock()
		select {
		case <-p.freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leave says how a window was closed: what its answers took on average (0: there were none), and
// whether Cassandra failed.
func (p *Limiter) leave(answer time.Duration, failed bool) {
	p.mu.Lock()
	full := p.busy >= p.width
	p.busy--
	switch {
	case p.ignored > 0:
		p.ignored--
	case failed || answer > slowAnswer:
		p.set(max(minClosing, p.width/2))
		p.ignored = p.busy
	case answer > quickAnswer:
		p.quick = 0
	case full && answer > 0:
		// else one more would stand idle, and nothing be known of how that goes
		if p.quick++; p.quick >= p.width {
			p.set(min(maxClosing, p.width+1))
		}
	}
	p.mu.Unlock()
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// set changes width. The caller holds the lock.
func (p *Limiter) set(width int) {
	p.width, p.quick = width, 0
	p.report(float64(width))
}

// closing closes a window whose turn it is by enter; f is told where to add what answers took.
func (p *Limiter) closing(f func(took *rows.Answers) error) error {
	var took rows.Answers
	err := f(&took)
	p.leave(took.Mean(), rows.Retryable(err) && !errors.Is(err, throttle.ErrThrottled))
	return err
}

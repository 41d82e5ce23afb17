package throttle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

var (
	// ErrThrottled is what errors.Is finds in every refusal.
	ErrThrottled = errors.New("throttled")
	// ErrClass says that there is no such class and no default one.
	ErrClass = errors.New("throttle: there is no class")
)

// Error is a refusal. errors.Is finds ErrThrottled in it, and the context's error if its deadline
// came first.
type Error struct {
	Class      string
	Waited     time.Duration
	RetryAfter time.Duration // when there may be room; 0: the same request will always be refused
	message    string
	cause      error
}

// Error implements error: a sentence with the remedy.
func (e *Error) Error() string { return e.message }

// Is makes errors.Is find ErrThrottled.
func (e *Error) Is(target error) bool { return target == ErrThrottled }

// Unwrap returns the context's error, or nil.
func (e *Error) Unwrap() error { return e.cause }

// enter lets a request begin, at once or when its turn has come.
func (t *Throttle) enter(ctx context.Context, c *class, w Work, n float64,
	began time.Time) (*waiter, error) {
	request := &waiter{n: n, tally: t.usage.of(w), ended: make(chan struct{})}
	c.mu.Lock()
	c.note(w.Client, n, began)
	if c.queue.waiting == 0 && c.budget.take(n, began) {
		c.mu.Unlock()
		request.tally.begins(n, false)
		return request, nil
	}
	if c.queue.waiting >= t.config.MaxWaiting {
		// Who fills the queue makes room, so that it holds up nobody else.
		c.queue.push(w.Client, request)
		last := c.queue.longest()
		c.queue.remove(last)
		last.state = crowded
		close(last.ended)
	} else {
		c.queue.push(w.Client, request)
	}
	request.tally.waits(n)
	c.dispatch(began)
	c.mu.Unlock()

	patience := time.NewTimer(c.limits.MaxWait)
	defer patience.Stop()
	select {
	case <-request.ended:
	case <-ctx.Done():
	case <-patience.C:
	}
	c.mu.Lock()
	now := t.config.Clock()
	state := request.state
	var ahead float64
	if state == waits {
		c.queue.remove(request)
		c.dispatch(now) // what stands behind may be smaller
	}
	ahead = c.queue.ops
	rate := c.rate(now)
	c.mu.Unlock()
	if state == admitted {
		return request, nil
	}
	request.tally.gaveUp(n)
	if state == waits && errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err() // the caller left
	}
	e := &Error{Class: c.name, Waited: now.Sub(began), cause: ctx.Err()}
	e.RetryAfter = min(max(time.Duration((ahead+n)/rate*float64(time.Second)),
		100*time.Millisecond), 10*time.Second)
	reason := "deadline"
	if state == crowded {
		reason = "crowded"
	}
	t.refused(c, request.tally, n, reason)
	remedy := fmt.Sprintf("try again in %s, ask for less, or raise throttle.classes.%s",
		e.RetryAfter.Round(100*time.Millisecond), c.name)
	e.message = fmt.Sprintf("%s operations of class %s have waited %s: all clients together may "+
		"do %s a second and %d at once, and %s wait here; %s",
		number(n), c.name, e.Waited.Round(time.Millisecond), number(c.limits.OperationsPerSecond),
		c.limits.Concurrency, number(ahead), remedy)
	if state == crowded {
		e.message = fmt.Sprintf("%s operations of class %s are refused: %d requests wait here, "+
			"most of them of this client; %s", number(n), c.name, t.config.MaxWaiting, remedy)
	}
	return nil, e
}

// rate is what the class may do in this process, in operations a second, as far as is known. The
// caller holds c.mu.
func (c *class) rate(now time.Time) float64 {
	if c.budget.leased(now) && c.budget.share > 0 {
		return c.budget.share
	}
	return c.budget.localRate()
}

func (t *Throttle) refused(c *class, y *tally, n float64, reason string) {
	t.metrics.refusals.WithLabelValues(c.name, reason).Inc()
	y.refused(n)
}

func number(n float64) string { return fmt.Sprintf("%.10g", n) }

func names[V any](classes map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(classes)), ", ")
}

package closing

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/schedule"
)

// round closes as many windows at once as may be.
func (p *Limiter) round(t *testing.T, answer time.Duration, failed bool) {
	t.Helper()
	n := p.width
	for range n {
		if err := p.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		p.leave(answer, failed)
	}
}

// TestPaceFollowsCassandra: one more each round while answers are quick, half when they are slow or
// fail, and never beyond its bounds.
func TestPaceFollowsCassandra(t *testing.T) {
	said := 0.0
	p := NewLimiter(func(width float64) { said = width })
	expect := func(what string, width int) {
		t.Helper()
		if p.width != width || said != float64(width) {
			t.Fatalf("%s: %d, said %v, want %d", what, p.width, said, width)
		}
	}
	expect("at first", minClosing)
	// What is not used up says nothing of how one more would go, nor does a window without an
	// answer.
	for range 100 {
		p.enter(t.Context())
		p.leave(time.Millisecond, false)
		p.round(t, 0, false)
	}
	expect("idle", minClosing)
	grow := func() {
		for at := p.width; p.width == at; {
			for p.busy < p.width {
				p.enter(t.Context())
			}
			p.leave(time.Millisecond, false)
		}
		for p.busy > 0 {
			p.leave(0, false)
		}
	}
	grow()
	expect("quick", minClosing+1)
	for p.width < maxClosing {
		grow()
	}
	for range 3 * maxClosing { // all at once, again and again
		for p.busy < p.width {
			p.enter(t.Context())
		}
		p.leave(time.Millisecond, false)
	}
	expect("quick for long", maxClosing)
	for p.busy > 0 {
		p.leave(0, false)
	}
	p.round(t, (quickAnswer+slowAnswer)/2, false)
	expect("neither quick nor slow", maxClosing)
	p.round(t, 2*slowAnswer, false)
	expect("a slow round", maxClosing/2)
	p.round(t, time.Millisecond, true)
	expect("a round that fails", maxClosing/4)
	for range 5 {
		p.round(t, 0, true)
	}
	expect("Cassandra is away", minClosing)

	// Who waits goes on when another leaves, or when its time is over.
	for p.busy < p.width {
		p.enter(t.Context())
	}
	ended := make(chan error, 1)
	go func() { ended <- p.enter(t.Context()) }()
	p.leave(0, false)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.enter(over); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Only Cassandra's own failures count.
	for p.busy > 0 {
		p.leave(0, false)
	}
	p.set(8)
	for _, c := range []struct {
		err   error
		width int
	}{{schedule.ErrExpired, 8}, {&rows.Error{Err: errors.New("no answer"), Retryable: true}, 4}} {
		p.enter(t.Context())
		if err := p.closing(func(*rows.Answers) error { return c.err }); !errors.Is(err, c.err) {
			t.Error(err)
		}
		expect(c.err.Error(), c.width)
	}
}

package throttle

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAlone: without Redis no more begins over any time than the bound says, never more is under
// way than the slots, and there is always a time at which the next request may begin.
func TestAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Class{OperationsPerSecond: float64(rapid.IntRange(1, 1000).Draw(t, "rate")),
			Concurrency: rapid.IntRange(1, 50).Draw(t, "slots"), Floor: 0.1, Shrink: 1}
		limits.Burst = rapid.IntRange(2, 2000).Draw(t, "burst")
		solo := rapid.Bool().Draw(t, "solo")
		b := budget{limits: limits, fraction: 0.1, factor: 1, solo: solo}
		if solo {
			b.fraction = 1
		}
		now := time.Unix(1000, 0)
		b.goAlone(now)
		type begun struct {
			at time.Time
			n  float64
		}
		var all []begun
		var running []float64
		for range rapid.IntRange(50, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond)
			if len(running) > 0 && rapid.Bool().Draw(t, "end") {
				b.give(running[0])
				running = running[1:]
			}
			n := float64(rapid.IntRange(1, min(limits.Burst, limits.Concurrency)).Draw(t, "n"))
			if !b.take(n, now) {
				if len(running) > 0 {
					continue // slots
				}
				d := b.wait(n)
				if d <= 0 {
					t.Fatalf("%g are refused and nothing is waited for: %+v", n, b)
				}
				if now = now.Add(d + time.Microsecond); !b.take(n, now) {
					t.Fatalf("%g are refused after %s: %+v", n, d, b)
				}
			}
			running = append(running, n)
			if b.used > max(b.localSlots(), n) {
				t.Fatalf("%g are under way where %g may be", b.used, b.localSlots())
			}
			all = append(all, begun{now, n})
			total := 0.0
			for i := len(all) - 1; i >= 0; i-- { // every time that ends now
				total += all[i].n
				most := b.localBurst() + b.localRate()*now.Sub(all[i].at).Seconds() +
					max(0, all[len(all)-1].n-b.localBurst())
				if total > most+1e-6 {
					t.Fatalf("%g have begun in %s where %g may", total, now.Sub(all[i].at), most)
				}
			}
		}
		if !solo && b.taken == 0 {
			t.Fatal("nothing is to be told")
		}
	})
}

// TestLeaseEnds: after its end a lease is worth nothing, and until then as much as it was, with
// Redis or without.
func TestLeaseEnds(t *testing.T) {
	limits := Class{OperationsPerSecond: 100, Burst: 100, Concurrency: 10, Floor: 0.1, Shrink: 1}
	now := time.Unix(1000, 0)
	end := now.Add(time.Second)
	leased := func() *budget {
		b := &budget{limits: limits, fraction: 0.1, factor: 1}
		b.grant(now, end, 0, 20, 50, 5, 5)
		return b
	}
	count := func(b *budget, at time.Time) (n int) {
		for ; b.take(1, at); n++ {
			b.give(1)
		}
		return n
	}
	if n := count(leased(), now); n != 20 {
		t.Errorf("%d begin with a lease of 20", n)
	}
	if n := count(leased(), end); n != 0 {
		t.Errorf("%d begin when it has ended", n)
	}
	b := leased()
	b.goAlone(now)
	if n := count(b, end.Add(-1)); n != 20 {
		// of the 50 that came what is above the local burst is lost
		t.Errorf("%d begin in its second alone", n)
	}
	if n := count(b, end.Add(500*time.Millisecond)); n != 5 {
		t.Errorf("%d begin in half a second alone at a tenth of 100", n)
	}
	if b.taken != 25 {
		t.Errorf("%g are to be told", b.taken)
	}
	b = leased()
	b.goAlone(now)
	if n := count(b, end); n != 10 {
		t.Errorf("%d begin alone after its end", n)
	}
	b = leased()
	b.used = 4
	if b.goAlone(now); b.take(2, now) || !b.take(1, now) {
		t.Error("a lease of 5 slots is not held to")
	}
	b.used = 0
	if !b.take(7, end) || b.take(1, end) {
		t.Error("alone and without a lease one slot is left, or one request however large")
	}
	// Slots that are to be given back are kept as long as they are used.
	b = leased()
	b.used = 4
	b.grant(now, end, 0, 0, 50, 5, 2)
	for _, want := range []float64{4, 3, 2, 2} {
		if b.cap != want {
			t.Errorf("%g slots with %g used, want %g", b.cap, b.used, want)
		}
		b.give(1)
	}
}

// TestGauge: what is slow shrinks classes in their order, one window at a time, and what is well
// brings them back more slowly.
func TestGauge(t *testing.T) {
	c := DefaultConfig()
	classes := c.classes()
	bulk, dashboard, serving := classes[Bulk], classes[Dashboard], classes[Serving]
	rapid.Check(t, func(t *rapid.T) {
		var g gauge
		now := time.Unix(1000, 0)
		g.feed(&c, 3, now, observed{})
		before, seen := 0.0, observed{}
		for range 100 {
			now = now.Add(c.HealthWindow)
			o := observed{n: float64(rapid.IntRange(0, 1000).Draw(t, "n"))}
			o.slow = float64(rapid.IntRange(0, int(o.n)).Draw(t, "slow"))
			seen.add(o)
			p := g.feed(&c, 3, now, o)
			judged, unwell := g.began.Equal(now), seen.slow > max(1, seen.n*c.SlowShare)
			switch {
			case p < 0 || p > 3, p-before > pressureUp+1e-9,
				before-p > healthMost*pressureDown+1e-9:
				t.Fatalf("from %g to %g", before, p)
			case judged != (seen.n >= healthLeast) && !judged, judged && unwell && p <= before &&
				before < 3, (!judged || !unwell) && p > before:
				t.Fatalf("%+v (judged: %t) leads from %g to %g", seen, judged, before, p)
			}
			if judged {
				seen = observed{}
			}
			fb, fd, fs := bulk.factor(p), dashboard.factor(p), serving.factor(p)
			if fb < bulk.Floor-1e-9 || fd < dashboard.Floor-1e-9 || fs < serving.Floor-1e-9 ||
				fd < 1 && fb > bulk.Floor+1e-9 || fs < 1 && fd > dashboard.Floor+1e-9 {
				t.Fatalf("bulk %g, dashboard %g, serving %g", fb, fd, fs)
			}
			before = p
		}
	})
	// One that fails proves nothing, two of ten do; and all comes back.
	var g gauge
	now := time.Unix(1000, 0)
	step := func(o observed) float64 {
		now = now.Add(c.HealthWindow)
		return g.feed(&c, 3, now, o)
	}
	g.feed(&c, 3, now, observed{})
	if p := step(observed{n: 10, failed: 1}); p != 0 {
		t.Error(p)
	}
	if p := step(observed{n: 10, failed: 2}); p != pressureUp {
		t.Error(p)
	}
	for range 10 {
		step(observed{n: 1000})
	}
	if g.pressure > 1e-9 {
		t.Error(g.pressure)
	}
}

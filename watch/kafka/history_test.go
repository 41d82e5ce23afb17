package kafka

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// played is a partition's log and its history.
type played struct {
	clock clock
	ends  ends
}

func newPlayed() *played {
	p := &played{ends: make(ends, points)}
	for i := range p.ends {
		p.ends[i] = unknown
	}
	return p
}

func (p *played) sample(now, end int64) { p.ends.add(0, p.clock.next(now), &p.clock, end) }

func (p *played) behind(offset int64) (float64, bool) {
	ms, beyond := p.clock.behind(p.ends.of(0, &p.clock), offset)
	return float64(ms) / 1000, beyond
}

// TestDayOfHistory: after a day, at each interval, the time of an offset is found within a tenth of
// its age, although the rate changes with the hour, and the memory is 48 samples.
func TestDayOfHistory(t *testing.T) {
	for _, every := range []int64{5, 20, 60} {
		p := newPlayed()
		endAt := func(s int64) int64 { // 100 a second, half as much and half again over a day
			return int64(100*float64(s) + 50*86400/(2*math.Pi)*math.Sin(2*math.Pi*float64(s)/86400))
		}
		now := int64(0)
		for ; now <= 30*3600; now += every {
			p.sample(now*1000, endAt(now))
		}
		now -= every
		worst := 0.0
		for age := every; age < 24*3600; age += every {
			got, beyond := p.behind(endAt(now - age))
			if beyond {
				t.Fatalf("every %d s: %d s ago is beyond the history", every, age)
			}
			worst = max(worst, math.Abs(got-float64(age))/float64(age))
		}
		if worst > 0.1 {
			t.Errorf("every %d s: off by %.0f %%", every, 100*worst)
		}
		t.Logf("every %d s: off by %.1f %% at most", every, 100*worst)
		if got, beyond := p.behind(0); !beyond || got < 24*3600 || got > 30*3600 {
			t.Errorf("every %d s: older than a day is %v s, %v", every, got, beyond)
		}
	}
}

// TestStallAfterQuiet: a log that stood still and then grows: who has read up to the quiet time is
// behind since it ended, as far as samples tell, not since it began.
func TestStallAfterQuiet(t *testing.T) {
	p := newPlayed()
	now := int64(0)
	for range 3000 {
		now += 20_000
		p.sample(now, 500)
	}
	now += 20_000
	p.sample(now, 100_000)
	if got, beyond := p.behind(500); got != 20 || beyond {
		t.Errorf("a burst is %v s, %v", got, beyond)
	}
	if got, _ := p.behind(50_250); got != 10 {
		t.Errorf("half of it is %v s", got)
	}
}

// TestHistoryOfUnknown: ends that are not known for a while, and a log that is cut.
func TestHistoryOfUnknown(t *testing.T) {
	p := newPlayed()
	for i, end := range []int64{unknown, unknown, 100, unknown, 300} {
		p.sample(int64(i+1)*10_000, end)
	}
	for offset, want := range map[int64]float64{299: 0, 100: 10, 200: 5, 99: 20, 0: 20} {
		if got, _ := p.behind(offset); math.Abs(got-want) > 0.1 {
			t.Errorf("%d is %v s behind, want %v", offset, got, want)
		}
	}
	p.sample(60_000, 150) // 150 records are lost
	if got, beyond := p.behind(120); got < 10 || beyond {
		t.Errorf("in a log that was cut, %v s, %v", got, beyond)
	}
	if got, beyond := p.behind(20); got != 30 || !beyond {
		t.Errorf("before all, %v s, %v", got, beyond)
	}
}

// TestHistoryStaysInOrder: whatever ends a broker tells, samples ascend, times too, and no time
// behind is negative or more than the span.
func TestHistoryStaysInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		p, now := newPlayed(), int64(1000)
		for range 200 {
			now += 1 + random.Int64N(int64(time.Hour/time.Millisecond))
			end := random.Int64N(1000)
			if random.IntN(4) == 0 {
				end = unknown
			}
			p.sample(now, end)
			h := p.ends.of(0, &p.clock)
			for i := 1; i < len(h); i++ {
				if h[i] < h[i-1] || p.clock.times[i] <= p.clock.times[i-1] {
					t.Fatalf("%v %v", h, p.clock.times)
				}
			}
			last := h[len(h)-1]
			if last <= 0 || len(h) < 2 {
				continue
			}
			span := float64(now-p.clock.times[0]) / 1000
			if got, _ := p.behind(random.Int64N(last)); got < 0 || got > span {
				t.Fatalf("%v s behind in a history of %v s", got, span)
			}
		}
	}
}

package limit

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// asked counts in the process, and how often it was asked.
type asked struct {
	local
	times int
}

func (a *asked) take(ctx context.Context, account, node string, rates [2]pace,
	n int64) (time.Duration, string, error) {
	a.times++
	return a.local.take(ctx, account, node, rates, n)
}

// leasing returns a limiter at which nothing comes back, who counts for it, and its clock.
func leasing(t *testing.T, burst int) (*Limiter, *asked, *time.Time) {
	t.Helper()
	l, err := New(Config{RequestsPerSecond: 1e-6, Burst: burst, NodeRequestsPerSecond: 1,
		NodeBurst: 1, Timeout: time.Second, Backoff: time.Second}, nil, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	l.now = func() time.Time { return now }
	by := &asked{local: local{began: now}}
	l.counters = []counter{by}
	return l, by, &now
}

// TestLease: requests are counted some at a time, and an account still gets its burst and no more.
func TestLease(t *testing.T) {
	for _, c := range []struct{ burst, most int }{
		{5_000, 1_100}, // five at once, then one by one to the end
		{1_500, 1_600}, // one by one
	} {
		l, by, _ := leasing(t, c.burst)
		passed := 0
		for range 2 * c.burst {
			if after, _ := l.Take(t.Context(), "acme", ""); after > 0 {
				break
			}
			passed++
		}
		if passed != c.burst {
			t.Errorf("%d requests may go on, want %d", passed, c.burst)
		}
		if by.times > c.most {
			t.Errorf("%d requests were counted in %d times, want %d at most", passed,
				by.times, c.most)
		}
		if after, _ := l.Take(t.Context(), "other", ""); after > 0 {
			t.Error("another account has a burst of its own")
		}
	}
}

// TestLeaseEnds: what an account did not use in time is counted anew.
func TestLeaseEnds(t *testing.T) {
	l, by, now := leasing(t, 4_000)
	for range 2 {
		if after, _ := l.Take(t.Context(), "acme", ""); after > 0 {
			t.Fatal("there is room")
		}
		*now = now.Add(leaseLength)
	}
	if by.times != 2 {
		t.Errorf("it was counted %d times, want 2", by.times)
	}
}

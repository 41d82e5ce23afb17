package ingest

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limits is the frame rate of every account. Only names of admitted accounts come here, so the map is as bounded as they are.
type limits struct {
	rate  rate.Limit
	burst int

	mu       *sync.Mutex
	accounts map[string]*rate.Limiter
}

func newLimits(perSecond float64, burst int) limits {
	return limits{rate: rate.Limit(perSecond), burst: burst, mu: &sync.Mutex{}, accounts: map[string]*rate.Limiter{}}
}

// take counts a frame and returns 0, or how long the account has to wait for the next.
func (l limits) take(account string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[account]
	if a == nil {
		a = rate.NewLimiter(l.rate, l.burst)
		l.accounts[account] = a
	}
	if a.AllowN(now, 1) {
		return 0
	}
	return max(time.Millisecond, time.Duration((1-a.TokensAt(now))/float64(l.rate)*float64(time.Second)))
}

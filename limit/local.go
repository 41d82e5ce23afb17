package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// localKeys bounds the memory to some MB: 10,000 nodes and their accounts fit twice. Beyond it what nobody has asked for lately starts anew.
const localKeys = 50_000

// local is what one process counts while Redis is away.
type local struct {
	mu         sync.Mutex
	young, old map[[2]string]*rate.Limiter
}

func (l *local) take(account, node string, rates [2]pace, n int64) (time.Duration, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	keys := [][2]string{{account}}
	if node != "" {
		keys = append(keys, [2]string{account, node})
	}
	var limiters []*rate.Limiter
	wait, whose := time.Duration(0), Account
	for i, key := range keys {
		r := l.get(key, rates[i])
		limiters = append(limiters, r)
		if tokens := r.TokensAt(now); tokens < float64(n) {
			if after := max(time.Microsecond, time.Duration((float64(n)-tokens)/float64(r.Limit())*float64(time.Second))); after > wait {
				wait, whose = after, [...]string{Account, Node}[i]
			}
		}
	}
	if wait == 0 {
		for _, r := range limiters {
			r.AllowN(now, int(n))
		}
	}
	return wait, whose
}

// get returns a key's limiter. The caller holds l.mu.
func (l *local) get(key [2]string, p pace) *rate.Limiter {
	if r := l.young[key]; r != nil {
		return r
	}
	r := l.old[key]
	if r == nil {
		r = rate.NewLimiter(rate.Limit(1e6/float64(p.interval)), int(p.burst))
	}
	if l.young == nil || len(l.young) >= localKeys/2 {
		l.old, l.young = l.young, map[[2]string]*rate.Limiter{}
	}
	l.young[key] = r
	return r
}

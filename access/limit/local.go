package limit

import (
	"context"
	"sync"
	"time"
)

// localKeys bounds the memory to some MB: 10,000 nodes and their accounts fit twice. Beyond it
// what nobody has asked for lately starts anew.
const localKeys = 50_000

// local counts in the memory of the process, as gcra does in Redis. It always answers.
type local struct {
	began time.Time

	mu sync.Mutex
	// when all requests so far would have come if they had kept the pace, in µs since began
	young, old map[[2]string]float64
}

func (l *local) name() string { return "local" }

func (l *local) take(_ context.Context, account, node string, rates [2]pace,
	n int64) (time.Duration, string, error) {
	keys := [][2]string{{account}}
	if node != "" {
		keys = append(keys, [2]string{account, node})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := float64(time.Since(l.began).Microseconds())
	var due [2]float64
	wait, whose := 0.0, Account
	for i, key := range keys {
		interval := float64(rates[i].interval)
		due[i] = max(l.due(key), now) + interval*float64(n)
		if excess := due[i] - now - interval*float64(rates[i].burst); excess > wait {
			wait, whose = excess, [...]string{Account, Node}[i]
		}
	}
	if wait > 0 {
		return max(1, time.Duration(min(wait, longest))) * time.Microsecond, whose, nil
	}
	for i, key := range keys {
		l.set(key, due[i])
	}
	return 0, whose, nil
}

// longest is the longest wait that is told, in µs: a hundred years.
const longest = 100 * 365 * 24 * 3600 * 1e6

func (l *local) due(key [2]string) float64 {
	if due, known := l.young[key]; known {
		return due
	}
	return l.old[key]
}

func (l *local) set(key [2]string, due float64) {
	if _, known := l.young[key]; !known && len(l.young) >= localKeys/2 {
		l.old, l.young = l.young, nil
	}
	if l.young == nil {
		l.young = map[[2]string]float64{}
	}
	l.young[key] = due
}

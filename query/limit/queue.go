package limit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Queue (one of the limiters that package access/limit lists) lets some queries run at once, and
// each account in its turn: an account that asks for much waits for its own queries, not others
// for it. A quarter of the places is for accounts of which no query runs, so that a few that ask
// for much leave one to whoever comes next. Queries of very many nodes get half of an account's
// places, so that its small ones do not wait behind them.
type Queue struct {
	slots      int // queries at once
	reserved   int // of them for accounts of which none runs
	perAccount int // of them of one account
	wide       int // of these for queries of very many nodes
	maxWaiting int // queries of one account

	mu       sync.Mutex
	running  int
	accounts map[string]*accountQueue
	turns    []string      // accounts in which a query waits, in the order of their turns
	took     time.Duration // what a query takes, the last ones most
}

// accountQueue is one account's queries.
type accountQueue struct {
	running, wide int
	waiting       []waiter
}

// waiter is a query that waits.
type waiter struct {
	turn chan struct{} // closed when its turn has come
	wide bool
}

// NewQueue returns a queue of so many places, of which an account has perAccount at most, and in
// which maxWaiting queries of an account may wait.
func NewQueue(slots, perAccount, maxWaiting int) *Queue {
	return &Queue{slots: slots, reserved: slots / 4, perAccount: perAccount,
		wide:       max(1, perAccount/2),
		maxWaiting: maxWaiting, accounts: map[string]*accountQueue{}}
}

// Running returns how many queries hold a place.
func (q *Queue) Running() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

// Enter waits for a query's turn, no longer than ctx. done is to be called once when the query has
// ended.
func (q *Queue) Enter(ctx context.Context, accountName string, wide bool) (done func(), err error) {
	q.mu.Lock()
	l := q.accounts[accountName]
	if l == nil {
		l = &accountQueue{}
		q.accounts[accountName] = l
	}
	if n := len(l.waiting); n >= q.maxWaiting && !q.room(l, wide) {
		after := q.took * time.Duration(n) / time.Duration(q.perAccount)
		q.mu.Unlock()
		return nil, &BusyError{Account: accountName, Waiting: n, After: after}
	}
	turn := make(chan struct{})
	if len(l.waiting) == 0 {
		q.turns = append(q.turns, accountName)
	}
	l.waiting = append(l.waiting, waiter{turn, wide})
	q.admit()
	q.mu.Unlock()
	select {
	case <-turn:
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		if i := slices.Index(l.waiting, waiter{turn, wide}); i >= 0 {
			l.waiting = slices.Delete(l.waiting, i, i+1)
			q.tidy(accountName, l)
			return nil, ctx.Err()
		} // its turn has just come
		q.leave(accountName, l, wide)
		return nil, ctx.Err()
	}
	begun := time.Now()
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.took += (time.Since(begun) - q.took) / 8
		q.leave(accountName, l, wide)
	}), nil
}

// room reports whether another query of an account may run. The caller holds the lock.
func (q *Queue) room(l *accountQueue, wide bool) bool {
	slots := q.slots
	if l.running > 0 {
		slots -= q.reserved
	}
	return q.running < slots && l.running < q.perAccount && !(wide && l.wide >= q.wide)
}

// leave ends a query. The caller holds the lock.
func (q *Queue) leave(accountName string, l *accountQueue, wide bool) {
	q.running--
	l.running--
	if wide {
		l.wide--
	}
	q.tidy(accountName, l)
	q.admit()
}

// tidy forgets what an account does not need any more. The caller holds the lock.
func (q *Queue) tidy(accountName string, l *accountQueue) {
	if len(l.waiting) == 0 {
		q.turns = slices.DeleteFunc(q.turns, func(a string) bool { return a == accountName })
		if l.running == 0 {
			delete(q.accounts, accountName)
		}
	}
}

// admit lets as many run as there is room for, an account after the other. The caller holds the
// lock.
func (q *Queue) admit() {
	for i := 0; i < len(q.turns) && q.running < q.slots; {
		name := q.turns[i]
		l := q.accounts[name]
		next := slices.IndexFunc(l.waiting, func(w waiter) bool { return q.room(l, w.wide) })
		if next < 0 {
			i++
			continue
		}
		q.running++
		l.running++
		if l.waiting[next].wide {
			l.wide++
		}
		close(l.waiting[next].turn)
		l.waiting = slices.Delete(l.waiting, next, next+1)
		q.turns = slices.Delete(q.turns, i, i+1)
		if len(l.waiting) > 0 {
			q.turns = append(q.turns, name)
		}
		i = 0
	}
}

package query

import (
	"context"
	"slices"
	"sync"
)

// queue lets some queries run at once, and each account in its turn: an account that asks for much
// waits for its own queries, not others for it. A quarter of the places is for accounts of which no
// query runs, so that a few that ask for much leave one to whoever comes next.
type queue struct {
	slots      int // queries at once
	kept       int // of them for accounts of which none runs
	perAccount int // of them of one account
	maxWaiting int // queries of one account

	mu       sync.Mutex
	running  int
	accounts map[string]*line
	turns    []string // accounts in which a query waits, in the order of their turns
}

// line is one account's queries.
type line struct {
	running int
	waiting []chan struct{} // closed when it is a query's turn
}

func newQueue(slots, perAccount, maxWaiting int) *queue {
	return &queue{slots: slots, kept: slots / 4, perAccount: perAccount, maxWaiting: maxWaiting,
		accounts: map[string]*line{}}
}

// enter waits for a query's turn, no longer than ctx. done is to be called once when the query has
// ended.
func (q *queue) enter(ctx context.Context, accountName string) (done func(), err error) {
	q.mu.Lock()
	l := q.accounts[accountName]
	if l == nil {
		l = &line{}
		q.accounts[accountName] = l
	}
	if len(l.waiting) >= q.maxWaiting && !q.room(l) {
		n := len(l.waiting)
		q.mu.Unlock()
		return nil, &BusyError{Account: accountName, Waiting: n}
	}
	turn := make(chan struct{})
	if len(l.waiting) == 0 {
		q.turns = append(q.turns, accountName)
	}
	l.waiting = append(l.waiting, turn)
	q.admit()
	q.mu.Unlock()
	select {
	case <-turn:
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		if i := slices.Index(l.waiting, turn); i >= 0 {
			l.waiting = slices.Delete(l.waiting, i, i+1)
			q.tidy(accountName, l)
			return nil, ctx.Err()
		} // its turn has just come
		q.leave(accountName, l)
		return nil, ctx.Err()
	}
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.leave(accountName, l)
	}), nil
}

// room reports whether another query of an account may run. The caller holds the lock.
func (q *queue) room(l *line) bool {
	slots := q.slots
	if l.running > 0 {
		slots -= q.kept
	}
	return q.running < slots && l.running < q.perAccount
}

// leave ends a query. The caller holds the lock.
func (q *queue) leave(accountName string, l *line) {
	q.running--
	l.running--
	q.tidy(accountName, l)
	q.admit()
}

// tidy forgets what an account does not need any more. The caller holds the lock.
func (q *queue) tidy(accountName string, l *line) {
	if len(l.waiting) == 0 {
		q.turns = slices.DeleteFunc(q.turns, func(a string) bool { return a == accountName })
		if l.running == 0 {
			delete(q.accounts, accountName)
		}
	}
}

// admit lets as many run as there is room for, an account after the other. The caller holds the lock.
func (q *queue) admit() {
	for i := 0; i < len(q.turns) && q.running < q.slots; {
		name := q.turns[i]
		l := q.accounts[name]
		if !q.room(l) {
			i++
			continue
		}
		q.running++
		l.running++
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
		q.turns = slices.Delete(q.turns, i, i+1)
		if len(l.waiting) > 0 {
			q.turns = append(q.turns, name)
		}
		i = 0
	}
}

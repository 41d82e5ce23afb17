// Package memory shares out what a process may take for work whose size others decide. Begin with
// Budget. It imports none of our packages.
//
// Such work holds a Lease of a Budget, and asks it before it takes memory. An account gets its
// share and no more, so that one account's frames and questions make only that account wait. A
// part is left to accounts that hold little, so that two which take all they can do not make a
// third wait. Limit says how much there is: the setting, GOMEMLIMIT or the cgroup's limit.
//
// What it promises: the sum of all leases never exceeds the budget, and an account's never exceeds
// its share.
//
// What bites: a lease counts what its holder says. Only Limit.Near, which looks at what the process
// really has, notices a holder that takes more.
package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	// ErrTooLarge says that a piece of work needs more than an account may have at all: waiting
	// does not help it.
	ErrTooLarge = errors.New("memory: one account may not take that much")
	// ErrBusy says that the account's share, or the process's budget, is in use: later it may fit.
	ErrBusy = errors.New("memory: all memory of this account is in use")
)

// Refused reports whether err says that memory was refused, for now or for good.
func Refused(err error) bool { return errors.Is(err, ErrBusy) || errors.Is(err, ErrTooLarge) }

// Budget is what a process may take, shared among accounts. Its methods may be called from many
// goroutines.
type Budget struct {
	total, share int64
	kept         int64 // what is left to accounts that hold little
	little       int64 // so much

	mu       sync.Mutex
	used     int64
	accounts map[string]*account

	refused *prometheus.CounterVec
}

// account is what one account holds and who waits for more, first come first served.
type account struct {
	used    int64
	waiting []*waiter
}

type waiter struct {
	bytes   int64
	holds   func() []*Lease // what is kept while it waits, or nil
	decided chan struct{}
	refused bool // when decided is closed
}

// NewBudget returns a budget of total bytes and registers its metrics under a name such as "close";
// reg may be nil. One account may have half. The last eighth is for accounts that then hold a 32nd
// at most.
func NewBudget(name string, total int64, reg prometheus.Registerer) (*Budget, error) {
	b := &Budget{total: total, share: total / 2, kept: total / 8, little: total / 32,
		accounts: map[string]*account{}}
	of := prometheus.Labels{"budget": name}
	b.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ringwatch_memory_refused_total", ConstLabels: of,
		Help: "Work that was refused memory, by reason: busy (later it may fit) or " +
			"too_large (never).",
	}, []string{"reason"})
	b.refused.WithLabelValues("busy")
	b.refused.WithLabelValues("too_large")
	if reg == nil {
		return b, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		b.refused,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_memory_budget_bytes",
			ConstLabels: of, Help: "What work of a kind may take at once; one account may " +
				"have half."}, func() float64 { return float64(b.total) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_memory_leased_bytes",
			ConstLabels: of, Help: "What work of a kind holds now."}, func() float64 {
			return float64(b.Used())
		}),
	} {
		errs = append(errs, reg.Register(c))
	}
	return b, errors.Join(errs...)
}

// Share returns how many bytes one account may have; a nil budget has no end.
func (b *Budget) Share() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.share
}

// Beside returns how many bytes one account may have beside these leases.
func (b *Budget) Beside(leases []*Lease) int64 {
	if b == nil {
		return math.MaxInt64
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.share - sumOf(leases)
}

// Used returns how many bytes are leased.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Try returns a lease of so many bytes, or an error that wraps ErrBusy or ErrTooLarge. A nil budget
// gives leases without end.
func (b *Budget) Try(accountName string, bytes int64) (*Lease, error) {
	if b == nil {
		return Unbounded(), nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.of(accountName)
	if len(a.waiting) > 0 || !b.fits(a, bytes) {
		b.forget(accountName, a)
		return nil, b.refuse(bytes)
	}
	b.take(a, bytes)
	return &Lease{budget: b, account: accountName, reserved: bytes}, nil
}

// Open returns a lease of nothing, which may grow.
func (b *Budget) Open(accountName string) *Lease { return &Lease{budget: b, account: accountName} }

// Acquire is Try, but waits its turn among the account's own until ctx ends. holds returns the
// leases of those that wait for this one, its caller among them; nil says that there are none.
// Who holds some goes first. What does not fit beside them is refused as too large. When those
// that wait hold all memory, nobody would give any back, so one of them is refused as busy. holds
// is called with the budget locked.
func (b *Budget) Acquire(
	ctx context.Context, accountName string, bytes int64, holds func() []*Lease,
) (*Lease, error) {
	if b == nil {
		return Unbounded(), nil
	}
	b.mu.Lock()
	a := b.of(accountName)
	lease := &Lease{budget: b, account: accountName, reserved: bytes}
	if bytes > b.share {
		defer b.mu.Unlock()
		b.forget(accountName, a)
		return nil, b.refuse(bytes)
	}
	if len(a.waiting) == 0 && b.fits(a, bytes) {
		b.take(a, bytes)
		b.mu.Unlock()
		return lease, nil
	}
	w := &waiter{bytes: bytes, holds: holds, decided: make(chan struct{})}
	if need := bytes + sumOf(w.held()); need > b.share {
		defer b.mu.Unlock()
		b.forget(accountName, a)
		return nil, b.refuse(need)
	}
	a.enqueue(w)
	b.pass(a)
	b.mu.Unlock()
	select {
	case <-w.decided:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.decided:
		if w.refused {
			return nil, b.refuse(bytes)
		} else if ctx.Err() == nil {
			return lease, nil
		}
		b.give(accountName, bytes)
	default:
		a.waiting = slices.DeleteFunc(a.waiting, func(other *waiter) bool { return other == w })
		b.grant() // who came behind may ask for less
	}
	return nil, fmt.Errorf("%w: %w", b.refuse(bytes), ctx.Err())
}

// Look looks for waiters that wait for nothing, after what they hold has grown.
func (b *Budget) Look(accountName string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.accounts[accountName]; a != nil {
		b.pass(a)
	}
}

// enqueue puts a waiter behind the others, but one that holds memory before those that hold none.
func (a *account) enqueue(w *waiter) {
	at := len(a.waiting)
	if len(w.held()) > 0 {
		at = a.lastHolder() + 1
	}
	a.waiting = slices.Insert(a.waiting, at, w)
}

// held returns the leases of those that wait for a waiter.
func (w *waiter) held() []*Lease {
	if w.holds == nil {
		return nil
	}
	return w.holds()
}

// of returns an account's part. The caller holds the lock, here and below.
func (b *Budget) of(name string) *account {
	a := b.accounts[name]
	if a == nil {
		a = &account{}
		b.accounts[name] = a
	}
	return a
}

func (b *Budget) forget(name string, a *account) {
	if a.used == 0 && len(a.waiting) == 0 {
		delete(b.accounts, name)
	}
}

func (b *Budget) fits(a *account, bytes int64) bool {
	free := b.total - b.used
	if a.used+bytes > b.little {
		free -= b.kept
	}
	return bytes <= b.share-a.used && bytes <= free
}

func (b *Budget) take(a *account, bytes int64) {
	a.used += bytes
	b.used += bytes
}

func (b *Budget) refuse(bytes int64) error {
	if bytes > b.share {
		b.refused.WithLabelValues("too_large").Inc()
		return fmt.Errorf("%w: %s are needed, %s allowed", ErrTooLarge, mebibytes(bytes),
			mebibytes(b.share))
	}
	b.refused.WithLabelValues("busy").Inc()
	return fmt.Errorf("%w: %s more are needed", ErrBusy, mebibytes(bytes))
}

// give takes bytes back and passes them on.
func (b *Budget) give(name string, bytes int64) {
	a := b.of(name)
	a.used -= bytes
	b.used -= bytes
	b.grant()
	b.forget(name, a)
}

// grant lets those go on for whom there is memory now. An account's own wait in order; accounts do
// not wait for each other, except for the whole.
func (b *Budget) grant() {
	for name, a := range b.accounts {
		b.pass(a)
		b.forget(name, a)
	}
}

// pass lets an account's waiters go on for whom there is memory. Where nobody would give any back,
// it refuses the last of those that hold some, so that the others can go on.
func (b *Budget) pass(a *account) {
	for len(a.waiting) > 0 {
		w := a.waiting[0]
		if b.fits(a, w.bytes) {
			b.take(a, w.bytes)
		} else if last := a.lastHolder(); last >= 0 && b.stuck(a, w.bytes) {
			w = a.waiting[last]
			w.refused = true
		} else {
			return
		}
		a.waiting = slices.DeleteFunc(a.waiting, func(other *waiter) bool { return other == w })
		close(w.decided)
	}
}

// lastHolder returns the place of the last waiter that holds memory, or -1.
func (a *account) lastHolder() int {
	for i, w := range slices.Backward(a.waiting) {
		if len(w.held()) > 0 {
			return i
		}
	}
	return -1
}

// stuck reports whether all memory that keeps so many bytes from an account is held by waiters.
func (b *Budget) stuck(a *account, bytes int64) bool {
	if bytes > b.share-a.used {
		return a.used <= sumOf(a.held())
	}
	var all []*Lease
	for _, other := range b.accounts {
		all = append(all, other.held()...)
	}
	return b.used <= sumOf(all)
}

// held returns what an account's waiters hold.
func (a *account) held() []*Lease {
	var all []*Lease
	for _, w := range a.waiting {
		all = append(all, w.held()...)
	}
	return all
}

// sumOf returns what leases have reserved, each once. The caller holds the budget's lock.
func sumOf(leases []*Lease) int64 {
	seen := make(map[*Lease]bool, len(leases))
	var sum int64
	for _, l := range leases {
		if !seen[l] {
			sum += l.reserved
		}
		seen[l] = true
	}
	return sum
}

// Lease is memory that one piece of work may take. Its methods may be called from many goroutines.
type Lease struct {
	budget  *Budget
	account string

	mu       sync.Mutex
	reserved int64 // changes under the budget's lock as well
	taken    int64
	most     int64 // 0: no bound of its own
	lacked   bool
	ended    bool
}

// Unbounded returns a lease that counts and never refuses, for who wants no bound.
func Unbounded() *Lease { return &Lease{} }

// Bounded returns a lease that belongs to no budget and allows so many bytes.
func Bounded(bytes int64) *Lease { return &Lease{most: bytes} }

// Take counts memory that is about to be taken. What exceeds the reservation is reserved first,
// without waiting: who holds memory must not wait for more. The error wraps ErrBusy or ErrTooLarge;
// whoever gets it should end its work, and begin it again with a larger lease after ErrBusy.
func (l *Lease) Take(bytes int64) error { return l.TakeLeaving(bytes, 0) }

// TakeLeaving is Take where so many bytes more could be taken afterwards, and refuses otherwise. It
// is for memory that is held for long, and must leave some to work that passes.
func (l *Lease) TakeLeaving(bytes, rest int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	need := l.taken + bytes
	if l.most > 0 && need > l.most-rest {
		return fmt.Errorf("%w: more than %s are needed, %s allowed", ErrTooLarge, mebibytes(need),
			mebibytes(l.most))
	} else if l.budget != nil && need > l.reserved-rest {
		if err := l.grow(need, rest); err != nil {
			return err
		}
	}
	l.taken += bytes
	return nil
}

// step is how much is reserved at once at least, so that the budget is asked seldom. It is small,
// as there may be a lease for each of thousands of clusters.
const step = 64 << 10

// grow sees to it that need bytes are reserved, and that rest more could be. Those are not
// reserved: they are there for all leases of the account.
func (l *Lease) grow(need, rest int64) error {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if need > b.share-rest {
		return b.refuse(need + rest)
	}
	a := b.of(l.account)
	defer b.forget(l.account, a)
	if !b.fits(a, need+rest-l.reserved) {
		l.lacked = true
		return b.refuse(need + rest - l.reserved)
	}
	more := max(0, need-l.reserved)
	generous := max(more, step, l.reserved/4)
	if more > 0 && l.reserved+generous <= b.share && b.fits(a, generous+rest) {
		more = generous
	}
	b.take(a, more)
	l.reserved += more
	return nil
}

// Give says that memory which was taken is free again. The reservation stays, for what comes next.
func (l *Lease) Give(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken -= bytes
}

// Return is Give for a lease that lives long: what it holds beyond a quarter more than is taken
// goes back to the budget.
func (l *Lease) Return(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken -= bytes
	surplus := l.reserved - l.taken - max(step, l.taken/4)
	if l.budget == nil || l.ended || surplus <= 0 {
		return
	}
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	l.reserved -= surplus
	l.budget.give(l.account, surplus)
}

// Taken returns how many bytes are taken now.
func (l *Lease) Taken() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}

// Lacked reports whether the lease was refused memory that a larger one might have had.
func (l *Lease) Lacked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lacked
}

// Release gives everything back. It may be called more than once.
func (l *Lease) Release() {
	if l.budget == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	bytes := l.reserved
	l.reserved = 0
	l.budget.give(l.account, bytes)
}

func mebibytes(bytes int64) string {
	if bytes < 10<<20 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

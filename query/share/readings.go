// Package share is what requests share: a reading that several want at the same time (Readings),
// the memory of what it returns until the last of them is done with it (Readings.Scope), and the
// processors (OnCPU).
//
// Start with Readings and Read. A request opens a Scope and reads in it; the scope's end gives all
// memory back.
//
// What bites: what a reading returns is shared, so nobody changes it. A reading within another one
// waits for memory only while others could give some back.
//
// It may import memory.
package share

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/memory"
)

// Readings are the readings under way, by what they read. Requests that want the same share one.
type Readings struct {
	// budget is what readings may take, per account and together; nil: whatever they need.
	budget  *memory.Budget
	timeout time.Duration // bounds each of them
	begun   func()        // called as one begins

	mu       sync.Mutex
	inFlight map[string]*reading
}

// NewReadings returns those of a budget, each bounded by a timeout; begun is called as one begins.
func NewReadings(budget *memory.Budget, timeout time.Duration, begun func()) *Readings {
	return &Readings{budget: budget, timeout: timeout, begun: begun,
		inFlight: map[string]*reading{}}
}

// reading is one reading, which all requests share that want the same at the same time. Its
// result takes the memory of its lease until the last of them is done with it. When nobody waits
// for it any more it ends.
type reading struct {
	readings *Readings
	key      string
	done     chan struct{} // closed when value and err are there
	value    any
	err      error
	lease    *memory.Lease
	users    int      // the reading itself among them
	waiting  []*scope // a nil one for each who has none
	end      context.CancelFunc
}

// join returns the reading of that key, and begins it if there is none. It counts the caller among
// the users. begin runs in a context that ends when nobody waits, not with ctx.
func (fs *Readings) join(ctx context.Context, key string,
	begin func(context.Context, *reading)) *reading {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.inFlight[key]
	if f == nil {
		within, end := context.WithCancel(context.WithoutCancel(ctx))
		f = &reading{readings: fs, key: key, done: make(chan struct{}), users: 1, end: end}
		fs.inFlight[key] = f
		go func() {
			defer end()
			begin(within, f)
			fs.mu.Lock()
			fs.remove(f)
			fs.mu.Unlock()
			close(f.done)
			fs.leave(f)
		}()
	}
	f.users++
	f.waiting = append(f.waiting, scopeIn(ctx))
	return f
}

// remove lets nobody join a reading any more. The caller holds the lock.
func (fs *Readings) remove(f *reading) {
	if fs.inFlight[f.key] == f {
		delete(fs.inFlight, f.key)
	}
}

// abandon says that somebody does not wait for a reading any more. When nobody waits it ends, and
// whoever wants the same later begins a new one.
func (fs *Readings) abandon(f *reading, sc *scope) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	at := slices.Index(f.waiting, sc)
	f.waiting = slices.Delete(f.waiting, at, at+1)
	if len(f.waiting) == 0 {
		fs.remove(f)
		f.end()
	}
}

// leave says that a user is done with a reading's result.
func (fs *Readings) leave(f *reading) {
	fs.mu.Lock()
	f.users--
	ended := f.users == 0
	fs.mu.Unlock()
	if ended && f.lease != nil {
		f.lease.Release()
	}
}

// held returns the leases that are held by those who wait for a reading: the leases of their
// scopes, and of the readings whose results these scopes use.
func (fs *Readings) held(f *reading) []*memory.Lease {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	visited := map[any]bool{}
	var all []*memory.Lease
	var ofScope func(sc *scope)
	ofFlight := func(f *reading) {
		if f == nil || visited[f] {
			return
		}
		visited[f] = true
		for _, sc := range f.waiting {
			ofScope(sc)
		}
	}
	ofScope = func(sc *scope) {
		if sc == nil || visited[sc] {
			return
		}
		visited[sc] = true
		all = append(all, sc.leases()...)
		ofScope(sc.outer)
		ofFlight(sc.reads)
	}
	ofFlight(f)
	return all
}

// Waiting returns how many wait for the reading of a key.
func (fs *Readings) Waiting(key string) int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.inFlight[key]; f != nil {
		return len(f.waiting)
	}
	return 0
}

// Read lets requests that want the same thing at the same time share one reading of it, which
// does not end with the request that began it, but when nobody waits for it any more, or after the
// timeout. key says what is read, and of which account. What read returns is shared, so nobody
// changes it. It takes its memory from the context's lease; with that the account waits for its
// share, and for more of it if read finds that it needs more. A reading within another one holds
// what that has, so it waits only while others could give memory back. ctx is within a Scope, which
// uses the result until it ends.
func Read[T any](
	ctx context.Context, fs *Readings, accountName, key string,
	read func(context.Context) (T, error),
) (T, error) {
	f := fs.join(ctx, key, func(within context.Context, f *reading) {
		bounded, cancel := context.WithTimeout(within, fs.timeout)
		defer cancel()
		fs.begun()
		holds := func() []*memory.Lease { return fs.held(f) }
		for estimate := int64(leastRead); ; {
			lease, err := fs.budget.Acquire(bounded, accountName, estimate, holds)
			if err != nil {
				f.err = err
				return
			}
			sc := &scope{account: accountName, lease: lease, reads: f}
			f.value, f.err = read(sc.within(bounded))
			sc.end()
			if !errors.Is(f.err, memory.ErrBusy) || bounded.Err() != nil {
				f.lease = lease
				return
			}
			if lease.Lacked() { // or else what it waits for did
				estimate = max(2*lease.Taken(), 2*estimate)
				if most := fs.budget.Beside(holds()); lease.Taken() < most {
					estimate = min(estimate, most)
				} // or it is refused as too large
			}
			lease.Release()
		}
	})
	holdUntilEnd(ctx, f)
	fs.budget.Look(accountName) // one more that holds memory may wait
	var none T
	select {
	case <-ctx.Done():
		fs.abandon(f, scopeIn(ctx))
		return none, ctx.Err()
	case <-f.done:
		if f.err != nil {
			return none, f.err
		}
		return f.value.(T), nil
	}
}

// leastRead is the memory that a reading begins with: that of a node of 100 tables.
const leastRead = 1 << 20

package query

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// readings are the readings under way, by what they read.
type readings struct {
	mu       sync.Mutex
	inFlight map[string]*sharedRead
}

// sharedRead is one reading, which all requests share that want the same at the same time. Its
// result takes the memory of its lease until the last of them is done with it. When nobody waits
// for it any more it ends.
type sharedRead struct {
	of      *readings
	key     string
	done    chan struct{} // closed when value and err are there
	value   any
	err     error
	lease   *memory.Lease
	users   int      // the reading itself among them
	waiting []*scope // a nil one for each who has none
	end     context.CancelFunc
}

// join returns the reading of that key, and begins it if there is none. It counts the caller among
// the users. begin runs in a context that ends when nobody waits, not with ctx.
func (fs *readings) join(ctx context.Context, key string,
	begin func(context.Context, *sharedRead)) *sharedRead {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.inFlight[key]
	if f == nil {
		if fs.inFlight == nil {
			fs.inFlight = map[string]*sharedRead{}
		}
		within, end := context.WithCancel(context.WithoutCancel(ctx))
		f = &sharedRead{of: fs, key: key, done: make(chan struct{}), users: 1, end: end}
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
func (fs *readings) remove(f *sharedRead) {
	if fs.inFlight[f.key] == f {
		delete(fs.inFlight, f.key)
	}
}

// abandon says that somebody does not wait for a reading any more. When nobody waits it ends, and
// whoever wants the same later begins a new one.
func (fs *readings) abandon(f *sharedRead, sc *scope) {
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
func (fs *readings) leave(f *sharedRead) {
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
func (fs *readings) held(f *sharedRead) []*memory.Lease {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	seen := map[any]bool{}
	var all []*memory.Lease
	var ofScope func(sc *scope)
	ofFlight := func(f *sharedRead) {
		if f == nil || seen[f] {
			return
		}
		seen[f] = true
		for _, sc := range f.waiting {
			ofScope(sc)
		}
	}
	ofScope = func(sc *scope) {
		if sc == nil || seen[sc] {
			return
		}
		seen[sc] = true
		all = append(all, sc.leases()...)
		ofScope(sc.of)
		ofFlight(sc.reads)
	}
	ofFlight(f)
	return all
}

// ShareRead lets requests that want the same thing at the same time share one reading of it, which
// does not end with the request that began it, but when nobody waits for it any more, or after
// ReaderConfig.Timeout. key says what is read, and of which account; Latest, Range, Windows,
// Instants, LastSeen and Unchanged have keys that begin with latest/, values/, range/, heard/,
// young/, seen/ and newest/. What read returns is shared, so nobody changes it. It takes its
// memory from the context's lease; with that the account waits for its share, and for more of it
// if read finds that it needs more. A reading within another one holds what that has, so it waits
// only while others could give memory back. ctx is within a Scope, which uses the result until it
// ends.
func ShareRead[T any](
	ctx context.Context, r *Reader, accountName, key string,
	read func(context.Context) (T, error),
) (T, error) {
	f := r.shared.join(ctx, key, func(within context.Context, f *sharedRead) {
		bounded, cancel := context.WithTimeout(within, r.config.Timeout)
		defer cancel()
		r.metrics.flights.Inc()
		holds := func() []*memory.Lease { return r.shared.held(f) }
		for estimate := int64(leastRead); ; {
			lease, err := r.sources.Memory.Acquire(bounded, accountName, estimate, holds)
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
				if most := r.sources.Memory.Beside(holds()); lease.Taken() < most {
					estimate = min(estimate, most)
				} // or it is refused as too large
			}
			lease.Release()
		}
	})
	uses(ctx, f)
	r.sources.Memory.Look(accountName) // one more that holds memory may wait
	var none T
	select {
	case <-ctx.Done():
		r.shared.abandon(f, scopeIn(ctx))
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

// scope is a part of a request after which what it has read is not used any more.
type scope struct {
	account string
	lease   *memory.Lease
	of      *scope      // that it is a part of, or nil
	reads   *sharedRead // whose reading it is, or nil

	mu    sync.Mutex
	ended bool
	after []func()
	uses  []*sharedRead // whose results it uses
}

type scopeKey struct{}

// Scope returns a context whose work takes its memory from a new lease of the account, and a
// function that ends the scope and gives the memory back. It waits for nothing: what is large is
// read by ShareRead.
func (r *Reader) Scope(ctx context.Context, accountName string) (context.Context, func()) {
	lease := r.sources.Memory.Open(accountName)
	sc := &scope{account: accountName, lease: lease, of: scopeIn(ctx),
		after: []func(){lease.Release}}
	return sc.within(ctx), sc.end
}

func (sc *scope) within(ctx context.Context) context.Context {
	return context.WithValue(memory.With(ctx, sc.lease), scopeKey{}, sc)
}

// scopeIn returns the context's scope, or nil.
func scopeIn(ctx context.Context) *scope {
	sc, _ := ctx.Value(scopeKey{}).(*scope)
	return sc
}

// uses says that the context's scope uses a reading's result.
func uses(ctx context.Context, f *sharedRead) {
	sc := scopeIn(ctx)
	if sc != nil {
		sc.mu.Lock()
		ended := sc.ended
		if !ended {
			sc.uses = append(sc.uses, f)
		}
		sc.mu.Unlock()
		if !ended {
			return
		}
	}
	f.of.leave(f)
}

// leases returns the scope's own and those of the results that it uses.
func (sc *scope) leases() []*memory.Lease {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	all := []*memory.Lease{sc.lease}
	for _, f := range sc.uses {
		select {
		case <-f.done:
			if f.lease != nil {
				all = append(all, f.lease)
			}
		default:
		}
	}
	return all
}

// Part is Scope for a part of the context's scope. It ends with that at the latest.
func (r *Reader) Part(ctx context.Context) (context.Context, func()) {
	of := scopeIn(ctx)
	if of == nil {
		return ctx, func() {}
	}
	within, end := r.Scope(ctx, of.account)
	use(ctx, end)
	return within, end
}

// end gives back what the scope has used. It may be called more than once.
func (sc *scope) end() {
	sc.mu.Lock()
	after, flights := sc.after, sc.uses
	sc.ended, sc.after, sc.uses = true, nil, nil
	sc.mu.Unlock()
	for _, f := range flights {
		f.of.leave(f)
	}
	for _, f := range after {
		f()
	}
}

// use calls f when the context's scope ends; now, if that has ended.
func use(ctx context.Context, f func()) {
	sc := scopeIn(ctx)
	if sc == nil {
		f()
		return
	}
	sc.mu.Lock()
	if !sc.ended {
		sc.after = append(sc.after, f)
		f = func() {}
	}
	sc.mu.Unlock()
	f()
}

// Latest returns a node's newest state; its Window is nil without an error if none is known. It is
// shared.
func (r *Reader) Latest(ctx context.Context, account string, n *Node) (State, error) {
	return ShareRead(ctx, r, account, "latest/"+account+"/"+n.ID.String(),
		func(ctx context.Context) (State, error) {
			return r.readLatest(ctx, account, n, nil)
		})
}

// Range returns a node's values from from to to, both inclusive and in ms, of what any of the
// selectors selects; no selectors select everything. They are Windows' as series. The list is the
// caller's, what it points to is shared.
func (r *Reader) Range(
	ctx context.Context, account string, n *Node, from, to int64, selectors [][]*labels.Matcher,
) (Values, error) {
	v, err := ShareRead(ctx, r, account,
		readingKey("values", account, n, rangeRead{from, to, nil, selectors}),
		func(ctx context.Context) (Values, error) {
			w, err := r.readRange(ctx, account, n, rangeRead{from, to, nil, selectors})
			if err != nil {
				return Values{}, err
			}
			list, err := w.Series(ctx, from, to, selectors)
			return Values{Series: list, Instants: w.Instants, Missing: w.Missing}, err
		})
	v.Series = slices.Clone(v.Series)
	return v, err
}

// readingKey names a reading of a node.
func readingKey(what, account string, n *Node, q rangeRead) string {
	b := make([]byte, 0, 256)
	b = append(append(append(b, what...), '/'), account...)
	b = append(append(b, '/'), n.ID[:]...)
	b = strconv.AppendInt(append(b, '/'), q.from, 10)
	b = strconv.AppendInt(append(b, '/'), q.to, 10)
	for _, f := range q.facets {
		b = append(b, '/', '0'+byte(f))
	}
	for _, matchers := range q.selectors {
		b = append(b, '/')
		for _, m := range matchers {
			b = window.AppendMatcher(b, m)
		}
	}
	return string(b)
}

// Windows returns windows that have at least what any of the selectors selects from from to to,
// both inclusive and in ms (no selectors: everything), of histograms these facets (none: all). A
// range that the recent source surely has whole is its, the older part of another is the store's.
func (r *Reader) Windows(ctx context.Context, account string, n *Node, from, to int64,
	facets []blobs.Facet, selectors [][]*labels.Matcher) (Windows, error) {
	q := rangeRead{from, to, facets, selectors}
	return ShareRead(ctx, r, account, readingKey("range", account, n, q),
		func(ctx context.Context) (Windows, error) { return r.readRange(ctx, account, n, q) })
}

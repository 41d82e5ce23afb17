package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/window"
)

// overlap is how much of what was written is asked for again: clocks may be wrong by a minute, and
// a write takes some seconds.
const overlap = 2 * time.Minute

// recheckSpan is how far back a recheck looks.
const recheckSpan = 24 * time.Hour

// Loader fills an Index and keeps it fresh. While its source is away the Index stays as it is.
//
// A node that it does not know yet is read whole: which dictionaries it had on which days, then
// each of them once. From then on it asks for what is new.
type Loader struct {
	config  Config
	source  Source
	index   *Index
	metrics *metrics

	mu       sync.Mutex // held by Refresh
	accounts map[string]*progress
	reading  chan struct{} // a token per node that is read

	lastSuccess atomic.Int64 // when a refresh succeeded, ms; 0: never
	lastError   atomic.Pointer[error]
}

// progress is how far an account is loaded.
type progress struct {
	// known: what was written before it is in the Index, or is of a node in waiting. Zero: nothing
	// is.
	known     time.Time
	rechecked time.Time
	waiting   map[uuid.UUID]int64 // nodes to be read, and from when on
	loaded    bool                // all nodes were read: what waits is only checked again
	began     time.Time
}

// NewLoader checks the configuration and registers the metrics of the index; reg may be nil. It
// starts nothing.
func NewLoader(c Config, source Source, index *Index, reg prometheus.Registerer) (*Loader, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("series: %w", err)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	l := &Loader{config: c, source: source, index: index, accounts: map[string]*progress{},
		reading: make(chan struct{}, c.Readers)}
	l.metrics = newMetrics(l, reg)
	return l, nil
}

// Run refreshes until ctx ends.
func (l *Loader) Run(ctx context.Context) error {
	for {
		if err := l.Refresh(ctx); err != nil && ctx.Err() == nil {
			l.config.Log.Warn("series: a refresh failed; the next one does the rest", "error", err)
		}
		t := time.NewTimer(l.config.Refresh)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}

// Refresh reads what is new, and the first time everything. What fails is left for the next time;
// the error says what.
func (l *Loader) Refresh(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.config.Clock()
	names := l.config.Accounts()
	l.drop(names)
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		p := l.accounts[name]
		if p == nil {
			p = &progress{waiting: map[uuid.UUID]int64{}, began: now}
			l.accounts[name] = p
		}
		wg.Go(func() { errs[i] = l.refresh(ctx, name, p, now) })
	}
	wg.Wait()
	l.index.Forget(now.Add(-l.config.Keep).UnixMilli())
	err := errors.Join(errs...)
	if err == nil {
		l.lastSuccess.Store(now.UnixMilli())
		l.lastError.Store(nil)
	} else if ctx.Err() == nil {
		l.lastError.Store(&err)
		l.metrics.failures.Inc()
	}
	l.metrics.measure(l.index.Stats())
	return err
}

// drop forgets accounts that are no more.
func (l *Loader) drop(keep []string) {
	for name := range l.accounts {
		if !slices.Contains(keep, name) {
			delete(l.accounts, name)
			l.index.drop(name)
		}
	}
}

// refresh does what is to be done for one account.
func (l *Loader) refresh(ctx context.Context, account string, p *progress, now time.Time) error {
	whole := p.known.IsZero() || now.Sub(p.known) > l.source.WrittenFor-time.Hour
	if whole || now.Sub(p.rechecked) >= l.config.Recheck {
		from := now.Add(-recheckSpan)
		if whole {
			from = now.Add(-l.config.Keep)
		}
		nodes, err := l.source.Nodes(ctx, account)
		if err != nil {
			return fmt.Errorf("list the nodes of account %s: %w", account, err)
		}
		for _, n := range nodes {
			if before, found := p.waiting[n]; !found || from.UnixMilli() < before {
				p.waiting[n] = from.UnixMilli()
			}
		}
		p.rechecked = now
		if whole {
			p.known, p.loaded = now, false
		}
		l.setPending(account, p)
	}
	if p.known.Before(now) {
		if err := l.readWritten(ctx, account, p, now); err != nil {
			return err
		}
	}
	if err := l.readWaiting(ctx, account, p); err != nil {
		return err
	}
	if !p.loaded {
		p.loaded = true
		s := l.index.Stats()
		l.config.Log.Info("series: loaded", "account", account, "nodes", s.Nodes,
			"series", s.Series, "bytes", s.Bytes,
			"took", l.config.Clock().Sub(p.began).Round(time.Millisecond))
	}
	return nil
}

// readWritten reads the dictionaries that were written since the last refresh.
func (l *Loader) readWritten(ctx context.Context, account string, p *progress,
	now time.Time) error {
	ids, err := l.source.Written(ctx, account, p.known.Add(-overlap).UnixMilli())
	if err != nil {
		return err
	}
	byNode := map[uuid.UUID][]window.DictionaryID{}
	for _, id := range ids {
		byNode[id.Node] = append(byNode[id.Node], id)
	}
	g, gctx := errgroup.WithContext(ctx)
	for node, ids := range byNode {
		if l.index.has(account, node, ids) {
			continue // read the last time
		}
		if err := l.acquire(gctx); err != nil {
			break
		}
		g.Go(func() error {
			defer l.release()
			return l.add(gctx, account, node, ids)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	p.known = now
	return nil
}

// readWaiting reads the nodes that wait.
func (l *Loader) readWaiting(ctx context.Context, account string, p *progress) error {
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	for _, node := range nodesOf(p.waiting) {
		mu.Lock()
		from := p.waiting[node]
		mu.Unlock()
		if err := l.acquire(gctx); err != nil {
			break
		}
		g.Go(func() error {
			defer l.release()
			ids, err := l.source.Dictionaries(gctx, account, node, from)
			if err == nil {
				err = l.add(gctx, account, node, ids)
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			delete(p.waiting, node)
			l.setPending(account, p)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// setPending tells the index how many nodes its answers lack.
func (l *Loader) setPending(account string, p *progress) {
	pending := len(p.waiting)
	if p.loaded {
		pending = 0
	}
	l.index.setPending(account, pending)
}

func nodesOf(waiting map[uuid.UUID]int64) []uuid.UUID {
	list := make([]uuid.UUID, 0, len(waiting))
	for n := range waiting {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return list
}

// acquire waits until another node may be read. release lets the next one.
func (l *Loader) acquire(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case l.reading <- struct{}{}:
		return nil
	}
}

func (l *Loader) release() { <-l.reading }

// add reads those of a node's dictionaries that are not known and puts all of them into the index.
func (l *Loader) add(ctx context.Context, account string, node uuid.UUID,
	ids []window.DictionaryID) error {
	dictionaries := map[window.Hash]*window.Dictionary{}
	if unknown := l.index.Unknown(account, node, ids); len(unknown) > 0 {
		err := l.source.Read(ctx, account, node, unknown,
			func(h window.Hash, d *window.Dictionary) { dictionaries[h] = d })
		if err != nil {
			return err
		}
		l.metrics.dictionaries.Add(float64(len(dictionaries)))
	}
	l.index.Add(account, node, ids, dictionaries)
	return nil
}

// State says in words how fresh the index is: "ok", or what is missing.
func (l *Loader) State() string {
	pending := 0
	for _, a := range l.index.all() {
		a.mu.Lock()
		pending += a.pending
		a.mu.Unlock()
	}
	last, trouble := l.lastSuccess.Load(), l.lastError.Load()
	switch {
	case trouble != nil && last == 0:
		return fmt.Sprintf("not loaded yet: %v", *trouble)
	case trouble != nil:
		return fmt.Sprintf("as of %s: %v", time.UnixMilli(last).UTC().Format(time.RFC3339),
			*trouble)
	case last == 0 || pending > 0:
		return fmt.Sprintf("loading, %d nodes are missing", pending)
	}
	return "ok"
}

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
)

// ReadReport says what an answer was made of.
type ReadReport struct {
	Raw, Fresh int     // windows answered from each layer
	Kept       int     // closed windows that this process has read before
	Damage     []error // blobs that could not be decoded or were not there; at most maxDamage are kept
	Damaged    int     // their number
	// Instants are when the node sent the frames that the windows were made of, from from to to, in ms,
	// ascending, each once, whatever matched: a series without a value at one of them was not there.
	Instants []int64
	Lost     int // frames of these windows that could not be read: damaged, or without their key frame. In a fresh window that may yet come
}

// Partial reports whether something that is stored is missing in the answer.
func (r *ReadReport) Partial() bool { return r.Damaged > 0 }

// Missing says in words what is missing; nothing if the answer is whole.
func (r *ReadReport) Missing() []string {
	var list []string
	for _, err := range r.Damage {
		list = append(list, err.Error())
	}
	if more := r.Damaged - len(r.Damage); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return list
}

const maxDamage = 10

func (r *ReadReport) damage(errs ...error) {
	r.Damaged += len(errs)
	r.Damage = append(r.Damage, errs[:min(len(errs), maxDamage-len(r.Damage))]...)
}

// readsInFlight is how many partitions of a layer one Read asks at once.
const readsInFlight = 8

// Read returns the series of a node that match, with their values at instants from ≤ at ≤ to (milliseconds since the Unix epoch), sorted by labels, each
// instant once, and in the report all instants, matched or not. Windows that are closed come from raw, others from fresh if they lie within its TTL, and those with late frames from both. What cannot be decoded is left
// out and reported; the error is Cassandra's.
func (s *Store) Read(ctx context.Context, account string, node uuid.UUID, from, to int64, matchers ...*labels.Matcher) ([]window.Series, ReadReport, error) {
	ctx = dashboard(ctx, account)
	var report ReadReport
	now := s.millis()
	from = max(from, now-s.config.RawTTL.Milliseconds())
	to = min(to, now+frame.WindowMillis)
	if from > to {
		return nil, report, nil
	}
	r := reader{Store: s, ctx: ctx, account: account, node: node, from: from, to: to, matchers: matchers, began: now, closed: map[int64]bool{}, held: map[int64]Kept{}, marksKnown: make(chan struct{}), parts: map[int64][]window.Series{}, times: map[int64][]int64{}, report: &report}
	if err := r.columns(ctx); err != nil {
		return nil, report, err
	}
	horizon := now - s.config.FreshTTL.Milliseconds() - frame.WindowMillis
	var freshWindows []int64
	for _, w := range windowsIn(from, to) {
		_, held := r.held[w]
		_, marked := r.marks[w]
		if answered := r.closed[w] || r.known[w] != nil; held || !answered && (marked || w >= frame.WindowOf(horizon)) {
			freshWindows = append(freshWindows, w)
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readsInFlight)
	for _, w := range freshWindows {
		g.Go(func() error { return r.fresh(gctx, w) })
	}
	if err := g.Wait(); err != nil {
		return nil, report, fmt.Errorf("store: read fresh: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, report, fmt.Errorf("store: read: %w", err) // not all were matched
	}
	if r.failed != nil {
		return nil, report, fmt.Errorf("store: read: %w", r.failed)
	}
	s.metrics.ReadWindows.WithLabelValues("raw").Add(float64(report.Raw))
	s.metrics.ReadWindows.WithLabelValues("kept").Add(float64(report.Kept))
	s.metrics.ReadWindows.WithLabelValues("fresh").Add(float64(report.Fresh))
	s.metrics.Damaged.Add(float64(report.Damaged))
	if err := r.joinTimes(); err != nil {
		return nil, report, fmt.Errorf("store: read: %w", err)
	}
	var parts [][]window.Series
	for _, w := range windowsIn(from, to) {
		if p := r.parts[w]; p != nil {
			parts = append(parts, p)
		}
	}
	return window.Join(parts...), report, nil
}

// reader is one Read.
type reader struct {
	*Store
	ctx      context.Context
	account  string
	node     uuid.UUID
	from, to int64
	matchers []*labels.Matcher
	question string                // the matchers', if closed windows are kept
	began    int64                 // ms
	known    map[int64]*keptWindow // windows that need not be read

	marksKnown chan struct{}   // closed when marks are there
	marks      map[int64]int64 // windows with late frames, and when they were marked, ms

	mu     sync.Mutex
	closed map[int64]bool            // windows that have a meta row
	held   map[int64]Kept            // closed ones with late frames, until those have been looked at
	parts  map[int64][]window.Series // by window
	times  map[int64][]int64         // by window: those of its frames, also outside of the range
	report *ReadReport
	failed error // why something that matches is not in parts: the context has ended, or its lease gives no more
}

// columns answers the windows that are closed: from what is kept of them, if they have no late
// frames, else from raw.
func (r *reader) columns(ctx context.Context) error {
	windows := windowsIn(r.from, r.to)
	first, last := windows[0], windows[len(windows)-1]
	marks := func(ctx context.Context) (err error) {
		defer close(r.marksKnown)
		r.marks, err = r.lateMarks(ctx, r.account, r.node, first, last)
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	if r.known = r.keptOf(windows); len(r.known) == 0 {
		g.Go(func() error { return marks(gctx) })
	} else {
		if err := marks(ctx); err != nil {
			return fmt.Errorf("store: read raw: %w", err)
		}
		for w, k := range r.known {
			if r.mayLack(w, k.stamp) {
				delete(r.known, w)
				continue
			}
			if err := r.takeKnown(w, k); err != nil {
				return fmt.Errorf("store: read: %w", err)
			}
		}
	}
	missing := slices.DeleteFunc(windows, func(w int64) bool { return r.known[w] != nil })
	if len(missing) > 0 {
		spans, err := r.spans(ctx, missing[0], missing[len(missing)-1])
		if err != nil {
			_ = g.Wait()
			return err
		}
		for _, span := range spans {
			g.Go(func() error {
				return span.Read(gctx, Query{Account: r.account, Node: r.node, From: span.from, To: span.to, Matchers: r.matchers}, r.kept)
			})
		}
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("store: read raw: %w", err)
	}
	return nil
}

// mayLack reports whether a window's columns may lack frames that are in fresh.
func (r *reader) mayLack(start, stamp int64) bool {
	marked, late := r.marks[start]
	return late && !r.config.settled(marked, stamp)
}

// matching returns what matches of a window, or too little and says why in failed; and notes the
// window's instants.
func (r *reader) matching(w *window.Window) []window.Series {
	list, err := w.SelectContext(r.ctx, r.from, r.to, r.matchers...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[w.Start] = w.Times
	r.failed = cmp.Or(r.failed, err)
	return list
}

// joinTimes fills in the report's instants. They take 8 bytes each of the context's lease.
func (r *reader) joinTimes() error {
	n := 0
	for _, times := range r.times {
		n += len(times)
	}
	if err := memory.Of(r.ctx).Take(8 * int64(n)); err != nil {
		return err
	}
	instants := make([]int64, 0, n)
	for _, w := range slices.Sorted(maps.Keys(r.times)) { // a window's instants are in order, and its own
		for _, at := range r.times[w] {
			if at >= r.from && at <= r.to {
				instants = append(instants, at)
			}
		}
	}
	r.report.Instants = instants
	return nil
}

func (r *reader) take(start int64, part []window.Series, fresh bool, lost int, damage []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fresh {
		r.report.Fresh++
	} else {
		r.report.Raw++
	}
	r.report.Lost += lost
	r.report.damage(damage...)
	r.parts[start] = part
}

// wanted returns which metrics are asked for; nil: all are.
func (r *reader) wanted() *frame.Wanted {
	var names []*labels.Matcher
	for _, m := range r.matchers {
		if m.Name == labels.MetricName && m.Type == labels.MatchEqual && m.Value == "" {
			return frame.WantNothing() // but the instants
		}
		if m.Name == labels.MetricName {
			names = append(names, m)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return frame.NewWanted(func(metric string) bool {
		return !slices.ContainsFunc(names, func(m *labels.Matcher) bool { return !m.Matches(metric) })
	}, nil)
}

// kept takes a closed window.
func (r *reader) kept(k Kept) {
	if k.Window == nil { // its meta cannot be decoded; it may still be in fresh
		r.mu.Lock()
		defer r.mu.Unlock()
		r.report.damage(k.Damage...)
		return
	}
	<-r.marksKnown
	if r.known[k.Start] != nil { // it lies between windows that were not known
		return
	}
	late := r.mayLack(k.Start, k.Stamp)
	r.mu.Lock()
	r.closed[k.Start] = true
	if late {
		r.held[k.Start] = k
	}
	r.mu.Unlock()
	switch {
	case late:
	case r.keptWindows == nil || len(k.Damage) > 0:
		r.takeKept(&k)
	default:
		part, err := r.keep(r.ctx, &k)
		r.take(k.Start, part, false, k.Meta.Report.Lost(), nil)
		r.mu.Lock()
		r.times[k.Start] = k.Window.Times
		r.failed = cmp.Or(r.failed, err)
		r.mu.Unlock()
	}
}

func (r *reader) takeKept(k *Kept) {
	r.take(k.Start, r.matching(k.Window), false, k.Meta.Report.Lost(), k.Damage)
}

// fresh answers a window from its frames, and from its columns if it is closed.
func (r *reader) fresh(ctx context.Context, start int64) error {
	frames, err := r.freshFrames(ctx, r.account, r.node, start)
	if err != nil {
		return err
	}
	k, closed := r.held[start] // nobody writes it any more
	if len(frames) == 0 {
		if closed {
			r.takeKept(&k)
		}
		return nil
	}
	want := r.wanted()
	if closed { // what it has beside its columns is told by all that there is
		want = nil
	}
	w, rep, err := window.BuildWanted(memory.Of(ctx), window.Node{Account: r.account, ID: r.node}, frames, want)
	switch {
	case errors.Is(err, frame.ErrMemory):
		return err
	case err != nil && closed:
		k.Damage = append(k.Damage, err)
		r.takeKept(&k)
	case err != nil:
		r.take(start, nil, true, rep.Corrupt, []error{err})
	case !closed:
		r.take(start, r.matching(w), true, rep.Lost(), nil)
	default:
		w, from := k.with(w)
		switch from {
		case fromColumns:
			r.takeKept(&k)
		case fromFrames:
			r.take(start, r.matching(w), true, rep.Lost(), nil)
		default:
			r.take(start, r.matching(w), true, rep.Lost(), k.Damage)
		}
	}
	return nil
}

// Which of a closed window's layers an answer is made of.
type layers int

const (
	fromColumns layers = iota // the frames say nothing more
	fromFrames                // the columns say nothing more
	fromBoth
)

// with returns what a closed window and a window made of its frames in fresh say together.
func (k *Kept) with(w *window.Window) (*window.Window, layers) {
	switch {
	case within(w.Times, k.Meta.Times):
		return k.Window, fromColumns
	case within(k.Meta.Times, w.Times):
		return w, fromFrames
	}
	return window.Merge(w, k.Window), fromBoth
}

// finder finds the dictionaries of a node's day, each always as the same pointer. It is for one goroutine. What it is told by Cassandra, other than that there is
// no such dictionary, stays in err.
type finder struct {
	find  window.Dictionaries
	found map[window.Hash]*window.Dictionary
	err   error
}

func (s *Store) finder(ctx context.Context, account string, node uuid.UUID, day int64) *finder {
	f := &finder{found: map[window.Hash]*window.Dictionary{}}
	f.find = func(key string, hash window.Hash) (*window.Dictionary, error) {
		if d := f.found[hash]; d != nil {
			return d, nil
		}
		d, err := s.dictionary(ctx, account, node, day, key, hash, f)
		if err == nil {
			f.found[hash] = d
		}
		return d, err
	}
	return f
}

// dictionary returns a dictionary from the cache or from Cassandra.
func (s *Store) dictionary(ctx context.Context, account string, node uuid.UUID, day int64, key string, hash window.Hash, f *finder) (*window.Dictionary, error) {
	k := dictionaryKey{account, node, hash}
	if d, found := s.dictionaries.get(k); found {
		return d, nil
	}
	var b []byte
	err := s.each(ctx, func(scan func(...any) bool) bool { return scan(&b) },
		"SELECT blob FROM "+s.table(seriesTable)+" WHERE account = ? AND node = ? AND day = ? AND entity_type = ? AND hash = ?",
		account, gocql.UUID(node), day, key, hash[:])
	if err != nil {
		f.err = errors.Join(f.err, err)
		return nil, err
	}
	if b == nil {
		return nil, fmt.Errorf("%w: %s of type %s", window.ErrDictionary, hash, key)
	}
	if window.HashOf(b) != hash {
		return nil, fmt.Errorf("%w: dictionary %s has other content", window.ErrMalformed, hash)
	}
	d, err := window.DecodeDictionary(b)
	if err == nil {
		s.dictionaries.put(k, d, 10+len(d.Metrics)+len(d.Rows)*(1+len(d.Labels)))
	}
	return d, err
}

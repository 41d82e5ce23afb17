package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
)

// ReadReport says what an answer was made of.
type ReadReport struct {
	Raw, Fresh int // windows answered from each layer
	Kept       int // closed windows, or periods of rollups, that this process has read before
	// blobs that could not be decoded or were not there; at most maxDamage are kept
	Damage  []error
	Damaged int // their number
	// Instants are when the node sent the frames that the windows were made of, from from to to, in
	// ms, ascending, each once, whatever matched: a series without a value at one of them was not
	// there.
	Instants []int64
	From     int64 // what windows have before it has expired, ms
	// frames of these windows that could not be read: damaged, or without their key frame. In a
	// fresh window that may yet come
	Lost int
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

// Read returns the series of a node that match, with their values at instants from ≤ at ≤ to
// (milliseconds since the Unix epoch), sorted by labels, each instant once. See Windows.
func (r Reader) Read(ctx context.Context, account string, node uuid.UUID, from, to int64,
	matchers ...*labels.Matcher) ([]window.Series, ReadReport, error) {
	windows, report, err := r.Windows(ctx, account, node, from, to, nil, matchers...)
	if err != nil {
		return nil, report, err
	}
	from = report.From
	parts := make([][]window.Series, len(windows))
	for i, w := range windows {
		if parts[i], err = w.SelectContext(ctx, r.task.lease, from, to, matchers...); err != nil {
			return nil, report, fmt.Errorf("store: read: %w", err)
		}
	}
	return window.Join(parts...), report, nil
}

// Windows returns what is stored of a node, with at least the metrics that match, as windows that
// have instants from ≤ at ≤ to (milliseconds since the Unix epoch) and others, by ascending first
// instant, and in the report all instants in the range, matched or not. Where two know an instant
// the first one counts. Windows that are closed come from raw, others from fresh if they lie
// within its TTL, and those with late frames from both. facets are what is needed of histograms;
// none: all. What cannot be decoded is left out and reported; the error is Cassandra's.
func (r Reader) Windows(ctx context.Context, account string, node uuid.UUID, from, to int64,
	facets []window.Facet, matchers ...*labels.Matcher) ([]*window.Window, ReadReport, error) {
	s := r.task
	var report ReadReport
	now := s.millis()
	from = max(from, now-s.config.RawTTL.Milliseconds())
	report.From = from
	to = min(to, now+frame.WindowMillis)
	if from > to {
		return nil, report, nil
	}
	of := windowsReader{task: s, ctx: ctx, account: account, node: node, from: from, to: to,
		facets: facets, matchers: matchers, stamps: map[int64]int64{},
		marksKnown: make(chan struct{}),
		held:       map[int64]StoredSpan{}, counted: map[int64]bool{}, report: &report}
	if err := of.columns(ctx); err != nil {
		return nil, report, err
	}
	of.silent = s.keptOf("", &Query{Account: account, Node: node, Keep: true})
	horizon := frame.WindowOf(now - s.config.FreshTTL.Milliseconds() - frame.WindowMillis)
	var freshWindows []int64
	for _, w := range windowsIn(from, to) {
		stamp, closed := of.stamps[w]
		_, marked := of.marks[w]
		if !closed && !marked && of.silent.get(w, windowMillis) != nil {
			continue // nothing was said in it
		}
		if closed && of.mayLack(w, stamp) || !closed && (marked || w >= horizon) {
			freshWindows = append(freshWindows, w)
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readsInFlight)
	for _, w := range freshWindows {
		g.Go(func() error { return of.fresh(gctx, w) })
	}
	if err := g.Wait(); err != nil {
		return nil, report, fmt.Errorf("store: read fresh: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, report, fmt.Errorf("store: read: %w", err) // not all were matched
	}
	s.metrics.ReadWindows.WithLabelValues("raw").Add(float64(report.Raw))
	s.metrics.ReadWindows.WithLabelValues("kept").Add(float64(report.Kept))
	s.metrics.ReadWindows.WithLabelValues("fresh").Add(float64(report.Fresh))
	s.metrics.Damaged.Add(float64(report.Damaged))
	slices.SortStableFunc(of.parts, func(a, b *window.Window) int {
		return cmp.Compare(a.Times[0], b.Times[0])
	})
	if err := of.joinTimes(); err != nil {
		return nil, report, fmt.Errorf("store: read: %w", err)
	}
	return of.parts, report, nil
}

// reader is one reading.
type windowsReader struct {
	task
	ctx      context.Context
	account  string
	node     uuid.UUID
	from, to int64
	facets   []window.Facet // of histograms; nil: all
	matchers []*labels.Matcher

	silent *keptSpans // windows in which nothing was said; nil: that is not kept

	marksKnown chan struct{}   // closed when marks are there
	marks      map[int64]int64 // windows with late frames, and when they were marked, ms
	marksErr   error

	mu sync.Mutex
	// of closed windows: when the frames were read that they are made of, µs
	stamps  map[int64]int64
	counted map[int64]bool       // windows that are in the report's numbers
	held    map[int64]StoredSpan // windows with late frames, until those have been looked at
	parts   []*window.Window
	report  *ReadReport
}

// columns answers the windows that are closed.
func (r *windowsReader) columns(ctx context.Context) error {
	windows := windowsIn(r.from, r.to)
	first, last := windows[0], windows[len(windows)-1]
	var marking sync.WaitGroup
	defer marking.Wait()
	marking.Go(func() {
		defer close(r.marksKnown)
		r.marks, r.marksErr = r.Store.late.marks(ctx, r.work, r.account, r.node, first, last)
	})
	spans, err := r.spans(ctx, first, last)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, span := range spans {
		g.Go(func() error {
			return span.Read(gctx, Query{Account: r.account, Node: r.node, From: span.from,
				To: span.to, Matchers: r.matchers, Facets: r.facets, HeadsOnly: r.onlyInstants(),
				Keep: true, Late: r.late}, r.stored)
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("store: read raw: %w", err)
	}
	<-r.marksKnown
	if r.marksErr != nil {
		return fmt.Errorf("store: read raw: %w", r.marksErr)
	}
	return nil
}

// late returns the windows that have late frames, once they are known.
func (r *windowsReader) late() (map[int64]int64, error) {
	<-r.marksKnown
	return r.marks, r.marksErr
}

// mayLack reports whether what a window is made of may lack frames that are in fresh.
func (r *windowsReader) mayLack(start, stamp int64) bool {
	marked, late := r.marks[start]
	return late && !r.config.covers(marked, stamp)
}

// lacks reports whether a span may lack frames of any window of it.
func (r *windowsReader) lacks(k *StoredSpan) bool {
	for w := range r.marks {
		if w >= k.Start && w < k.Start+k.Length && r.mayLack(w, k.stampOf(w)) {
			return true
		}
	}
	return false
}

// joinTimes fills in the report's instants. They take 8 bytes each of the lease.
func (r *windowsReader) joinTimes() error {
	n := 0
	for _, w := range r.parts {
		n += len(w.Times)
	}
	if err := r.lease.Take(8 * int64(n)); err != nil {
		return err
	}
	instants := make([]int64, 0, n)
	for _, w := range r.parts {
		i, _ := slices.BinarySearch(w.Times, r.from)
		j, _ := slices.BinarySearch(w.Times, r.to+1)
		instants = append(instants, w.Times[i:j]...)
	}
	slices.Sort(instants)
	r.report.Instants = slices.Compact(instants)
	return nil
}

// take takes a span. number is how many windows it answers for.
func (r *windowsReader) add(w *window.Window, windows *int, number, lost int, damage []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*windows += number
	r.report.Lost += lost
	r.report.damage(damage...)
	if len(w.Times) > 0 {
		r.parts = append(r.parts, w)
	}
}

// onlyInstants reports whether no metric can match, for each has a name.
func (r *windowsReader) onlyInstants() bool {
	return slices.ContainsFunc(r.matchers, func(m *labels.Matcher) bool {
		return m.Name == labels.MetricName && m.Type == labels.MatchEqual && m.Value == ""
	})
}

// wanted returns which metrics are asked for; nil: all are.
func (r *windowsReader) wanted() *frame.Wanted {
	if r.onlyInstants() {
		return frame.WantNothing()
	}
	var names []*labels.Matcher
	for _, m := range r.matchers {
		if m.Name == labels.MetricName {
			names = append(names, m)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return frame.NewWanted(func(metric string) bool {
		return !slices.ContainsFunc(names, func(m *labels.Matcher) bool {
			return !m.Matches(metric)
		})
	}, nil)
}

// wantedNames says which metrics wanted wants.
func (r *windowsReader) wantedNames() string {
	var text []byte
	for _, m := range r.matchers {
		if m.Name == labels.MetricName {
			text = window.AppendMatcher(text, m)
		}
	}
	return string(text)
}

// stored takes a span that is stored.
func (r *windowsReader) stored(k StoredSpan) {
	if k.Head == nil { // it cannot be decoded; it may still be in fresh
		r.mu.Lock()
		defer r.mu.Unlock()
		r.report.damage(k.Damage...)
		return
	}
	if k.Window == nil { // only its instants are asked for
		k.Window = headWindow(&Query{Account: r.account, Node: r.node}, k.Start, k.Length, k.Head)
	}
	<-r.marksKnown
	held := r.lacks(&k) && k.Length == windowMillis
	r.markClosed(&k)
	if !held {
		r.addStored(&k)
		return
	}
	r.mu.Lock() // what its frames say may be more
	defer r.mu.Unlock()
	r.held[k.Start] = k
}

// close notes which windows a span answers for.
func (r *windowsReader) markClosed(k *StoredSpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.windows(func(w int64) { r.stamps[w] = max(r.stamps[w], k.stampOf(w)) })
}

// number returns for how many windows of the range a span answers that no other has answered for.
func (r *windowsReader) number(k *StoredSpan) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.windows(func(w int64) {
		if w+windowMillis > r.from && w <= r.to && !r.counted[w] {
			r.counted[w] = true
			n++
		}
	})
	return n
}

// lost returns how many frames of a span could not be read.
func (r *windowsReader) lost(k *StoredSpan) int { return k.Head.Report.Lost() }

func (r *windowsReader) addStored(k *StoredSpan) {
	windows := &r.report.Raw
	if k.Kept {
		windows = &r.report.Kept
	}
	r.add(k.Window, windows, r.number(k), r.lost(k), k.Damage)
}

// fresh answers a window from its frames, beside what is stored of it.
func (r *windowsReader) fresh(ctx context.Context, start int64) error {
	frames, err := r.Store.fresh.frames(ctx, r.work, r.lease, r.account, r.node, start)
	if err != nil {
		return err
	}
	k, held := r.held[start] // nobody writes it any more
	if len(frames) == 0 {
		if held {
			r.addStored(&k)
		} else {
			r.silent.noWindow(start)
		}
		return nil
	}
	w, rep, err := r.Build(memory.Until(ctx, r.lease), window.Node{Account: r.account, ID: r.node},
		start, frames, r.wanted(), r.wantedNames())
	switch {
	case errors.Is(err, frame.ErrMemory): // also if the context has ended
		return err
	case err != nil && held:
		k.Damage = append(k.Damage, err)
		r.addStored(&k)
		return nil
	case err != nil:
		r.add(&window.Window{}, &r.report.Fresh, 1, rep.Corrupt, []error{err})
		return nil
	}
	switch {
	case held && within(w.Times, k.Head.Times): // its frames say nothing more
		r.addStored(&k)
		return nil
	case held && !within(k.Head.Times, w.Times):
		r.add(k.Window, &r.report.Raw, 0, 0, k.Damage)
	case !held && r.answered(w.Times):
		return nil
	}
	r.add(w, &r.report.Fresh, 1, rep.Lost(), nil)
	return nil
}

// answered reports whether spans that were taken have all of some instants.
func (r *windowsReader) answered(times []int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.parts, func(w *window.Window) bool {
		return within(times, w.Times)
	})
}

// finder finds the dictionaries of a node's day, each always as the same pointer. It is for one
// goroutine. What it is told by Cassandra, other than that there is no such dictionary, stays in
// err.
type finder struct {
	find  window.Dictionaries
	found map[window.Hash]*window.Dictionary
	err   error
}

func (s task) finder(ctx context.Context, account string, node uuid.UUID, day int64) *finder {
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
func (s task) dictionary(ctx context.Context, account string, node uuid.UUID, day int64, key string,
	hash window.Hash, f *finder) (*window.Dictionary, error) {
	k := dictionaryKey{account, node, hash}
	if d, found := s.dictionaries.get(k); found {
		return d, nil
	}
	var b []byte
	query := rows.Query{Table: s.byName[seriesTable], Key: []any{account, node},
		Equal: []any{day, key, hash[:]}, Columns: []string{"blob"}}
	err := s.session.Read(ctx, s.work, query, func(scan func(...any) bool) bool { return scan(&b) })
	if err != nil {
		f.err = errors.Join(f.err, err)
		return nil, err
	}
	d, err := decodeDictionary(key, hash, b)
	if err == nil {
		s.dictionaries.put(k, d, dictionaryWeight(d))
	}
	return d, err
}

// dictionaryWeight is what a decoded dictionary weighs among dictionaryValues.
func dictionaryWeight(d *window.Dictionary) int {
	return 10 + len(d.Metrics) + len(d.Rows)*(1+len(d.Labels))
}

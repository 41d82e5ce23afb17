package reading

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// Read returns the series of a node that match, with their values at instants from ≤ at ≤ to
// (milliseconds since the Unix epoch), sorted by labels, each instant once. See Windows.
func (r Reader) Read(ctx context.Context, account string, node uuid.UUID, from, to int64,
	matchers ...*labels.Matcher) ([]window.Series, Report, error) {
	windows, report, err := r.Windows(ctx, account, node, from, to, nil, matchers...)
	if err != nil {
		return nil, report, err
	}
	from = report.From
	parts := make([][]window.Series, len(windows))
	for i, w := range windows {
		parts[i], err = selecting.SelectWithin(ctx, w, r.task.Lease, from, to, matchers...)
		if err != nil {
			return nil, report, fmt.Errorf("store: read: %w", err)
		}
	}
	return selecting.Join(parts...), report, nil
}

// Windows returns what is stored of a node from ≤ at ≤ to (milliseconds since the Unix epoch), with
// at least the metrics that match, as windows by ascending first instant. They may also have
// instants outside the range. Where two know an instant the first one counts. The report has all
// instants in the range, matched or not.
//
// Closed windows come from raw, others from fresh if they lie within its TTL, and those with late
// frames from both. facets are what is needed of histograms; none: all. What cannot be decoded is
// left out and reported; the error is Cassandra's.
func (r Reader) Windows(ctx context.Context, account string, node uuid.UUID, from, to int64,
	facets []blobs.Facet, matchers ...*labels.Matcher) ([]*window.Window, Report, error) {
	s := r.source
	var report Report
	now := s.Clock.Millis()
	from = max(from, now-s.Limits.RawTTL.Milliseconds())
	report.From = from
	to = min(to, now+frame.WindowMillis)
	if from > to {
		return nil, report, nil
	}
	of := windowsReader{source: s, task: r.task, ctx: ctx, account: account, node: node, from: from,
		to:     to,
		facets: facets, matchers: matchers, stamps: map[int64]int64{},
		marksKnown: make(chan struct{}),
		held:       map[int64]spans.Span{}, counted: map[int64]bool{}, report: &report}
	if err := of.columns(ctx); err != nil {
		return nil, report, err
	}
	of.silent = s.Cache.Of("", &spans.Query{Account: account, Node: node, Keep: true})
	horizon := frame.WindowOf(now - s.Limits.FreshTTL.Milliseconds() - frame.WindowMillis)
	var freshWindows []int64
	for _, w := range calendar.Windows(from, to) {
		stamp, closed := of.stamps[w]
		_, marked := of.marks[w]
		if !closed && !marked && of.silent.Get(w, calendar.WindowMillis) != nil {
			continue // nothing was said in it
		}
		if closed && of.mayLack(w, stamp) || !closed && (marked || w >= horizon) {
			freshWindows = append(freshWindows, w)
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(spans.ReadsInFlight)
	for _, w := range freshWindows {
		g.Go(func() error { return of.fresh(gctx, w) })
	}
	if err := g.Wait(); err != nil {
		return nil, report, fmt.Errorf("store: read fresh: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, report, fmt.Errorf("store: read: %w", err) // not all were matched
	}
	s.Metrics.Windows.WithLabelValues("raw").Add(float64(report.Raw))
	s.Metrics.Windows.WithLabelValues("kept").Add(float64(report.Kept))
	s.Metrics.Windows.WithLabelValues("fresh").Add(float64(report.Fresh))
	s.Metrics.Damaged.Add(float64(report.Damaged))
	slices.SortStableFunc(of.parts, func(a, b *window.Window) int {
		return cmp.Compare(a.Times[0], b.Times[0])
	})
	if err := of.joinTimes(); err != nil {
		return nil, report, fmt.Errorf("store: read: %w", err)
	}
	return of.parts, report, nil
}

// windowsReader is one call of Windows.
type windowsReader struct {
	source   *Source
	task     spans.Task
	ctx      context.Context
	account  string
	node     uuid.UUID
	from, to int64
	facets   []blobs.Facet // of histograms; nil: all
	matchers []*labels.Matcher

	silent *spans.Cached // windows in which nothing was said; nil: that is not kept

	marksKnown chan struct{}   // closed when marks are there
	marks      map[int64]int64 // windows with late frames, and when they were marked, ms
	marksErr   error

	mu sync.Mutex
	// of closed windows: when the frames were read that they are made of, µs
	stamps  map[int64]int64
	counted map[int64]bool       // windows that are in the report's numbers
	held    map[int64]spans.Span // windows with late frames, until those have been looked at
	parts   []*window.Window
	report  *Report
}

// columns answers the windows that are closed.
func (r *windowsReader) columns(ctx context.Context) error {
	windows := calendar.Windows(r.from, r.to)
	first, last := windows[0], windows[len(windows)-1]
	var marking sync.WaitGroup
	defer marking.Wait()
	marking.Go(func() {
		defer close(r.marksKnown)
		r.marks, r.marksErr = r.source.Late.Marks(ctx, r.task.Work, r.account, r.node, first, last)
	})
	list, err := r.source.Generations.Routes(ctx, r.task, first, last)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, span := range list {
		g.Go(func() error {
			return span.Generation.Read(gctx, spans.Query{Account: r.account, Node: r.node,
				From: span.From, To: span.To, Matchers: r.matchers, Facets: r.facets,
				HeadsOnly: r.onlyInstants(), Keep: true, Late: r.late}, r.stored)
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
	return late && !r.source.Limits.Covers(marked, stamp)
}

// lacks reports whether a span may lack frames of any window of it.
func (r *windowsReader) lacks(k *spans.Span) bool {
	for w := range r.marks {
		if w >= k.Start && w < k.Start+k.Length && r.mayLack(w, k.StampOf(w)) {
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
	if err := r.task.Lease.Take(8 * int64(n)); err != nil {
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

// add adds a span to the answer. It is number windows more in the count that windows points to.
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

// stored takes a span that is stored. It answers at once, but for a window with late frames: that
// is held until fresh has looked at its frames.
func (r *windowsReader) stored(k spans.Span) {
	if k.Head == nil { // it cannot be decoded; it may still be in fresh
		r.mu.Lock()
		defer r.mu.Unlock()
		r.report.damage(k.Damage...)
		return
	}
	if k.Window == nil { // only its instants are asked for
		k.Window = spans.HeadWindow(&spans.Query{Account: r.account, Node: r.node}, k.Start,
			k.Length, k.Head)
	}
	<-r.marksKnown
	held := r.lacks(&k) && k.Length == calendar.WindowMillis
	r.markClosed(&k)
	if !held {
		r.addStored(&k)
		return
	}
	r.mu.Lock() // what its frames say may be more
	defer r.mu.Unlock()
	r.held[k.Start] = k
}

// markClosed records which windows a span answers for.
func (r *windowsReader) markClosed(k *spans.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range k.Windows() {
		r.stamps[w] = max(r.stamps[w], k.StampOf(w))
	}
}

// number returns how many windows of the range a span answers for, without those that an earlier
// span has answered for.
func (r *windowsReader) number(k *spans.Span) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range k.Windows() {
		if w+calendar.WindowMillis > r.from && w <= r.to && !r.counted[w] {
			r.counted[w] = true
			n++
		}
	}
	return n
}

// lost returns how many frames of a span could not be read.
func (r *windowsReader) lost(k *spans.Span) int { return k.Head.Report.Lost() }

func (r *windowsReader) addStored(k *spans.Span) {
	windows := &r.report.Raw
	if k.Kept {
		windows = &r.report.Kept
	}
	r.add(k.Window, windows, r.number(k), r.lost(k), k.Damage)
}

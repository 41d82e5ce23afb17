package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/uniting"
)

// finalMillis is how long after its end a period may still change without a mark: frames are
// expected up to 15 minutes late, and a window is closed again a grace later.
const finalMillis = 20 * 60_000

// pendingMillis is how long a coarser rollup that is not there may still be made: until then its
// finer ones are read.
const pendingMillis = 2 * calendar.DayMillis

// ReadRollup returns the rollups of a node's series that match, for periods that hold instants from
// ≤ at ≤ to (milliseconds since the Unix epoch), sorted by labels. Periods that are not over, or so
// lately that late frames may come, or that have some, are computed from the finer level, five
// minutes that are not closed from their frames: so the answer has what Read's has. facets are as
// rollup.SelectContext has them. What cannot be decoded is left out and reported; the error is
// Cassandra's.
func (r Reader) ReadRollup(
	ctx context.Context, account string, node uuid.UUID, level rollup.Level, from, to int64,
	facets []blobs.Facet, matchers ...*labels.Matcher,
) ([]rollup.Series, ReadReport, error) {
	s := r.task
	var report ReadReport
	now := s.clock.Millis()
	ttl := s.config.rollupTable(level).ttl.Milliseconds()
	from = level.Start(max(from, now-ttl))
	to = min(to, now+frame.WindowMillis)
	if from > to {
		return nil, report, nil
	}
	of := rollupReader{task: s, account: account, node: node, now: now, matchers: matchers,
		report: &report}
	var err error
	t := s.config.rollupTable(level)
	// The period before, too: increases are from the last sample in it.
	first, last := from-level.Millis, level.Start(to)
	if of.late, err = s.late.Marks(ctx, s.work, account, node, t.runOf(first),
		t.runOf(last)+t.run); err != nil {
		return nil, report, err
	}
	columns, next, err := of.finalColumns(ctx, level, first, last, facets)
	if err == nil && next <= last {
		var found map[int64]*rollup.Rollup
		if found, err = of.level(ctx, level, next, last); err == nil {
			columns, err = columns.Extend(ctx, s.lease, slices.Collect(maps.Values(found)),
				matchers...)
		}
	}
	if err != nil {
		return nil, report, fmt.Errorf("store: read rollups: %w", err)
	}
	s.metrics.Damaged.Add(float64(report.Damaged))
	selected, err := columns.Select(ctx, s.lease, first, from, to, matchers...)
	if err != nil {
		return nil, report, fmt.Errorf("store: read rollups: %w", err)
	}
	return selected, report, nil
}

// rollupReader is one ReadRollup.
type rollupReader struct {
	task
	account  string
	node     uuid.UUID
	now      int64
	matchers []*labels.Matcher
	late     map[int64]int64 // windows with late frames, and when they were marked, ms
	report   *ReadReport
}

// level returns the rollups of the periods that begin at from ≤ start ≤ to.
func (r *rollupReader) level(ctx context.Context, level rollup.Level,
	from, to int64) (map[int64]*rollup.Rollup, error) {
	found, known, damage, err := r.runs(ctx, level, &spans.Query{Account: r.account, Node: r.node,
		From: from, To: to, Matchers: r.matchers, Keep: true}, r.late)
	if err != nil {
		return nil, err
	}
	r.report.damage(damage...)
	r.report.Raw += len(found) - known
	r.report.Kept += known
	finer, coarse := level.Finer()
	if !coarse {
		return found, r.open(ctx, found, from, to)
	}
	// One reading of the finer level for neighbours that need it: mostly the newest periods.
	type run struct{ first, last int64 }
	var runs []run
	for start := from; start <= to; start += level.Millis {
		if !r.pending(level, start, found) {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].last == start-level.Millis {
			runs[n-1].last = start
		} else {
			runs = append(runs, run{start, start})
		}
	}
	for _, n := range runs {
		parts, err := r.level(ctx, finer, n.first, n.last+level.Millis-finer.Millis)
		if err != nil {
			return nil, err
		}
		for start := n.first; start <= n.last; start += level.Millis {
			var of []*rollup.Rollup
			for at := start; at < start+level.Millis; at += finer.Millis {
				if p := parts[at]; p != nil {
					of = append(of, p)
				}
			}
			if len(of) > 0 {
				found[start] = rollup.Merge(level, start, of)
			}
		}
	}
	return found, nil
}

// pending reports whether a period's stored rollup may not be what its finer ones give.
func (r *rollupReader) pending(level rollup.Level, start int64,
	found map[int64]*rollup.Rollup) bool {
	if start+level.Millis > r.now-finalMillis ||
		found[start] == nil && start >= level.Start(r.now-pendingMillis) {
		return true
	}
	return spans.IsLate(r.late, start, level.Millis)
}

// open adds windows whose hour is not made, from what is stored of them and from their frames, and
// replaces what is stored of those with late frames.
func (r *rollupReader) open(ctx context.Context, found map[int64]*rollup.Rollup,
	from, to int64) error {
	to = min(to, r.now+calendar.AheadMillis)
	var missing []int64
	for start := max(from, r.soonest()); start <= to; start += frame.WindowMillis {
		if _, late := r.late[start]; found[start] == nil && !late {
			missing = append(missing, start)
		}
	}
	for start := range r.late {
		if start >= from && start <= to {
			missing = append(missing, start)
		}
	}
	slices.Sort(missing)
	windows, err := r.closed(ctx, missing)
	if err != nil {
		return err
	}
	horizon := frame.WindowOf(r.now - r.config.FreshTTL.Milliseconds() - frame.WindowMillis)
	var unclosed []int64
	for _, start := range missing {
		if _, late := r.late[start]; late || windows[start] == nil && start >= horizon {
			unclosed = append(unclosed, start)
		}
	}
	fresh, err := r.unclosed(ctx, unclosed)
	if err != nil {
		return err
	}
	for _, start := range missing {
		w := windows[start]
		if f := fresh[start]; f != nil && w != nil {
			w = uniting.Windows(start, frame.WindowMillis, []*window.Window{f, w})
		} else if f != nil {
			w = f
		}
		if w == nil || len(w.Times) == 0 {
			continue
		}
		// What is stored may be made of more, where its samples have expired or cannot be read.
		if stored := found[start]; stored != nil && len(w.Times) < stored.Instants {
			continue
		}
		if found[start], err = rollup.FromWindowWithin(r.lease, w); err != nil {
			return err
		}
	}
	return nil
}

// soonest returns the first window, in ms, of which rows may be stored.
func (r *rollupReader) soonest() int64 {
	return frame.WindowOf(r.now - calendar.WindowTTL.Milliseconds() - frame.WindowMillis)
}

// closed returns what is stored of those of some windows that are closed.
func (r *rollupReader) closed(ctx context.Context,
	starts []int64) (map[int64]*window.Window, error) {
	found := map[int64]*window.Window{}
	m := spans.NewMatches(ctx, r.matchers)
	for len(starts) > 0 { // neighbours at once
		n := 1
		for n < len(starts) && starts[n] == starts[n-1]+calendar.WindowMillis {
			n++
		}
		some := starts[:n]
		starts = starts[n:]
		routes, err := r.generations.Routes(ctx, r.spanTask(), some[0], some[n-1])
		if err != nil {
			return nil, err
		}
		var list []spans.Span
		for _, span := range routes {
			q := spans.Query{Account: r.account, Node: r.node, From: span.From, To: span.To,
				Matchers: r.matchers, Keep: true, Late: func() (map[int64]int64, error) {
					return r.late, nil
				}}
			if err := span.Generation.Read(ctx, q, spans.Collect(&list)); err != nil {
				return nil, err
			}
		}
		// windows win
		slices.SortFunc(list, func(a, b spans.Span) int { return cmp.Compare(a.Length, b.Length) })
		for i := range list {
			k := &list[i]
			r.report.damage(k.Damage...)
			if k.Window == nil {
				continue
			}
			// Others are kept, too.
			k.Window = k.Window.Restrict(matchingTypes(m, k.Window), r.named)
			for start := range k.Windows() {
				if start < some[0] || start > some[n-1] {
					continue
				}
				w := k.Window
				if k.Length != calendar.WindowMillis {
					w = uniting.Slice(w, start, calendar.WindowMillis)
				}
				if before := found[start]; before != nil {
					w = uniting.Windows(start, calendar.WindowMillis, []*window.Window{before, w})
				}
				found[start] = w
			}
		}
	}
	return found, ctx.Err() // or not all were matched
}

// matchingTypes returns the numbers of those types of a window of which anything can match.
func matchingTypes(m *spans.Matches, w *window.Window) []int {
	list := []int{} // not nil, which is all
	for i, t := range w.Types {
		if m.Any(t.Dictionary) {
			list = append(list, i)
		}
	}
	return list
}

// named reports whether a metric may match by its name.
func (r *rollupReader) named(d *window.Dictionary, metric int) bool {
	return !slices.ContainsFunc(r.matchers, func(m *labels.Matcher) bool {
		return m.Name == labels.MetricName && !m.Matches(d.Metrics[metric].Name)
	})
}

// unclosed returns what the frames of windows say.
func (r *rollupReader) unclosed(ctx context.Context,
	starts []int64) (map[int64]*window.Window, error) {
	starts, err := r.Store.fresh.Holding(ctx, r.work, r.account, r.node, starts)
	if err != nil {
		return nil, err
	}
	found := map[int64]*window.Window{}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(spans.ReadsInFlight)
	for _, start := range starts {
		g.Go(func() error {
			frames, err := r.Store.fresh.InWindow(gctx, r.work, r.lease, r.account, r.node, start)
			if err != nil || len(frames) == 0 {
				return err
			}
			w, rep, err := building.Known(memory.Until(gctx, r.lease),
				window.Node{Account: r.account, ID: r.node}, frames, r.sent.Of(r.account))
			if errors.Is(err, frame.ErrMemory) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			r.report.Fresh++
			r.report.Lost += rep.Lost()
			r.report.keyless(start, r.clock.Millis(), rep.MissingKey)
			if err != nil {
				r.report.damage(err)
				return nil
			}
			found[start] = w
			return nil
		})
	}
	return found, g.Wait()
}

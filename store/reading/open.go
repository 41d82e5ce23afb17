package reading

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/uniting"
)

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
	horizon := frame.WindowOf(r.now - r.source.Limits.FreshTTL.Milliseconds() - frame.WindowMillis)
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
		if found[start], err = rollup.FromWindowWithin(r.task.Lease, w); err != nil {
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
		routes, err := r.source.Generations.Routes(ctx, r.task, some[0], some[n-1])
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
	starts, err := r.source.Fresh.Holding(ctx, r.task.Work, r.account, r.node, starts)
	if err != nil {
		return nil, err
	}
	found := map[int64]*window.Window{}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(spans.ReadsInFlight)
	for _, start := range starts {
		g.Go(func() error {
			frames, err := r.source.Fresh.InWindow(gctx, r.task.Work, r.task.Lease, r.account,
				r.node, start)
			if err != nil || len(frames) == 0 {
				return err
			}
			w, rep, err := building.Known(memory.Until(gctx, r.task.Lease),
				window.Node{Account: r.account, ID: r.node}, frames, r.source.Sent.Of(r.account))
			if errors.Is(err, frame.ErrMemory) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			r.report.Fresh++
			r.report.Lost += rep.Lost()
			r.report.keyless(start, r.source.Clock.Millis(), rep.MissingKey)
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

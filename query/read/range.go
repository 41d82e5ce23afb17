package read

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// rangeRead is what is read of a node: from from to to, in ms, what any of the selectors selects
// (none: everything), of histograms these facets (none: all).
type rangeRead struct {
	from, to  int64
	facets    []blobs.Facet
	selectors [][]*labels.Matcher
}

// ranges reads ranges of nodes' values.
type ranges struct {
	source       *source
	dictionaries *dictionaries
}

// read returns a node's windows: the recent source's if it surely has them all, and before
// them the store's for what is older.
func (r *ranges) read(ctx context.Context, accountName string, n *window.Node,
	q rangeRead) (Windows, error) {
	recentFrom := r.source.recentFrom(ctx, accountName, n.Cluster, q.from)
	if r.source.sources.Recent != nil && q.to >= recentFrom {
		r.source.sources.Recent.Touch(accountName, n.Cluster)
		newer := q
		newer.from = recentFrom
		recent, ok, err := r.recentRange(ctx, accountName, n, newer)
		if err != nil {
			return Windows{}, err
		}
		if ok && recentFrom == q.from {
			r.source.metrics.reads.WithLabelValues("range", fromRecent).Inc()
			return recent, nil
		}
		if ok {
			older := q
			older.to = recentFrom - 1
			old, err := r.storeRange(ctx, accountName, n, older)
			if err != nil {
				return Windows{}, err
			}
			r.source.metrics.reads.WithLabelValues("range", fromBoth).Inc()
			all := Windows{From: old.From, Instants: joinInstants(old.Instants, recent.Instants),
				Missing: old.Missing}
			for _, w := range old.List {
				if w = w.Before(recentFrom); len(w.Times) > 0 {
					all.List = append(all.List, w)
				}
			}
			all.List = append(all.List, recent.List...)
			return all, nil
		}
	}
	all, err := r.storeRange(ctx, accountName, n, q)
	if err == nil {
		r.source.metrics.reads.WithLabelValues("range", fromStore).Inc()
	}
	return all, err
}

// recentRange returns what the recent source has, if that is surely everything. It asks for whole
// windows where it can: these are the same for the next question, a moment later.
func (r *ranges) recentRange(ctx context.Context, accountName string, n *window.Node,
	q rangeRead) (Windows, bool, error) {
	from, to := q.from, frame.WindowOf(q.to)+frame.WindowMillis-1
	oldest := r.source.config.Clock().UnixMilli() - r.source.config.RecentSpan.Milliseconds()
	if start := frame.WindowOf(from); start >= oldest {
		from = start
	}
	frames, complete, err := r.source.sources.Recent.Frames(ctx, accountName, n.ID, from, to)
	if err != nil {
		r.source.countFallback(err)
		return Windows{}, false, nil
	}
	if !complete {
		r.source.metrics.fallbacks.WithLabelValues(fallIncomplete).Inc()
		return Windows{}, false, nil
	}
	byWindow := map[int64][][]byte{}
	for _, b := range frames {
		h, _, err := frame.Parse(b)
		if err != nil {
			r.source.metrics.fallbacks.WithLabelValues(fallUnreadable).Inc()
			return Windows{}, false, nil
		}
		byWindow[h.Window()] = append(byWindow[h.Window()], b)
	}
	lease := memory.Of(ctx)
	if err := takeAll(lease, frames); err != nil {
		return Windows{}, false, err
	}
	want, wanted := r.dictionaries.wanted(accountName, q.selectors), namesOf(q.selectors)
	var all Windows
	for _, start := range slices.Sorted(maps.Keys(byWindow)) {
		var w *window.Window
		err := share.OnCPU(ctx, func() (err error) {
			w, err = readable(r.source.sources.Build(memory.Until(ctx, lease),
				window.Node{Account: accountName, ID: n.ID}, start, byWindow[start], want, wanted))
			return err
		})
		if memory.Refused(err) || err != nil && ctx.Err() != nil {
			return Windows{}, false, err
		}
		if err != nil {
			r.source.metrics.fallbacks.WithLabelValues(fallUnreadable).Inc()
			return Windows{}, false, nil
		}
		all.List = append(all.List, w)
		// key frames may be older
		all.Instants = append(all.Instants, instantsIn(w.Times, q.from, q.to)...)
	}
	return all, true, nil
}

// instantsIn returns the instants from from to to, of an ascending list.
func instantsIn(times []int64, from, to int64) []int64 {
	i, _ := slices.BinarySearch(times, from)
	j, _ := slices.BinarySearch(times, to+1)
	return times[i:max(i, j)]
}

// storeRange returns what the store has.
func (r *ranges) storeRange(ctx context.Context, accountName string, n *window.Node,
	q rangeRead) (all Windows, err error) {
	read := func(matchers []*labels.Matcher) {
		windows, failed := r.source.sources.Store.Windows(ctx, accountName, n.ID, q.from, q.to,
			q.facets,
			matchers...)
		if err = failed; err != nil {
			return
		}
		all.From = max(all.From, windows.From)
		all.Missing = AppendMissing(all.Missing, windows.Missing)
		all.Instants = joinInstants(all.Instants, windows.Instants)
		all.List = append(all.List, windows.List...)
	}
	if len(q.selectors) == 0 {
		read(nil)
	}
	for _, m := range q.selectors {
		if err == nil {
			read(m)
		}
	}
	if len(q.selectors) > 1 {
		slices.SortStableFunc(all.List, func(a, b *window.Window) int {
			return cmp.Compare(a.Times[0], b.Times[0])
		})
	}
	if err != nil && !memory.Refused(err) {
		r.source.metrics.failures.Inc()
	}
	all.Missing = AppendMissing(all.Missing, r.source.inFlight(ctx, accountName, n.Cluster, q.to))
	return all, err
}

// joinInstants returns the instants that are in either list, without changing one.
func joinInstants(a, b []int64) []int64 {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0, slices.Equal(a, b): // each selector's reading has the same
		return a
	case a[len(a)-1] < b[0]:
		return slices.Concat(a, b)
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

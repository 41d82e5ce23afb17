package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
)

// staleSlack is how much later than two intervals a newest frame may be before the store is asked
// for a newer one, in ms.
const staleSlack = 2_000

// edgeSlack is how much older than RecentSpan a range may begin and still be asked of the recent
// source whole, in ms: a request for just that span is read a moment after it came. The source says
// itself whether it has all.
const edgeSlack = 10_000

// countFallback counts why the recent source was asked in vain.
func (r *Reader) countFallback(err error) {
	reason := fallAway
	if r.sources.Miss != nil && errors.Is(err, r.sources.Miss) {
		reason = fallMiss
	}
	r.metrics.fallbacks.WithLabelValues(reason).Inc()
}

// State is a node's newest state; of nothing, if none is known.
type State struct {
	*window.Window          // of one instant, of which all could be read; nil: none is known
	Seen           int64    // when the node was heard of by it, in ms: not after its frame arrived
	Recent         bool     // the recent source held all of it
	Missing        []string // why there may be a newer one, in words
}

// readLatest asks the recent source for a node's newest state, and the store if that has none or an
// old one.
func (r *Reader) readLatest(
	ctx context.Context, accountName string, n *window.Node, want *frame.Wanted,
) (State, error) {
	var recent *window.Window
	var heard int64
	if r.sources.Recent != nil {
		r.sources.Recent.Touch(accountName, n.Cluster)
		frames, at, err := r.sources.Recent.Latest(ctx, accountName, n.ID)
		heard = at
		if err != nil {
			r.countFallback(err)
		} else if recent, err = latestWindow(ctx, accountName, n, frames,
			want); memory.Refused(err) ||
			ctx.Err() != nil {
			return State{}, cmp.Or(err, ctx.Err())
		} else if err != nil {
			r.metrics.fallbacks.WithLabelValues(fallUnreadable).Inc()
		} else if fresh(r.config.Clock().UnixMilli(), heard, recent.Node.Interval) {
			r.metrics.reads.WithLabelValues("latest", fromRecent).Inc()
			return State{Window: recent, Seen: heard, Recent: true}, nil
		} else {
			r.metrics.fallbacks.WithLabelValues(fallStale).Inc()
		}
	}
	frames, storedSeen, newer, err := r.sources.Store.LatestFrames(ctx, accountName, n.ID)
	if err != nil {
		if recent != nil {
			r.metrics.reads.WithLabelValues("latest", fromRecent).Inc()
			missing := fmt.Sprintf("everything newer than %s: the store does not answer now",
				formatMillis(heard))
			return State{Window: recent, Seen: heard, Missing: []string{missing}}, nil
		}
		r.metrics.failures.Inc()
		return State{}, err
	}
	missing := r.InFlight(ctx, accountName, n.Cluster, r.config.Clock().UnixMilli())
	if newer {
		missing = append(missing, "newer frames, whose key frame has not come yet: ask again later")
	}
	if len(frames) == 0 {
		return State{recent, heard, len(missing) == 0, missing}, nil
	}
	stored, err := latestWindow(ctx, accountName, n, frames, want)
	if recent != nil && (err != nil || heard >= storedSeen) {
		r.metrics.reads.WithLabelValues("latest", fromRecent).Inc()
		return State{recent, heard, len(missing) == 0, missing}, nil
	}
	if err != nil {
		r.metrics.failures.Inc()
		return State{}, err
	}
	r.metrics.reads.WithLabelValues("latest", fromStore).Inc()
	return State{stored, storedSeen, false, missing}, nil
}

// fresh reports whether a newest frame of the recent source is taken without asking the store for a
// newer one.
func fresh(now, heard, interval int64) bool { return now-heard <= 2*interval+staleSlack }

// latestWindow makes a window of one state, of which every frame must be readable. want names the
// metrics that it is to have; nil: all.
func latestWindow(
	ctx context.Context, accountName string, n *window.Node, frames [][]byte, want *frame.Wanted,
) (*window.Window, error) {
	lease := memory.Of(ctx)
	if err := takeAll(lease, frames); err != nil {
		return nil, err
	}
	var w *window.Window
	err := share.OnCPU(ctx, func() (err error) {
		w, err = readable(window.BuildWanted(memory.Until(ctx, lease),
			window.Node{Account: accountName, ID: n.ID}, frames, want))
		return err
	})
	return w, err
}

func takeAll(lease *memory.Lease, frames [][]byte) error {
	for _, b := range frames {
		if err := lease.Take(int64(len(b))); err != nil {
			return err
		}
	}
	return nil
}

// readable returns a window that was built of frames if every one of them could be read.
func readable(w *window.Window, report window.Report, err error) (*window.Window, error) {
	if err != nil {
		return nil, err
	}
	if report.Corrupt+report.MissingKey > 0 || len(w.Times) == 0 {
		return nil, fmt.Errorf("query: %d of %d frames cannot be decoded",
			report.Corrupt+report.MissingKey, report.Frames)
	}
	return w, nil
}

// rangeRead is what is read of a node: from from to to, in ms, what any of the selectors selects
// (none: everything), of histograms these facets (none: all).
type rangeRead struct {
	from, to  int64
	facets    []window.Facet
	selectors [][]*labels.Matcher
}

// readRange returns a node's windows: the recent source's if it surely has them all, and before
// them the store's for what is older.
func (r *Reader) readRange(ctx context.Context, accountName string, n *window.Node,
	q rangeRead) (Windows, error) {
	recentFrom := r.recentFrom(ctx, accountName, n.Cluster, q.from)
	if r.sources.Recent != nil && q.to >= recentFrom {
		r.sources.Recent.Touch(accountName, n.Cluster)
		newer := q
		newer.from = recentFrom
		recent, ok, err := r.recentRange(ctx, accountName, n, newer)
		if err != nil {
			return Windows{}, err
		}
		if ok && recentFrom == q.from {
			r.metrics.reads.WithLabelValues("range", fromRecent).Inc()
			return recent, nil
		}
		if ok {
			older := q
			older.to = recentFrom - 1
			old, err := r.storeRange(ctx, accountName, n, older)
			if err != nil {
				return Windows{}, err
			}
			r.metrics.reads.WithLabelValues("range", fromBoth).Inc()
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
		r.metrics.reads.WithLabelValues("range", fromStore).Inc()
	}
	return all, err
}

// recentFrom returns from when on the recent source is asked for a range that begins at from.
func (r *Reader) recentFrom(ctx context.Context, accountName, cluster string, from int64) int64 {
	recentFrom := max(from, r.config.Clock().UnixMilli()-r.config.RecentSpan.Milliseconds())
	if recentFrom-from <= edgeSlack {
		return from
	}
	return max(recentFrom, r.storedUntil(ctx, accountName, cluster))
}

// closedMillis is how long after a window's end it is expected to be closed, in ms.
const closedMillis = 60_000

// storedUntil returns the beginning of the first window, in ms, that the store may not have in
// columns; 0 if frames are on their way to the store, or nobody knows. What is before it costs the
// store a fraction of what it takes to read the recent source's frames.
func (r *Reader) storedUntil(ctx context.Context, accountName, cluster string) int64 {
	if r.sources.Behind == nil {
		return 0
	}
	if _, behind := r.sources.Behind(ctx, accountName, cluster); behind {
		return 0
	}
	return frame.WindowOf(r.config.Clock().UnixMilli() - closedMillis)
}

// recentRange returns what the recent source has, if that is surely everything. It asks for whole
// windows where it can: these are the same for the next question, a moment later.
func (r *Reader) recentRange(ctx context.Context, accountName string, n *window.Node,
	q rangeRead) (Windows, bool, error) {
	from, to := q.from, frame.WindowOf(q.to)+frame.WindowMillis-1
	oldest := r.config.Clock().UnixMilli() - r.config.RecentSpan.Milliseconds()
	if start := frame.WindowOf(from); start >= oldest {
		from = start
	}
	frames, complete, err := r.sources.Recent.Frames(ctx, accountName, n.ID, from, to)
	if err != nil {
		r.countFallback(err)
		return Windows{}, false, nil
	}
	if !complete {
		r.metrics.fallbacks.WithLabelValues(fallIncomplete).Inc()
		return Windows{}, false, nil
	}
	byWindow := map[int64][][]byte{}
	for _, b := range frames {
		h, _, err := frame.Parse(b)
		if err != nil {
			r.metrics.fallbacks.WithLabelValues(fallUnreadable).Inc()
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
			w, err = readable(r.sources.Build(memory.Until(ctx, lease),
				window.Node{Account: accountName, ID: n.ID}, start, byWindow[start], want, wanted))
			return err
		})
		if memory.Refused(err) || err != nil && ctx.Err() != nil {
			return Windows{}, false, err
		}
		if err != nil {
			r.metrics.fallbacks.WithLabelValues(fallUnreadable).Inc()
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
func (r *Reader) storeRange(ctx context.Context, accountName string, n *window.Node,
	q rangeRead) (all Windows, err error) {
	read := func(matchers []*labels.Matcher) {
		windows, failed := r.sources.Store.Windows(ctx, accountName, n.ID, q.from, q.to, q.facets,
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
		r.metrics.failures.Inc()
	}
	all.Missing = AppendMissing(all.Missing, r.InFlight(ctx, accountName, n.Cluster, q.to))
	return all, err
}

// Series returns the values from from to to of what any of the selectors selects (none:
// everything), as series sorted by labels, each of them once.
func (w *Windows) Series(ctx context.Context, from, to int64,
	selectors [][]*labels.Matcher) ([]window.Series, error) {
	from = max(from, w.From)
	return Union(selectors, func(m []*labels.Matcher) ([]window.Series, error) {
		parts := make([][]window.Series, 0, len(w.List))
		for _, of := range w.List {
			list, err := of.SelectContext(ctx, memory.Of(ctx), from, to, m...)
			if err != nil {
				return nil, err
			}
			parts = append(parts, list)
		}
		return window.Join(parts...), nil
	})
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

// Union returns what any of the selectors selects, where one returns what the matchers of one
// select, sorted by labels; no selectors select everything.
func Union(
	selectors [][]*labels.Matcher, one func([]*labels.Matcher) ([]window.Series, error),
) ([]window.Series, error) {
	if len(selectors) == 0 {
		return one(nil)
	}
	parts := make([][]window.Series, len(selectors))
	for i, m := range selectors {
		var err error
		if parts[i], err = one(m); err != nil {
			return nil, err
		}
	}
	return window.Join(slices.DeleteFunc(parts,
		func(p []window.Series) bool { return len(p) == 0 })...), nil
}

package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
)

// staleSlack is how much later than two intervals a newest frame may be before the store is asked for a newer one, in ms.
const staleSlack = 2_000

// edgeSlack is how much older than RecentSpan a range may begin and still be asked of the recent source whole, in ms: a request for just that span is read a moment after it came. The
// source says itself whether it has all.
const edgeSlack = 10_000

// fall counts why the recent source was asked in vain.
func (s *Server) fall(err error) {
	reason := fallAway
	if s.deps.Miss != nil && errors.Is(err, s.deps.Miss) {
		reason = fallMiss
	}
	s.metrics.fallbacks.WithLabelValues(reason).Inc()
}

// newestState is a node's newest state; of nothing, if none is known.
type newestState struct {
	*window.Window
	seen    int64    // when the node was heard of by it, in ms: not after its frame arrived
	recent  bool     // the recent source held all of it
	missing []string // why there may be a newer one, in words
}

// readLatest asks the recent source for a node's newest state, and the store if that has none or an old one.
func (s *Server) readLatest(ctx context.Context, accountName string, n *Node) (newestState, error) {
	var recent *window.Window
	var seen int64
	if s.deps.Recent != nil {
		s.deps.Recent.Touch(accountName, n.Cluster)
		frames, at, err := s.deps.Recent.Latest(ctx, accountName, n.ID)
		seen = at
		if err != nil {
			s.fall(err)
		} else if recent, err = newest(ctx, accountName, n, frames); memory.Refused(err) {
			return newestState{}, err
		} else if err != nil {
			s.metrics.fallbacks.WithLabelValues(fallUnreadable).Inc()
		} else if s.config.Clock().UnixMilli()-seen <= 2*recent.Node.Interval+staleSlack {
			s.metrics.reads.WithLabelValues("latest", fromRecent).Inc()
			return newestState{Window: recent, seen: seen, recent: true}, nil
		} else {
			s.metrics.fallbacks.WithLabelValues(fallStale).Inc()
		}
	}
	frames, storedSeen, err := s.deps.Store.LatestFrames(ctx, accountName, n.ID)
	if err != nil {
		if recent != nil {
			s.metrics.reads.WithLabelValues("latest", fromRecent).Inc()
			missing := fmt.Sprintf("whatever is newer than %s: the store does not answer just now", formatTime(seen))
			return newestState{Window: recent, seen: seen, missing: []string{missing}}, nil
		}
		s.metrics.failures.Inc()
		return newestState{}, err
	}
	missing := s.onTheWay(ctx, accountName, n, s.config.Clock().UnixMilli())
	if len(frames) == 0 {
		return newestState{recent, seen, len(missing) == 0, missing}, nil
	}
	stored, err := newest(ctx, accountName, n, frames)
	if recent != nil && (err != nil || seen >= storedSeen) {
		s.metrics.reads.WithLabelValues("latest", fromRecent).Inc()
		return newestState{recent, seen, len(missing) == 0, missing}, nil
	}
	if err != nil {
		s.metrics.failures.Inc()
		return newestState{}, err
	}
	s.metrics.reads.WithLabelValues("latest", fromStore).Inc()
	return newestState{stored, storedSeen, false, missing}, nil
}

// newest makes a window of one state, of which every frame must be readable.
func newest(ctx context.Context, accountName string, n *Node, frames [][]byte) (*window.Window, error) {
	lease := memory.Of(ctx)
	for _, b := range frames {
		if err := lease.Take(int64(len(b))); err != nil {
			return nil, err
		}
	}
	w, report, err := window.BuildWithin(lease, Node{Account: accountName, ID: n.ID}, frames)
	if err != nil {
		return nil, err
	}
	if report.Corrupt+report.MissingKey > 0 || len(w.Times) == 0 {
		return nil, fmt.Errorf("api: %d of %d frames cannot be decoded", report.Corrupt+report.MissingKey, report.Frames)
	}
	return w, nil
}

// readRange returns a node's values from from to to: the recent source's if it surely has them all, joined to the store's for what is older.
func (s *Server) readRange(ctx context.Context, accountName string, n *Node, from, to int64, selectors [][]*labels.Matcher) ([]window.Series, []string, error) {
	recentFrom := max(from, s.config.Clock().UnixMilli()-s.config.RecentSpan.Milliseconds())
	if recentFrom-from <= edgeSlack {
		recentFrom = from
	}
	if s.deps.Recent != nil && to >= recentFrom {
		s.deps.Recent.Touch(accountName, n.Cluster)
		recent, ok, err := s.recentRange(ctx, accountName, n, recentFrom, to, selectors)
		if err != nil {
			return nil, nil, err
		}
		if ok && recentFrom == from {
			s.metrics.reads.WithLabelValues("range", fromRecent).Inc()
			return recent, nil, nil
		}
		if ok {
			old, missing, err := s.storeRange(ctx, accountName, n, from, recentFrom-1, selectors)
			if err != nil {
				return nil, nil, err
			}
			s.metrics.reads.WithLabelValues("range", fromBoth).Inc()
			return window.Join(old, recent), missing, nil
		}
	}
	series, missing, err := s.storeRange(ctx, accountName, n, from, to, selectors)
	if err == nil {
		s.metrics.reads.WithLabelValues("range", fromStore).Inc()
	}
	return series, missing, err
}

func (s *Server) recentRange(ctx context.Context, accountName string, n *Node, from, to int64, selectors [][]*labels.Matcher) ([]window.Series, bool, error) {
	frames, complete, err := s.deps.Recent.Frames(ctx, accountName, n.ID, from, to)
	if err != nil {
		s.fall(err)
		return nil, false, nil
	}
	if !complete {
		s.metrics.fallbacks.WithLabelValues(fallIncomplete).Inc()
		return nil, false, nil
	}
	byWindow := map[int64][][]byte{}
	for _, b := range frames {
		h, _, err := frame.Parse(b)
		if err != nil {
			s.metrics.fallbacks.WithLabelValues(fallUnreadable).Inc()
			return nil, false, nil
		}
		byWindow[h.Window()] = append(byWindow[h.Window()], b)
	}
	var parts [][]window.Series
	for _, frames := range byWindow {
		w, err := newest(ctx, accountName, n, frames)
		if memory.Refused(err) {
			return nil, false, err
		}
		if err != nil {
			s.metrics.fallbacks.WithLabelValues(fallUnreadable).Inc()
			return nil, false, nil
		}
		part, err := union(selectors, func(m []*labels.Matcher) ([]window.Series, error) {
			return w.SelectContext(ctx, from, to, m...)
		})
		if err != nil {
			return nil, false, err
		}
		parts = append(parts, part)
	}
	return window.Join(parts...), true, nil
}

func (s *Server) storeRange(ctx context.Context, accountName string, n *Node, from, to int64, selectors [][]*labels.Matcher) ([]window.Series, []string, error) {
	var missing []string
	series, err := union(selectors, func(m []*labels.Matcher) ([]window.Series, error) {
		part, lost, err := s.deps.Store.Read(ctx, accountName, n.ID, from, to, m...)
		missing = also(missing, lost)
		return part, err
	})
	if err != nil && !memory.Refused(err) {
		s.metrics.failures.Inc()
	}
	return series, also(missing, s.onTheWay(ctx, accountName, n, to)), err
}

// union returns what any of the selectors selects; no selectors select everything.
func union(selectors [][]*labels.Matcher, one func([]*labels.Matcher) ([]window.Series, error)) ([]window.Series, error) {
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
	return window.Join(slices.DeleteFunc(parts, func(p []window.Series) bool { return len(p) == 0 })...), nil
}

// Package selection reads what one selector of a query selects, node by node.
//
// Start with Query, which is one query of one principal, and its Prepare:
//
//	Query.Prepare     plan, spans, and the nodes that are to be asked (fleet, index)
//	Selection.ReadNode
//	  Newest          what an instant sees of the node's newest state
//	  collector       else each span: samples of windows, or of rollups → series
//
// What it promises: what an answer lacks, and which rollups it is of, stands in
// Selection.Warnings.
//
// What bites: a Selection that is streamed holds no values: its series are read as they are walked
// over. A Query is for one evaluation, a Source for all.
//
// It may import access/account, frame, memory, window and, of query, what is below it.
package selection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// Selection is the reading of one selector.
type Selection struct {
	Query   *Query
	Plan    *plan.Plan
	Hints   *storage.SelectHints
	windows plan.Windows
	spans   []plan.Span
	now     int64
	Lease   *memory.Lease
	// question is what an instant asks of newest states.
	question *read.Question
	// streamed is whether a kernel takes the series one by one: they are not held.
	streamed bool

	mu      sync.Mutex
	missing []string
}

// Prepare plans the reading of a selector. It returns the nodes that are to be asked, and those
// series that are there without asking any.
func (q *Query) Prepare(
	ctx context.Context, h *storage.SelectHints, w plan.Windows, matchers []*labels.Matcher,
	streamed bool,
) (s *Selection, asked []window.Node, list []*series.Series, err error) {
	now := q.Source.Limits.Clock().UnixMilli()
	s = &Selection{Query: q, Hints: h, windows: w, now: now, Lease: q.Lease(),
		streamed: streamed}
	s.Plan = plan.New(matchers, func() map[string]frame.Kind { return q.Metrics() })
	s.spans = []plan.Span{{From: h.Start, To: h.End}}
	known := q.Metrics()
	s.windows.Asked(s.Plan, known)
	if q.Source.Reader.HasRollups() && !s.Plan.OnlyTexts(known) { // of which there are no rollups
		s.spans = s.windows.Spans(h.Start, h.End, q.Source.Since(now))
	}
	if slices.ContainsFunc(s.spans, func(p plan.Span) bool { return !p.Raw() }) {
		q.UsedRollups.Store(true)
	}
	nodes, recorders, err := q.Source.Reader.Fleets(ctx, q.Who, q.Source.Limits.NodesTTL)
	if err != nil {
		return nil, nil, nil, err
	}
	if list, err = s.ownSeries(ctx, nodes); err != nil {
		return nil, nil, nil, err
	}
	if s.Plan.OnlyOwn() {
		if s.Plan.Named(series.MetricUp) && nodes.Watched() {
			asked, err = s.nodes(ctx, nodes, recorders)
			asked = slices.DeleteFunc(slices.Clone(asked), func(n window.Node) bool {
				return !n.Watched() || frame.IsRecorder(n.ID)
			})
		}
		return s, asked, list, err
	}
	asked, err = s.nodes(ctx, nodes, recorders)
	if len(asked) == 0 { // the node that is meant may be on its way itself
		s.addMissing(q.Source.Reader.InFlight(ctx, q.Who.Account, read.NoCluster, h.End))
	}
	return s, asked, list, err
}

// Read reads what a selector selects, node by node.
func (q *Query) Read(
	ctx context.Context, h *storage.SelectHints, w plan.Windows, matchers []*labels.Matcher,
) ([]*series.Series, annotations.Annotations, error) {
	s, asked, list, err := q.Prepare(ctx, h, w, matchers, false)
	if err != nil {
		return nil, nil, err
	}
	byNode := make([][]*series.Series, len(asked))
	newest := make([]*read.LatestSeries, len(asked))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(read.RangesAtOnce)
	if s.IsInstant() {
		newest = s.CachedNewest(ctx, asked)
		g.SetLimit(read.StatesAtOnce)
	}
	for i := range asked {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() (err error) {
			byNode[i], err = s.ReadNode(gctx, &asked[i], newest[i], s.Lease)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	list = append(list, slices.Concat(byNode...)...)
	return list, s.Warnings(), ctx.Err()
}

// Warnings says what the answer was made of if not of samples, and what it lacks.
func (s *Selection) Warnings() annotations.Annotations {
	var list annotations.Annotations
	for i := range s.spans {
		if err := s.windows.Resolution(&s.spans[i]); err != nil {
			list.Add(err)
		}
	}
	slices.Sort(s.missing)
	for i, text := range s.missing {
		if i == maxMissing {
			list.Add(fmt.Errorf("and %d more things are missing", len(s.missing)-i))
			break
		}
		list.Add(errors.New(read.NotWhole + text))
	}
	return list
}

// maxMissing bounds the warnings about what is missing.
const maxMissing = 10

// addMissing notes what is missing.
func (s *Selection) addMissing(list []string) {
	if len(list) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range list {
		if !slices.Contains(s.missing, text) {
			s.missing = append(s.missing, text)
		}
	}
}

// IsInstant reports whether only the newest value at one instant is asked for.
func (s *Selection) IsInstant() bool {
	return s.Hints.Range == 0 && s.Hints.End-s.Hints.Start < s.Query.Lookback
}

// tooMany refuses a selector that selects more series than a query may.
func (s *Selection) tooMany(n int64) error {
	if s.streamed {
		return nil
	}
	return s.Query.Source.TooManySeries(n)
}

// ReadNode reads what is selected of one node, whose newest state may be known. The values take
// their memory from the lease.
func (s *Selection) ReadNode(
	ctx context.Context, n *window.Node, known *read.LatestSeries, lease *memory.Lease,
) ([]*series.Series, error) {
	ctx, end := s.Scope(ctx)
	defer end()
	c := collector{selection: s, node: n, lease: lease, byLabels: map[uint64][]*series.Series{}}
	if s.IsInstant() {
		done, err := c.addLatest(ctx, known)
		if done || err != nil {
			return c.list, err
		}
	}
	// From the newest on: what rollups show of a counter ends as what comes after them begins.
	for i := range slices.Backward(s.spans) {
		if err := c.span(ctx, &s.spans[i]); err != nil {
			return nil, err
		}
	}
	if len(s.spans) > 1 {
		if err := series.SortStable(ctx, c.list, series.Compare); err != nil {
			return nil, err
		}
	}
	return c.list, nil
}

// ReadsSamples reports whether nothing is read of rollups.
func (s *Selection) ReadsSamples() bool {
	return !slices.ContainsFunc(s.spans, func(p plan.Span) bool { return !p.Raw() })
}

// CachedNewest returns by node what is cached of its newest state, for a selection of one instant;
// nil for the others.
func (s *Selection) CachedNewest(ctx context.Context, nodes []window.Node) []*read.LatestSeries {
	s.question = s.Query.Source.Reader.Ask(s.Query.Who.Account, s.Plan.Read)
	return s.Query.Source.Reader.Current(ctx, s.question, nodes)
}

// Scope opens a scope for what is read and not held.
func (s *Selection) Scope(ctx context.Context) (context.Context, func()) {
	return s.Query.Source.Reader.Shared.Scope(ctx, s.Query.Who.Account)
}

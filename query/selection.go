package query

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
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// selection is the reading of one selector.
type selection struct {
	query   *oneQuery
	plan    *plan
	hints   *storage.SelectHints
	windows windows
	spans   []span
	now     int64
	lease   *memory.Lease
	// question is what an instant asks of newest states.
	question *read.Question
	// streamed is whether a kernel takes the series one by one: they are not held.
	streamed bool

	mu      sync.Mutex
	missing []string
}

// selects plans the reading of a selector. It returns the nodes that are to be asked, and those
// series that are there without asking any.
func (q *oneQuery) selects(
	ctx context.Context, h *storage.SelectHints, w windows, matchers []*labels.Matcher,
	streamed bool,
) (s *selection, asked []Node, list []*series.Series, err error) {
	now := q.source.limits.clock().UnixMilli()
	s = &selection{query: q, hints: h, windows: w, now: now, lease: q.lease(),
		streamed: streamed}
	s.plan = newPlan(matchers, func() map[string]frame.Kind { return q.kinds() })
	s.spans = []span{{from: h.Start, to: h.End}}
	known := q.kinds()
	s.windows.asked(s.plan, known)
	if q.source.reader.HasRollups() && !s.plan.onlyTexts(known) { // of which there are no rollups
		s.spans = s.windows.spans(h.Start, h.End, q.source.since(now))
	}
	if slices.ContainsFunc(s.spans, func(p span) bool { return !p.raw() }) {
		q.usedRollups.Store(true)
	}
	nodes, recorders, err := q.source.reader.Fleets(ctx, q.who, q.source.limits.nodesTTL)
	if err != nil {
		return nil, nil, nil, err
	}
	if list, err = s.ownSeries(ctx, nodes); err != nil {
		return nil, nil, nil, err
	}
	if s.plan.onlyOwn() {
		if s.plan.named(series.MetricUp) && nodes.Watched() {
			asked, err = s.nodes(ctx, nodes, recorders)
			asked = slices.DeleteFunc(slices.Clone(asked), func(n Node) bool {
				return !n.Watched() || frame.IsRecorder(n.ID)
			})
		}
		return s, asked, list, err
	}
	asked, err = s.nodes(ctx, nodes, recorders)
	if len(asked) == 0 { // the node that is meant may be on its way itself
		s.addMissing(q.source.reader.InFlight(ctx, q.who.Account, read.NoCluster, h.End))
	}
	return s, asked, list, err
}

// answer reads what a selector selects, node by node.
func (q *oneQuery) answer(
	ctx context.Context, h *storage.SelectHints, w windows, matchers []*labels.Matcher,
) ([]*series.Series, annotations.Annotations, error) {
	s, asked, list, err := q.selects(ctx, h, w, matchers, false)
	if err != nil {
		return nil, nil, err
	}
	answers := make([][]*series.Series, len(asked))
	newest := make([]*read.LatestSeries, len(asked))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(read.RangesAtOnce)
	if s.isInstant() {
		newest = s.known(ctx, asked)
		g.SetLimit(read.StatesAtOnce)
	}
	for i := range asked {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() (err error) {
			answers[i], err = s.node(gctx, &asked[i], newest[i], s.lease)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	list = append(list, slices.Concat(answers...)...)
	return list, s.warnings(), ctx.Err()
}

// warnings says what the answer was made of if not of samples, and what it lacks.
func (s *selection) warnings() annotations.Annotations {
	var list annotations.Annotations
	for i := range s.spans {
		if err := s.windows.resolution(&s.spans[i]); err != nil {
			list.Add(err)
		}
	}
	slices.Sort(s.missing)
	for i, text := range s.missing {
		if i == maxMissing {
			list.Add(fmt.Errorf("and %d more things are missing", len(s.missing)-i))
			break
		}
		list.Add(errors.New(NotWhole + text))
	}
	return list
}

// maxMissing bounds the warnings about what is missing.
const maxMissing = 10

// addMissing notes what is missing.
func (s *selection) addMissing(list []string) {
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

// isInstant reports whether only the newest value at one instant is asked for.
func (s *selection) isInstant() bool {
	return s.hints.Range == 0 && s.hints.End-s.hints.Start < s.query.lookback
}

// tooMany refuses a selector that selects more series than a query may.
func (s *selection) tooMany(n int64) error {
	if s.streamed {
		return nil
	}
	return s.query.source.tooManySeries(n)
}

// node reads what is selected of one node, whose newest state may be known. The values take their
// memory from the lease.
func (s *selection) node(
	ctx context.Context, n *Node, known *read.LatestSeries, lease *memory.Lease,
) ([]*series.Series, error) {
	ctx, end := s.scope(ctx)
	defer end()
	c := collector{selection: s, node: n, lease: lease, byLabels: map[uint64][]*series.Series{}}
	if s.isInstant() {
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

// ofSamples reports whether nothing is read of rollups.
func (s *selection) ofSamples() bool {
	return !slices.ContainsFunc(s.spans, func(p span) bool { return !p.raw() })
}

// known returns by node what is cached of its newest state, for a selection of one instant; nil for
// the others.
func (s *selection) known(ctx context.Context, nodes []window.Node) []*read.LatestSeries {
	s.question = s.query.source.reader.Ask(s.query.who.Account, s.plan.read)
	return s.query.source.reader.Current(ctx, s.question, nodes)
}

// scope opens a scope for what is read and not held.
func (s *selection) scope(ctx context.Context) (context.Context, func()) {
	return s.query.source.reader.Shared.Scope(ctx, s.query.who.Account)
}

package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/series"
)

// queryable answers the selectors of one query for one principal. It implements storage.Queryable.
type queryable struct {
	*Engine
	ctx context.Context // of the query, with its lease
	who account.Principal
	// lookback is how long before an instant its newest value may be, in ms.
	lookback int64
	grown    *expression.LabelBudget // the labels that the query makes
	// within are the query's selectors in subqueries.
	within expression.SubqueryOffsets

	series      atomic.Int64 // of all selectors
	usedRollups atomic.Bool  // rollups were to answer a selector
	unseen      atomic.Bool  // nodes were asked for that have never been heard of

	mu   sync.Mutex
	read map[string]*reading // selectors that were read: a query may name one twice

	// computed are the answers of kernels, by the matcher of the selector that asks for one.
	computed map[*labels.Matcher]computed
}

// lease returns what the query takes its memory from.
func (q *queryable) lease() *memory.Lease { return memory.Of(q.ctx) }

// reading is what one selector gave.
type reading struct {
	once     sync.Once
	list     []*series.Series
	warnings annotations.Annotations
	err      error
}

// Querier implements storage.Queryable.
func (q *queryable) Querier(from, to int64) (storage.Querier, error) {
	return &querier{queryable: q, from: from, to: to}, nil
}

// querier implements storage.Querier.
type querier struct {
	*queryable
	from, to int64
}

// Close implements storage.Querier.
func (q *querier) Close() error { return nil }

// Select implements storage.Querier. Nothing is read before the answer is asked for its first
// series.
func (q *querier) Select(
	ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	if len(matchers) > 0 {
		if _, is := q.computed[matchers[0]]; is {
			return q.kernelAnswer(matchers)
		}
	}
	if hints == nil {
		hints = &storage.SelectHints{Start: q.from, End: q.to}
	}
	h := *hints
	var key strings.Builder
	w := q.windows(&h, matchers)
	fmt.Fprintf(&key, "%d/%d/%d/%d/%s/%d", h.Start, h.End, h.Step, h.Range, h.Func, w.end)
	for _, m := range matchers {
		fmt.Fprintf(&key, "/%s", m)
	}
	q.mu.Lock()
	s := q.read[key.String()]
	if s == nil {
		s = &reading{}
		if q.read == nil {
			q.read = map[string]*reading{}
		}
		q.read[key.String()] = s
	}
	q.mu.Unlock()
	return series.NewSet(func() ([]*series.Series, annotations.Annotations, error) {
		s.once.Do(func() {
			if s.list, s.warnings, s.err = q.answer(ctx, &h, w, matchers); s.err != nil {
				s.err = sourceError{s.err}
			}
		})
		if sorted && s.err == nil {
			list := slices.Clone(s.list)
			if err := series.SortStable(ctx, list, series.Compare); err != nil {
				return nil, nil, sourceError{err}
			}
			s.list = list
		}
		list, err := s.list, s.err
		if h.Limit > 0 && len(list) > h.Limit {
			list = list[:h.Limit]
		}
		if err == nil {
			if err = q.grown.ReadSeries(matchers, list); err != nil {
				err = sourceError{err}
			}
		}
		return list, s.warnings, err
	})
}

// selection is the reading of one selector.
type selection struct {
	*queryable
	plan    *plan
	hints   *storage.SelectHints
	windows windows
	pieces  []piece
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
func (q *queryable) selects(
	ctx context.Context, h *storage.SelectHints, w windows, matchers []*labels.Matcher,
	streamed bool,
) (s *selection, asked []Node, list []*series.Series, err error) {
	now := q.config.Clock().UnixMilli()
	s = &selection{queryable: q, hints: h, windows: w, now: now, lease: memory.Of(q.ctx),
		streamed: streamed}
	s.plan = newPlan(matchers, func() map[string]frame.Kind { return q.kinds(q.who) })
	s.pieces = []piece{{from: h.Start, to: h.End}}
	known := q.kinds(q.who)
	s.windows.asked(s.plan, known)
	if q.reader.HasRollups() && !s.plan.onlyTexts(known) { // of which there are no rollups
		s.pieces = s.windows.pieces(h.Start, h.End, q.since(now))
	}
	if slices.ContainsFunc(s.pieces, func(p piece) bool { return !p.raw() }) {
		q.usedRollups.Store(true)
	}
	nodes, recorders, err := q.reader.Fleets(ctx, q.who, q.config.NodesTTL)
	if err != nil {
		return nil, nil, nil, err
	}
	if list, err = s.virtual(ctx, nodes); err != nil {
		return nil, nil, nil, err
	}
	if s.plan.onlyVirtual() {
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
		s.addMissing(q.reader.InFlight(ctx, q.who.Account, read.NoCluster, h.End))
	}
	return s, asked, list, err
}

// answer reads what a selector selects, node by node.
func (q *queryable) answer(
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
		s.question = s.reader.Ask(s.who.Account, s.plan.read)
		newest = s.reader.Current(ctx, s.question, asked)
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
	for i := range s.pieces {
		if err := s.windows.resolution(&s.pieces[i]); err != nil {
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
	return s.hints.Range == 0 && s.hints.End-s.hints.Start < s.lookback
}

// tooMany refuses a selector that selects more series than a query may.
func (s *selection) tooMany(n int64) error {
	if s.streamed {
		return nil
	}
	return s.tooManySeries(n)
}

func (e *Engine) tooManySeries(n int64) error {
	if e.config.MaxSeries > 0 && n > e.config.MaxSeries {
		return &limit.Error{Limit: "max_series", Value: e.config.MaxSeries, Needed: n,
			Remedy: "narrow the selector, for instance with cluster=, keyspace= or table="}
	}
	return nil
}

// node reads what is selected of one node, whose newest state may be known. The values take their
// memory from the lease.
func (s *selection) node(
	ctx context.Context, n *Node, known *read.LatestSeries, lease *memory.Lease,
) ([]*series.Series, error) {
	ctx, end := s.reader.Shared.Scope(ctx, s.who.Account)
	defer end()
	c := collector{selection: s, node: n, lease: lease, byLabels: map[uint64][]*series.Series{}}
	if s.isInstant() {
		done, err := c.addLatest(ctx, known)
		if done || err != nil {
			return c.list, err
		}
	}
	// From the newest on: what rollups show of a counter ends as what comes after them begins.
	for i := range slices.Backward(s.pieces) {
		if err := c.piece(ctx, &s.pieces[i]); err != nil {
			return nil, err
		}
	}
	if len(s.pieces) > 1 {
		if err := series.SortStable(ctx, c.list, series.Compare); err != nil {
			return nil, err
		}
	}
	return c.list, nil
}

// LabelNames implements storage.LabelQuerier.
func (q *querier) LabelNames(
	ctx context.Context, _ *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return q.Engine.LabelNames(ctx, q.who, q.seriesQuery(matchers))
}

// LabelValues implements storage.LabelQuerier.
func (q *querier) LabelValues(
	ctx context.Context, name string, _ *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return q.Engine.LabelValues(ctx, q.who, name, q.seriesQuery(matchers))
}

func (q *querier) seriesQuery(matchers []*labels.Matcher) SeriesQuery {
	c := SeriesQuery{From: time.UnixMilli(q.from), To: time.UnixMilli(q.to)}
	if len(matchers) > 0 {
		c.Selectors = [][]*labels.Matcher{matchers}
	}
	return c
}

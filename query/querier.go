package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/kernel/run"
	"github.com/ringwatch/ringwatch/query/metadata"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/selection"
	"github.com/ringwatch/ringwatch/query/series"
)

// queryable answers the selectors of one query. It implements storage.Queryable.
type queryable struct {
	query *selection.Query
	lists *metadata.Lists         // which series and labels there are
	grown *expression.LabelBudget // the labels that the query makes

	mu   sync.Mutex
	read map[string]*reading // selectors that were read: a query may name one twice

	// computed are the answers of kernels, by the matcher of the selector that asks for one.
	computed map[*labels.Matcher]run.Answered
}

// reading is what one selector gave.
type reading struct {
	once     sync.Once
	list     []*series.Series
	warnings annotations.Annotations
	err      error
}

// reading returns the reading of that key, which may have been asked for before.
func (q *queryable) reading(key string) *reading {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.read[key]
	if s == nil {
		s = &reading{}
		if q.read == nil {
			q.read = map[string]*reading{}
		}
		q.read[key] = s
	}
	return s
}

// Querier implements storage.Queryable.
func (q *queryable) Querier(from, to int64) (storage.Querier, error) {
	return &querier{queryable: q, from: from, to: to}, nil
}

// querier implements storage.Querier.
type querier struct {
	queryable *queryable
	from, to  int64
}

// Close implements storage.Querier.
func (q *querier) Close() error { return nil }

// Select implements storage.Querier. Nothing is read before the answer is asked for its first
// series.
func (q *querier) Select(
	ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	of := q.queryable
	if len(matchers) > 0 {
		if _, is := of.computed[matchers[0]]; is {
			return of.kernelAnswer(matchers)
		}
	}
	if hints == nil {
		hints = &storage.SelectHints{Start: q.from, End: q.to}
	}
	h := *hints
	var key strings.Builder
	w := plan.NewWindows(&h, matchers, of.query.Lookback, of.query.Within)
	fmt.Fprintf(&key, "%d/%d/%d/%d/%s/%d", h.Start, h.End, h.Step, h.Range, h.Func, w.End)
	for _, m := range matchers {
		fmt.Fprintf(&key, "/%s", m)
	}
	s := of.reading(key.String())
	return series.NewSet(func() ([]*series.Series, annotations.Annotations, error) {
		s.once.Do(func() {
			if s.list, s.warnings, s.err = of.query.Read(ctx, &h, w, matchers); s.err != nil {
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
			if err = of.grown.ReadSeries(matchers, list); err != nil {
				err = sourceError{err}
			}
		}
		return list, s.warnings, err
	})
}

// kernelAnswer returns a kernel's answer to the selector that stands for its question.
func (q *queryable) kernelAnswer(matchers []*labels.Matcher) storage.SeriesSet {
	return series.NewSet(func() ([]*series.Series, annotations.Annotations, error) {
		of := q.computed[matchers[0]]
		if err := q.grown.ReadSeries(matchers, of.List); err != nil {
			return nil, nil, sourceError{err}
		}
		return of.List, of.Warnings, nil
	})
}

// compute answers the parts of an expression that kernels know, and has the engine ask for the
// answers in their place.
func (q *queryable) compute(ctx context.Context, statement parser.Statement) error {
	eval, is := statement.(*parser.EvalStmt)
	if !is {
		return nil
	}
	var err error
	if q.computed, err = run.Compute(ctx, q.query, eval); err != nil {
		return sourceError{err}
	}
	if len(q.computed) > 0 {
		q.grown.Rewrite(eval.Expr)
	}
	return nil
}

// LabelNames implements storage.LabelQuerier.
func (q *querier) LabelNames(
	ctx context.Context, _ *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return q.queryable.lists.LabelNames(ctx, q.queryable.query.Who, q.seriesQuery(matchers))
}

// LabelValues implements storage.LabelQuerier.
func (q *querier) LabelValues(
	ctx context.Context, name string, _ *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return q.queryable.lists.LabelValues(ctx, q.queryable.query.Who, name, q.seriesQuery(matchers))
}

func (q *querier) seriesQuery(matchers []*labels.Matcher) metadata.SeriesQuery {
	c := metadata.SeriesQuery{From: time.UnixMilli(q.from), To: time.UnixMilli(q.to)}
	if len(matchers) > 0 {
		c.Selectors = [][]*labels.Matcher{matchers}
	}
	return c
}

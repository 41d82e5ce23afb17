package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/query/live"
)

// query evaluates an expression at an instant, for one rule or a template.
func (e *evaluation) query(
	ctx context.Context, expr string, at time.Time,
) (promql.Vector, error) {
	if unread := e.members.unread; unread > 0 { // what they say is not known
		return nil,
			fmt.Errorf("there is no memory to read the frames of %d nodes: let rules select "+
				"less, or give the role more memory (memory.limit_bytes)", unread)
	}
	e.rule = promrules.FromOriginContext(ctx)
	if e.head.scope.selectsNothing(expr, e.head.seen) {
		return nil, ctx.Err()
	}
	if ctx.Err() != nil {
		return nil,
			fmt.Errorf("%w: the rules before it in its group took all the time: give slow rules a "+
				"group of their own", ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, e.role.config.Timeout)
	defer cancel()
	expr, err := e.prepared(ctx, expr, at)
	if err != nil {
		return nil, err
	}
	return e.run(ctx, expr, at)
}

// Querier implements storage.Queryable over what the cluster has in memory.
func (e *evaluation) Querier(from, to int64) (storage.Querier, error) {
	return &querier{of: e, from: from, to: to}, nil
}

type querier struct {
	of       *evaluation
	from, to int64
	older    storage.Querier // of the past; nil: nothing has asked for it
}

// Select implements storage.Querier.
func (q *querier) Select(
	ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	return q.counted(q.find(ctx, sorted, hints, matchers), hints)
}

// find returns what a selector means.
func (q *querier) find(
	ctx context.Context, sorted bool, hints *storage.SelectHints, matchers []*labels.Matcher,
) storage.SeriesSet {
	if list, is := q.of.sharedSeries(matchers); is {
		return q.read(matchers, list)
	}
	s := q.of.head.scope.byKey[keyOf(matchers)]
	var list []storage.Series
	switch {
	case s == nil: // a template's query: no rule's selector
		list = q.among(matchers)
	case s.keep == 0 || s.past && hints != nil && q.before(hints, s):
		return q.past(ctx, sorted, hints, matchers)
	case q.of.head.lackingBySelector[s] > 0: // half of them would be a wrong answer
		return storage.ErrSeriesSet(
			fmt.Errorf("there is no memory for %d series of the rule: let the "+
				"rule select less, or give the role more memory (memory.limit_bytes)",
				q.of.head.lackingBySelector[s]))
	default:
		seen := q.of.head.inOrder(s)
		list = make([]storage.Series, 0, len(seen))
		for _, v := range seen {
			if len(v.At) > 0 {
				list = v.Append(list, v.ends)
			}
		}
	}
	if sorted {
		slices.SortFunc(list, func(a, b storage.Series) int {
			return labels.Compare(a.Labels(), b.Labels())
		})
	}
	return q.read(matchers, list)
}

// read notes what a selector gives, before anything is made of it.
func (q *querier) read(matchers []*labels.Matcher, list []storage.Series) storage.SeriesSet {
	if err := q.of.grown.Read(matchers, list); err != nil {
		return storage.ErrSeriesSet(err)
	}
	return &seriesSet{list: list, at: -1}
}

// before reports whether a selector looks further back than memory does.
func (q *querier) before(h *storage.SelectHints, s *selector) bool {
	return q.to-h.Start > s.keep.Milliseconds()
}

// among looks through all there is.
func (q *querier) among(matchers []*labels.Matcher) []storage.Series {
	s := &selector{Selector: live.NewSelector(matchers)}
	if list := q.ofNode(s, matchers); list != nil {
		return list
	}
	done := map[*memSeries]bool{}
	var list []storage.Series
	for by, views := range q.of.head.seen {
		if names := by.stored(); names[0] != "" && !slices.ContainsFunc(names, s.Wants) {
			continue // templates ask once for each alert
		}
		for _, v := range views {
			if done[v.memSeries] || len(v.At) == 0 {
				continue
			}
			done[v.memSeries] = true
			if live := s.Live(&v.Series); live != nil {
				list = live.Append(list, v.ends)
			}
		}
	}
	return list
}

// ofNode looks at one node's own series, if matchers name them: each alert of a node asks for its
// name, and a cluster has a thousand nodes. nil: look through all.
func (q *querier) ofNode(s *selector, matchers []*labels.Matcher) []storage.Series {
	equal := map[string]string{}
	for _, m := range matchers {
		if m.Type == labels.MatchEqual {
			equal[m.Name] = m.Value
		}
	}
	id, err := uuid.Parse(equal["node"])
	if err != nil || q.of.members.nodes[id] == nil {
		return nil
	}
	of := q.of.members.nodes[id].own[equal[labels.MetricName]]
	if of == nil || of == noSeries || len(of.At) == 0 {
		return nil
	}
	if live := s.Live(&of.Series); live != nil {
		return live.Append(nil, of.ends)
	}
	return nil
}

var errPast = errors.New("the rule looks back further than rules.max_lookback keeps in memory, " +
	"and no store is configured for this role: raise max_lookback, or record a shorter range first")

// past asks the query engine.
func (q *querier) past(
	ctx context.Context, sorted bool, hints *storage.SelectHints, matchers []*labels.Matcher,
) storage.SeriesSet {
	if q.of.role.deps.Past == nil {
		return storage.ErrSeriesSet(errPast)
	}
	asked := matchers
	if !q.of.role.deps.Every {
		matchers = append(slices.Clone(matchers),
			labels.MustNewMatcher(labels.MatchEqual, "cluster", q.of.name))
	}
	if q.older == nil { // all selectors share one: it holds a place among the account's queries
		of, err := q.of.role.deps.Past(ctx, q.of.account).Querier(q.from, q.to)
		if err != nil {
			return storage.ErrSeriesSet(err)
		}
		q.older = of
	}
	set := q.older.Select(ctx, sorted, hints, matchers...)
	if q.of.grown == nil {
		return set
	}
	var list []storage.Series
	for set.Next() {
		list = append(list, set.At())
	}
	if set.Err() != nil {
		return set
	}
	return withWarnings{q.read(asked, list), set.Warnings()}
}

// withWarnings are series with what is to be said of them.
type withWarnings struct {
	storage.SeriesSet
	warnings annotations.Annotations
}

func (s withWarnings) Warnings() annotations.Annotations { return s.warnings }

// LabelValues implements storage.LabelQuerier; rules do not ask.
func (q *querier) LabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.LabelQuerier; rules do not ask.
func (q *querier) LabelNames(
	context.Context, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (q *querier) Close() error {
	if q.older == nil {
		return nil
	}
	return q.older.Close()
}

// seriesSet is a list of series. It implements storage.SeriesSet.
type seriesSet struct {
	list []storage.Series
	at   int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.list) }
func (s *seriesSet) At() storage.Series                { return s.list[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

package query

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/series"
)

// A dashboard asks the same panel again every few seconds, of a range that has moved by a step.
// What was computed for steps that are over stays true until a late frame comes, so a Range keeps
// it, and the next one computes the steps that are new.
//
// Kept is only what a new evaluation would compute to the last bit: each step's value follows from
// the samples that the step looks at (see IsCacheable), all of these are settled, and nothing was
// said about them, neither a warning nor an info. What is kept counts while nothing old has
// changed (Sources.Unchanged), the account has the same nodes, facts of them and series, no node
// has left, and samples are kept so long.

// minSteps is how many steps are evaluated at least: one alone would be an instant, which other
// sources may answer.
const minSteps = 2

// cacheableRange is one question for a range whose steps may be kept. Times are in ms.
type cacheableRange struct {
	*Engine
	who            account.Principal
	expr           string
	from, to, step int64 // to is where the range ends; the last step may lie before it
	last           int64 // step
	o              Options
	key            resultKey
	ahead          int64 // how long after a step samples are looked at
	now            int64 // when it was asked
}

// cacheableRange returns the question if what it is answered may be kept; nil if not.
func (e *Engine) cacheableRange(
	ctx context.Context, who account.Principal, expr string, from, to time.Time, step time.Duration,
	o Options,
) *cacheableRange {
	if e.results == nil || e.reader.sources.Unchanged == nil || o.Fresh || o.PerStepStats {
		return nil
	}
	r := &cacheableRange{Engine: e, who: who, expr: expr, from: from.UnixMilli(),
		to: to.UnixMilli(), step: step.Milliseconds(), o: o, now: e.config.Clock().UnixMilli()}
	if !time.UnixMilli(r.from).Equal(from) || !time.UnixMilli(r.to).Equal(to) ||
		time.Duration(r.step)*time.Millisecond != step || mod(r.from, r.step) != 0 {
		return nil
	}
	r.last = r.to - mod(r.to-r.from, r.step)
	if r.last-r.from < (minSteps-1)*r.step {
		return nil
	}
	tree, err := e.Expressions.Parse(ctx, expr)
	if err != nil || !expression.IsCacheable(tree) {
		return nil
	}
	if r.o.Lookback <= 0 { // a part of the range is to have the whole one's
		r.o.Lookback = max(e.config.Lookback, rollupLookback(step, expression.Oldest(tree, from, to.Sub(from)),
			e.since(r.now)))
	}
	first, newest := promql.FindMinMaxTime(&parser.EvalStmt{Expr: tree, Start: from, End: from,
		LookbackDelta: r.o.Lookback})
	r.ahead = max(0, newest-r.from)
	if first-series.Lead(r.o.Lookback.Milliseconds())-virtualInterval <
		r.now-e.config.RawRetention.Milliseconds() {
		return nil // samples that it looks at have expired, or are about to
	}
	r.key = resultKey{account: who.Account, expr: tree.String(), scope: who.Sight(), step: r.step,
		lookback: r.o.Lookback}
	return r
}

// settled returns the newest step of which all samples are there or will be told of, and come from
// the store alone: the recent source has late frames before it.
func (r *cacheableRange) settled() int64 {
	wait := max(r.reader.sources.Settles, r.reader.config.RecentSpan+edgeSlack*time.Millisecond+
		virtualInterval*time.Millisecond)
	until := min(r.now-wait.Milliseconds()-r.ahead, r.last)
	return until - mod(until, r.step)
}

// answer answers from what is kept, and evaluates the rest.
func (r *cacheableRange) answer(ctx context.Context) (*Answer, error) {
	before, err := r.fleet(ctx)
	if err != nil {
		return r.part(ctx, r.from, r.to)
	}
	if known := r.current(ctx, before); known != nil {
		a, done, err := r.join(ctx, known, before)
		if done || err != nil {
			return a, err
		}
	}
	r.reader.metrics.results.WithLabelValues(resultMiss).Inc()
	a, err := r.part(ctx, r.from, r.to)
	if err != nil {
		return nil, err
	}
	if m, is := a.plain(); is {
		r.keep(ctx, m, nil, before)
	}
	return a, nil
}

// part evaluates a part of the range.
func (r *cacheableRange) part(ctx context.Context, from, to int64) (*Answer, error) {
	return r.evaluate(ctx, r.who, r.expr, time.UnixMilli(from), time.UnixMilli(to),
		time.Duration(r.step)*time.Millisecond, r.o)
}

// plain returns an answer's series if it is of samples, which are numbers, and nothing is to be
// said about it.
func (a *Answer) plain() (promql.Matrix, bool) {
	m, is := a.Value.(promql.Matrix)
	if !is || len(a.Warnings) > 0 || a.of.usedRollups.Load() || a.of.unseen.Load() {
		return nil, false
	}
	return m, !slices.ContainsFunc(m, func(s promql.Series) bool { return len(s.Histograms) > 0 })
}

// current returns what is kept and counts still; nil if nothing.
func (r *cacheableRange) current(ctx context.Context, fleet fleetVersion) *cachedResult {
	known := r.results.get(r.key)
	if known == nil {
		return nil
	}
	same := known.fleet == fleet
	if same {
		var err error
		same, err = r.reader.sources.Unchanged(ctx, r.who.Account, r.who.Owns, known.began)
		same = same && err == nil
	}
	if !same {
		r.results.drop(r.key, known)
		return nil
	}
	return known
}

// join evaluates what is not kept before and behind what is, and joins them. It is not done if too
// little is kept, or something is to be said about the parts.
func (r *cacheableRange) join(ctx context.Context, known *cachedResult,
	fleet fleetVersion) (*Answer, bool, error) {
	a, b := max(known.from, r.from), min(known.to, r.settled())
	b = min(b, r.last-minSteps*r.step)
	if a > r.from && a-r.from < minSteps*r.step {
		a = r.from + minSteps*r.step
	}
	if a > b {
		return nil, false, nil
	}
	parts := []promql.Matrix{known.between(a, b)}
	if a > r.from {
		head, err := r.part(ctx, r.from, a-r.step)
		if err != nil {
			return nil, true, err
		}
		m, is := head.plain()
		m = copied(m)
		head.Close()
		if !is {
			return nil, false, nil
		}
		parts = append([]promql.Matrix{m}, parts...)
	}
	tail, err := r.part(ctx, b+r.step, r.to)
	if err != nil {
		return nil, true, err
	}
	m, is := tail.plain()
	if !is {
		tail.Close()
		return nil, false, nil
	}
	parts = append(parts, m)
	if err := tail.of.lease().Take(pointsBytes(parts...)); err != nil {
		tail.Close()
		return nil, true, err
	}
	all := joined(parts)
	r.reader.metrics.results.WithLabelValues(resultHit).Inc()
	r.reader.metrics.resultSteps.Add(float64((b-a)/r.step + 1))
	r.keep(ctx, all, known, fleet)
	tail.Result = &promql.Result{Value: all}
	return tail, true, nil
}

// keep keeps the settled steps of an answer, and those before it of what it was made with.
func (r *cacheableRange) keep(ctx context.Context, m promql.Matrix, known *cachedResult,
	fleet fleetVersion) {
	to := r.settled()
	if to < r.from {
		return
	}
	if after, err := r.fleet(ctx); err != nil || after != fleet {
		return
	}
	of := &cachedResult{fleet: fleet, began: r.now, from: r.from, to: to, width: to - r.from}
	if known != nil {
		of.began = min(of.began, known.began)
		of.width = max(of.width, known.width)
		if known.from < of.from && known.to >= of.from-r.step {
			// another panel asks for more of the same
			of.from = max(known.from, to-of.width)
			of.from += mod(-of.from, r.step)
			if of.from < r.from {
				m = joined([]promql.Matrix{known.between(of.from, r.from-r.step), m})
			} else {
				of.from = r.from
			}
		}
	}
	of.series = copied(between(m, of.from, to))
	r.results.put(r.key, of)
}

// fleetVersion tells which nodes and series an account has for a key, and who has left.
type fleetVersion struct{ nodes, recorders, series, left uint64 }

// indexChanges is what an Index may say beside what it selects.
type indexChanges interface {
	// Changes returns a number that is another one after something was added or has gone.
	Changes(account string) uint64
}

func (r *cacheableRange) fleet(ctx context.Context) (id fleetVersion, err error) {
	nodes, recorders, err := r.reader.fleets(ctx, r.who, r.config.NodesTTL)
	if err != nil {
		return id, err
	}
	id.nodes, id.recorders, id.left = nodes.hash(), recorders.hash(), r.reader.Roster().Changes()
	if x, is := r.index.(indexChanges); is {
		id.series = x.Changes(r.who.Account)
	}
	return id, nil
}

// between returns the points from from to to, both inclusive, of the series that have some. They
// are not copied.
func between(m promql.Matrix, from, to int64) promql.Matrix {
	var list promql.Matrix
	for i := range m {
		at := func(p promql.FPoint, t int64) int { return int(min(max(p.T-t, -1), 1)) }
		a, _ := slices.BinarySearchFunc(m[i].Floats, from, at)
		b, _ := slices.BinarySearchFunc(m[i].Floats, to+1, at)
		if a < b {
			list = append(list, promql.Series{Metric: m[i].Metric, Floats: m[i].Floats[a:b]})
		}
	}
	return list
}

// copied copies series: the engine uses those of an answer again.
func copied(m promql.Matrix) promql.Matrix {
	list := make(promql.Matrix, len(m))
	for i := range m {
		list[i] = promql.Series{Metric: m[i].Metric, Floats: slices.Clone(m[i].Floats)}
	}
	return list
}

// joined joins parts that follow each other, into series of their own, sorted by labels.
func joined(parts []promql.Matrix) promql.Matrix {
	all := slices.Concat(parts...)
	slices.SortStableFunc(all, func(a, b promql.Series) int {
		return labels.Compare(a.Metric, b.Metric)
	})
	var list promql.Matrix
	for i := 0; i < len(all); {
		j, n := i, 0
		for ; j < len(all) && labels.Equal(all[i].Metric, all[j].Metric); j++ {
			n += len(all[j].Floats)
		}
		s := promql.Series{Metric: all[i].Metric, Floats: make([]promql.FPoint, 0, n)}
		for ; i < j; i++ {
			s.Floats = append(s.Floats, all[i].Floats...)
		}
		list = append(list, s)
	}
	if list == nil {
		list = promql.Matrix{}
	}
	return list
}

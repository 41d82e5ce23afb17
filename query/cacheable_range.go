package query

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/results"
	"github.com/ringwatch/ringwatch/query/selection"
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
	engine         *Engine
	who            account.Principal
	expr           string
	from, to, step int64 // to is where the range ends; the last step may lie before it
	last           int64 // step
	o              Options
	key            results.Key
	ahead          int64 // how long after a step samples are looked at
	now            int64 // when it was asked
}

// cacheableRange returns the question if what it is answered may be kept; nil if not.
func (e *Engine) cacheableRange(
	ctx context.Context, who account.Principal, expr string, from, to time.Time, step time.Duration,
	o Options,
) *cacheableRange {
	if e.results == nil || !e.source.Reader.TellsChanges() || o.Fresh || o.PerStepStats {
		return nil
	}
	r := &cacheableRange{engine: e, who: who, expr: expr, from: from.UnixMilli(),
		to: to.UnixMilli(), step: step.Milliseconds(), o: o, now: e.config.Clock().UnixMilli()}
	if !time.UnixMilli(r.from).Equal(from) || !time.UnixMilli(r.to).Equal(to) ||
		time.Duration(r.step)*time.Millisecond != step || plan.Mod(r.from, r.step) != 0 {
		return nil
	}
	r.last = r.to - plan.Mod(r.to-r.from, r.step)
	if r.last-r.from < (minSteps-1)*r.step {
		return nil
	}
	tree, err := e.Expressions.Parse(ctx, expr)
	if err != nil || !expression.IsCacheable(tree) {
		return nil
	}
	if r.o.Lookback <= 0 { // a part of the range is to have the whole one's
		r.o.Lookback = max(e.config.Lookback, plan.RollupLookback(step,
			expression.Oldest(tree, from, to.Sub(from)),
			e.source.Since(r.now)))
	}
	first, newest := promql.FindMinMaxTime(&parser.EvalStmt{Expr: tree, Start: from, End: from,
		LookbackDelta: r.o.Lookback})
	r.ahead = max(0, newest-r.from)
	if first-series.Lead(r.o.Lookback.Milliseconds())-selection.OwnInterval <
		r.now-e.config.RawRetention.Milliseconds() {
		return nil // samples that it looks at have expired, or are about to
	}
	r.key = results.Key{Account: who.Account, Expr: tree.String(), Scope: who.Sight(), Step: r.step,
		Lookback: r.o.Lookback}
	return r
}

// settled returns the newest step of which all samples are there or will be told of, and come from
// the store alone: the recent source has late frames before it.
func (r *cacheableRange) settled() int64 {
	wait := r.engine.source.Reader.SettledAfter(selection.OwnInterval * time.Millisecond)
	until := min(r.now-wait.Milliseconds()-r.ahead, r.last)
	return until - plan.Mod(until, r.step)
}

// evaluate answers from what is kept, and evaluates the rest.
func (r *cacheableRange) evaluate(ctx context.Context) (*Answer, error) {
	before, err := r.fleet(ctx)
	if err != nil {
		return r.evaluateSteps(ctx, r.from, r.to)
	}
	if known := r.current(ctx, before); known != nil {
		a, done, err := r.join(ctx, known, before)
		if done || err != nil {
			return a, err
		}
	}
	r.engine.source.Reader.Results.Answered(results.Miss)
	a, err := r.evaluateSteps(ctx, r.from, r.to)
	if err != nil {
		return nil, err
	}
	if m, is := a.plain(); is {
		r.keep(ctx, m, nil, before)
	}
	return a, nil
}

// evaluateSteps evaluates the steps from one to another one.
func (r *cacheableRange) evaluateSteps(ctx context.Context, from, to int64) (*Answer, error) {
	return r.engine.evaluate(ctx, r.who, r.expr, time.UnixMilli(from), time.UnixMilli(to),
		time.Duration(r.step)*time.Millisecond, r.o)
}

// current returns what is kept and counts still; nil if nothing.
func (r *cacheableRange) current(ctx context.Context, fleet results.FleetVersion) *results.Result {
	known := r.engine.results.Get(r.key)
	if known == nil {
		return nil
	}
	holds := known.Fleet == fleet
	if holds {
		var err error
		holds, err = r.engine.source.Reader.StillHolds(ctx, r.who.Account, r.who.Owns, known.Began)
		holds = holds && err == nil
	}
	if !holds {
		r.engine.results.Drop(r.key, known)
		return nil
	}
	return known
}

// join evaluates what is not kept before and behind what is, and joins them. It is not done if too
// little is kept, or something is to be said about the parts.
func (r *cacheableRange) join(ctx context.Context, known *results.Result,
	fleet results.FleetVersion) (*Answer, bool, error) {
	a, b := max(known.From, r.from), min(known.To, r.settled())
	b = min(b, r.last-minSteps*r.step)
	if a > r.from && a-r.from < minSteps*r.step {
		a = r.from + minSteps*r.step
	}
	if a > b {
		return nil, false, nil
	}
	parts := []promql.Matrix{known.Between(a, b)}
	if a > r.from {
		head, err := r.evaluateSteps(ctx, r.from, a-r.step)
		if err != nil {
			return nil, true, err
		}
		m, is := head.plain()
		m = results.Copied(m)
		head.Close()
		if !is {
			return nil, false, nil
		}
		parts = append([]promql.Matrix{m}, parts...)
	}
	tail, err := r.evaluateSteps(ctx, b+r.step, r.to)
	if err != nil {
		return nil, true, err
	}
	m, is := tail.plain()
	if !is {
		tail.Close()
		return nil, false, nil
	}
	parts = append(parts, m)
	if err := tail.query.Lease().Take(results.PointsBytes(parts...)); err != nil {
		tail.Close()
		return nil, true, err
	}
	all := results.Joined(parts)
	r.engine.source.Reader.Results.Answered(results.Hit)
	r.engine.source.Reader.Results.Reused((b-a)/r.step + 1)
	r.keep(ctx, all, known, fleet)
	tail.Result = &promql.Result{Value: all}
	return tail, true, nil
}

// keep keeps the settled steps of an answer, and those before it of what it was made with.
func (r *cacheableRange) keep(ctx context.Context, m promql.Matrix, known *results.Result,
	fleet results.FleetVersion) {
	to := r.settled()
	if to < r.from {
		return
	}
	if after, err := r.fleet(ctx); err != nil || after != fleet {
		return
	}
	of := &results.Result{Fleet: fleet, Began: r.now, From: r.from, To: to, Width: to - r.from}
	if known != nil {
		of.Began = min(of.Began, known.Began)
		of.Width = max(of.Width, known.Width)
		if known.From < of.From && known.To >= of.From-r.step {
			// another panel asks for more of the same
			of.From = max(known.From, to-of.Width)
			of.From += plan.Mod(-of.From, r.step)
			if of.From < r.from {
				m = results.Joined([]promql.Matrix{known.Between(of.From, r.from-r.step), m})
			} else {
				of.From = r.from
			}
		}
	}
	of.Series = results.Copied(results.Between(m, of.From, to))
	r.engine.results.Put(r.key, of)
}

// indexChanges is what an Index may say beside what it selects.
type indexChanges interface {
	// Changes returns a number that is another one after something was added or has gone.
	Changes(account string) uint64
}

func (r *cacheableRange) fleet(ctx context.Context) (id results.FleetVersion, err error) {
	nodes, recorders, err := r.engine.source.Reader.Fleets(ctx, r.who, r.engine.config.NodesTTL)
	if err != nil {
		return id, err
	}
	id.Nodes, id.Recorders = nodes.Hash(), recorders.Hash()
	id.Departures = r.engine.source.Reader.Roster().Changes()
	if x, is := r.engine.source.Index.(indexChanges); is {
		id.Series = x.Changes(r.who.Account)
	}
	return id, nil
}

package query

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/features"
	"github.com/prometheus/prometheus/util/logging"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dictionary"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/metadata"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/results"
	"github.com/ringwatch/ringwatch/query/selection"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/query/share"
)

// Engine answers PromQL over everything that is kept, for one account at a time. Its methods may be
// called from many goroutines.
//
// What it promises: an answer is what Prometheus's own engine makes of the samples that Reader
// gives. A query has its answer or its error at most a second after its timeout, whatever it
// computes. A query that asks for more than its account may have is refused with the limit's name
// (LimitError, BusyError, package memory's errors), and makes nobody else wait.
type Engine struct {
	// Expressions reads expressions and selectors, bounded.
	Expressions *expression.Parser
	// Lists says which series there are.
	Lists *metadata.Lists

	config   Config
	source   *selection.Source
	promql   *promql.Engine
	queue    *limit.Queue
	cpu      share.CPU
	features features.Collector
	tracker  *promql.ActiveQueryTracker
	log      *logging.JSONFileLogger
	results  *results.Cache // nil: none are kept
	// noKernels is for tests: Prometheus's engine computes everything.
	noKernels bool
	kernels   atomic.Int64 // what kernels have answered
}

// NewEngine validates and registers the engine's metrics; reg may be nil. index may be nil: then
// all of the nodes that a selector's labels allow are asked, and Lists have no
// answer.
func NewEngine(
	c Config, r *read.Reader, index plan.Index, selectors *selector.Parser,
	reg prometheus.Registerer, log *slog.Logger,
) (*Engine, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	e := &Engine{config: c, Expressions: expression.NewParser(selectors),
		features: features.NewRegistry()}
	e.source = &selection.Source{Reader: r, Index: index, Kinds: plan.NewKinds(index, c.Clock),
		Limits: c.limits()}
	e.Lists = metadata.New(e.source)
	if e.results = results.NewCache(c.ResultsBytes); e.results != nil {
		r.Results.TellOf(e.results)
	}
	e.cpu = share.NewCPU()
	e.queue = limit.NewQueue(c.MaxConcurrent, c.MaxPerAccount, c.MaxWaiting)
	e.Expressions.PromQL().RegisterFeatures(e.features)
	opts := promql.EngineOpts{
		Logger: log, MaxSamples: c.MaxSamples, Timeout: c.Timeout, LookbackDelta: c.Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 {
			return expression.DefaultStep.Milliseconds()
		},
		EnableAtModifier: true, EnableNegativeOffset: true, EnablePerStepStats: true,
		Parser: e.Expressions.PromQL(), FeatureRegistry: e.features,
	}
	if reg != nil {
		opts.Reg = prometheus.WrapRegistererWithPrefix(dictionary.EnginePrefix, reg)
	}
	if c.ActiveDir != "" {
		var err error
		if e.tracker, err = promql.NewActiveQueryTracker(c.ActiveDir, c.MaxConcurrent,
			log); err != nil {
			return nil, fmt.Errorf("query: active_dir: %w", err)
		}
		opts.ActiveQueryTracker = e.tracker
	}
	e.promql = promql.NewEngine(opts)
	if c.LogFile != "" {
		var err error
		if e.log, err = logging.NewJSONFileLogger(c.LogFile); err != nil {
			return nil, fmt.Errorf("query: log_file: %w", err)
		}
		e.promql.SetQueryLogger(e.log)
	}
	return e, nil
}

// Close ends the log and the file of active queries.
func (e *Engine) Close() error {
	err := e.promql.Close()
	if e.log != nil {
		err = errors.Join(err, e.log.Close())
	}
	return err
}

// Features returns what this PromQL has and has not, in Prometheus's words by category and name.
func (e *Engine) Features() map[string]map[string]bool { return e.features.Get() }

// Instant evaluates an expression at one instant.
func (e *Engine) Instant(
	ctx context.Context, who account.Principal, expr string, at time.Time, o Options,
) (*Answer, error) {
	return e.run(ctx, who, expr, o, at, 0, 0, 1,
		func(q storage.Queryable, opts promql.QueryOpts) (promql.Query, error) {
			return e.promql.NewInstantQuery(ctx, q, opts, expr, at)
		})
}

// Range evaluates an expression at from, from+step … until to.
func (e *Engine) Range(
	ctx context.Context, who account.Principal, expr string, from, to time.Time, step time.Duration,
	o Options,
) (*Answer, error) {
	if n := int64(to.Sub(from)/step) + 1; n > e.config.MaxSteps {
		return nil, &limit.Error{Limit: "max_steps", Value: e.config.MaxSteps, Needed: n,
			Unit: "steps", Remedy: "use a wider step or less time"}
	}
	if r := e.cacheableRange(ctx, who, expr, from, to, step, o); r != nil {
		return r.evaluate(ctx)
	}
	e.source.Reader.Results.Answered(results.Around)
	return e.evaluate(ctx, who, expr, from, to, step, o)
}

// evaluate is Range without what is kept.
func (e *Engine) evaluate(
	ctx context.Context, who account.Principal, expr string, from, to time.Time, step time.Duration,
	o Options,
) (*Answer, error) {
	return e.run(ctx, who, expr, o, from, step, to.Sub(from), float64(to.Sub(from)/step)+1,
		func(q storage.Queryable, opts promql.QueryOpts) (promql.Query, error) {
			return e.promql.NewRangeQuery(ctx, q, opts, expr, from, to, step)
		})
}

func (e *Engine) run(
	ctx context.Context, who account.Principal, expr string, o Options,
	from time.Time, step, span time.Duration, steps float64,
	begin func(storage.Queryable, promql.QueryOpts) (promql.Query, error),
) (*Answer, error) {
	tree, err := e.Expressions.Parse(ctx, expr)
	if err != nil {
		return nil, &ExpressionError{Err: err}
	}
	if err := expression.BoundSubqueries(tree, span, steps,
		e.config.MaxSubqueryPoints); err != nil {
		return nil, err
	}
	growth := expression.NewLabelGrowth(tree, span, steps, e.config.MaxLabelBytes)
	if err := growth.Check(); err != nil {
		return nil, err
	}
	if o.Timeout <= 0 || o.Timeout > e.config.Timeout {
		o.Timeout = e.config.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	leave, err := e.queue.Enter(ctx, who.Account, e.wide(ctx, who, tree))
	if err != nil {
		cancel()
		return nil, err
	}
	ctx, shut := e.source.Reader.Shared.Scope(e.cpu.Within(ctx), who.Account)
	end := func() { shut(); leave(); cancel() }
	if o.Lookback <= 0 {
		o.Lookback = max(e.config.Lookback, plan.RollupLookback(step,
			expression.Oldest(tree, from, span),
			e.source.Since(e.config.Clock().UnixMilli())))
	}
	one := &selection.Query{Source: e.source, Ctx: ctx, Who: who,
		Lookback: o.Lookback.Milliseconds()}
	of := &queryable{query: one, lists: e.Lists, grown: growth.Begin(memory.Of(ctx), "timeout",
		o.Timeout)}
	query, err := begin(of, promql.NewPrometheusQueryOpts(o.PerStepStats, o.Lookback))
	if err != nil {
		end()
		return nil, &ExpressionError{Err: err}
	}
	one.Within = expression.OffsetsInSubqueries(query.Statement())
	a := &Answer{Query: query, query: one, end: end}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !e.noKernels {
			err := of.compute(ctx, query.Statement())
			e.kernels.Add(one.Kernels.Load())
			if err != nil {
				a.Result = &promql.Result{Err: err}
				return
			}
		}
		a.Result = query.Exec(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		if !doneWithin(grace, done) {
			go func() { // it keeps its place and its memory until it has ended
				<-done
				a.Close()
			}()
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, promql.ErrQueryCanceled("expression evaluation")
			}
			return nil, promql.ErrQueryTimeout("expression evaluation")
		}
	}
	if a.Err != nil {
		err := a.Err
		a.Close()
		return nil, unwrapped(err)
	}
	return a, nil
}

// wideNodes is of how many nodes a query is wide: it takes a core for longer than all panels of a
// cluster's page.
const wideNodes = 1000

// wide reports whether a selector of an expression means very many nodes.
func (e *Engine) wide(ctx context.Context, who account.Principal, tree parser.Expr) bool {
	nodes, _, err := e.source.Reader.Fleets(ctx, who, e.config.NodesTTL)
	if err != nil || len(nodes.Nodes) <= wideNodes {
		return false
	}
	for _, matchers := range parser.ExtractSelectors(tree) {
		p := plan.New(matchers, func() map[string]frame.Kind { return nil })
		if p.Place.Pick(nodes).Count(nodes) > wideNodes {
			return true
		}
	}
	return false
}

// grace is how long a query that is over its time is waited for: Prometheus's engine looks at the
// time between steps and between series. What it does in one go is bounded beforehand.
const grace = 500 * time.Millisecond

// doneWithin reports whether something is done within a time.
func doneWithin(d time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// Queryable returns what answers selectors without PromQL, the context to ask it with, and a
// function that gives back the memory of the answers. With a lookback, a selector of just that
// time is only asked for the newest values.
func (e *Engine) Queryable(
	ctx context.Context, who account.Principal, lookback time.Duration,
) (storage.Queryable, context.Context, func(), error) {
	leave, err := e.queue.Enter(ctx, who.Account, false)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, shut := e.source.Reader.Shared.Scope(ctx, who.Account)
	one := &selection.Query{Source: e.source, Ctx: ctx, Who: who, Lookback: lookback.Milliseconds()}
	return &queryable{query: one, lists: e.Lists}, ctx, func() { shut(); leave() }, nil
}

// Begin waits for a place among the account's queries, for work that takes a processor for as long
// as they do, such as the text of a whole cluster. end is to be called when that is done; more
// calls do nothing. The work is done in the context that it returns, and where it only computes
// OnCPU. The error is ctx's, or a BusyError.
func (e *Engine) Begin(
	ctx context.Context, accountName string,
) (of context.Context, end func(), err error) {
	end, err = e.queue.Enter(ctx, accountName, false)
	return e.cpu.Within(ctx), end, err
}

package query

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/selection"
)

// Running returns how many queries hold a place.
func (e *Engine) Running() int { return e.queue.Running() }

// Alone lets Prometheus's engine compute everything, as if there were no kernels.
func (e *Engine) Alone() { e.noKernels = true }

// Kernels returns how many parts of expressions kernels have answered.
func (e *Engine) Kernels() int64 { return e.kernels.Load() }

// Planned plans a selector for rates over a time range, in ms, and returns how many nodes it asks.
func (e *Engine) Planned(
	ctx context.Context, who account.Principal, from, to int64, matchers []*labels.Matcher,
) (int, error) {
	q := &selection.Query{Source: e.source, Ctx: ctx, Who: who,
		Lookback: e.config.Lookback.Milliseconds()}
	h := &storage.SelectHints{Start: from, End: to, Step: 60_000, Range: 300_000, Func: "rate"}
	_, asked, _, err := q.Prepare(ctx, h, plan.NewWindows(h, matchers, q.Lookback, nil), matchers,
		true)
	return len(asked), err
}

// Wide reports whether an expression is one of very many nodes.
func (e *Engine) Wide(ctx context.Context, who account.Principal, expr string) (bool, error) {
	tree, err := e.Expressions.Parse(ctx, expr)
	return err == nil && e.wide(ctx, who, tree), err
}

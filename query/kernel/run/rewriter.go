package run

import (
	"context"
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/query/selection"
	"github.com/ringwatch/ringwatch/query/series"
)

// Compute answers the parts of a query's expression that kernels know, puts selectors in
// their place, and returns the answers by the selectors' first matcher. The error is that of
// reading.
func Compute(
	ctx context.Context, q *selection.Query, eval *parser.EvalStmt,
) (map[*labels.Matcher]Answered, error) {
	p := rewriter{query: q, ctx: ctx, eval: eval}
	root := p.walk(eval.Expr)
	if p.err != nil {
		return nil, p.err
	}
	eval.Expr = root
	return p.computed, nil
}

// Answered is what a kernel has answered.
type Answered struct {
	List     []*series.Series
	Warnings annotations.Annotations
}

// rewriter walks over an expression.
type rewriter struct {
	query    *selection.Query
	ctx      context.Context
	eval     *parser.EvalStmt
	computed map[*labels.Matcher]Answered
	err      error
}

// walk returns an expression in which selectors stand for what kernels have answered. What is in a
// subquery stays.
func (p *rewriter) walk(e parser.Expr) parser.Expr {
	if p.err != nil {
		return e
	}
	if k := p.question(e); k != nil {
		return p.answered(k)
	}
	switch n := e.(type) {
	case *parser.ParenExpr:
		n.Expr = p.walk(n.Expr)
	case *parser.StepInvariantExpr:
		n.Expr = p.walkOnce(n.Expr)
	case *parser.UnaryExpr:
		n.Expr = p.walk(n.Expr)
	case *parser.BinaryExpr:
		n.LHS, n.RHS = p.walk(n.LHS), p.walk(n.RHS)
	case *parser.AggregateExpr:
		n.Expr = p.walk(n.Expr)
		if n.Param != nil {
			n.Param = p.walk(n.Param)
		}
	case *parser.Call:
		if n.Func.Name == "info" { // it asks for series of its own
			return e
		}
		for i := range n.Args {
			switch n.Func.Name {
			case "histogram_count", "histogram_sum", "histogram_avg":
				if k := p.question(expression.Unparenthesized(n.Args[i])); k != nil {
					k.counts = true
					n.Args[i] = p.answered(k)
					continue
				}
			}
			n.Args[i] = p.walk(n.Args[i])
		}
	}
	return e
}

// walkOnce is walk for an expression that is the same at all steps: the engine evaluates it at the
// first one, and repeats what it gets.
func (p *rewriter) walkOnce(e parser.Expr) parser.Expr {
	all := p.eval
	defer func() { p.eval = all }()
	first := *all
	first.End, first.Interval = all.Start, 0
	p.eval = &first
	return p.walk(e)
}

// answered returns the selector that stands for a question, or the question's expression if the
// engine must answer it.
func (p *rewriter) answered(k *question) parser.Expr {
	list, warnings, err := runKernel(p.ctx, p.query, p.eval, k)
	if errors.Is(err, errUseEngine) {
		return k.expr
	}
	if err != nil {
		p.err = err
		return k.expr
	}
	// The matcher itself is the key, so nobody can write one.
	m := labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, "kernel")
	if p.computed == nil {
		p.computed = map[*labels.Matcher]Answered{}
	}
	p.computed[m] = Answered{list, warnings}
	return &parser.VectorSelector{LabelMatchers: []*labels.Matcher{m},
		PosRange: k.expr.PositionRange()}
}

// question returns what a kernel may answer; nil if it is nothing of that kind.
func (p *rewriter) question(e parser.Expr) *question {
	k := &question{expr: e}
	inner := e
	if a, is := e.(*parser.AggregateExpr); is {
		k.by = a.Op.String()
		if k.operation, is = operationOf(a); !is {
			return nil
		}
		k.aggregates, k.without = true, a.Without
		k.grouping = slices.Sorted(slices.Values(a.Grouping))
		inner = expression.Unparenthesized(a.Expr)
	}
	switch n := inner.(type) {
	case *parser.VectorSelector:
		k.selector = n
		if !k.aggregates {
			return nil
		}
	case *parser.Call:
		if kernel.Function(n.Func.Name) == nil || len(n.Args) != 1 {
			return nil
		}
		m, is := n.Args[0].(*parser.MatrixSelector)
		if !is || m.RangeExpr != nil || m.Range <= 0 {
			return nil
		}
		if k.selector, is = m.VectorSelector.(*parser.VectorSelector); !is {
			return nil
		}
		k.function, k.argument, k.width = n.Func.Name, m, m.Range.Milliseconds()
	default:
		return nil
	}
	s := k.selector
	if s.Anchored || s.Smoothed || s.OriginalOffsetExpr != nil ||
		k.dropsName() && !expression.NamesOne(s.LabelMatchers) {
		return nil
	}
	return k
}

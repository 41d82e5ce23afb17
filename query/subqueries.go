package query

import (
	"math"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// subqueryPoints returns how many points of subqueries an expression's evaluation looks at for a
// series, if it is evaluated at so many steps over span: each step of what stands around a subquery
// looks at all points of its window. Prometheus's engine does that in one loop, which a query's end
// does not stop.
func subqueryPoints(expr parser.Node, span time.Duration, steps float64) float64 {
	total := 0.0
	if s, is := expr.(*parser.SubqueryExpr); is {
		every := s.Step
		if every <= 0 {
			every = defaultStep
		}
		total = steps * math.Ceil(float64(s.Range)/float64(every))
		span += s.Range
		steps = math.Ceil(float64(span)/float64(every)) + 1
	}
	for child := range parser.ChildrenIter(expr) {
		total += subqueryPoints(child, span, steps)
	}
	return total
}

// boundSubqueries refuses an expression whose subqueries are too fine.
func (e *Engine) boundSubqueries(expr parser.Expr, span time.Duration, steps float64) error {
	n := subqueryPoints(expr, span, steps)
	if n <= float64(e.config.MaxSubqueryPoints) {
		return nil
	}
	return &LimitError{Limit: "max_subquery_points", Value: e.config.MaxSubqueryPoints,
		Needed: int64(min(n, math.MaxInt64/2)),
		Unit:   "points of subqueries", Remedy: "use a wider step after the colon, a shorter range before it, or fewer subqueries in each other"}
}

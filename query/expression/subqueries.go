package expression

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/limit"
)

// subqueryPoints returns how many points of subqueries an expression's evaluation looks at for a
// series, if it is evaluated at so many steps over span: each step of what stands around a subquery
// looks at all points of its window. Prometheus's engine does that in one loop, which a query's end
// does not stop. Points that are sorted in each window count as sortedPoints.
func subqueryPoints(expr parser.Node, span time.Duration, steps float64) float64 {
	return pointsWithin(expr, span, steps, 1)
}

// pointsWithin is subqueryPoints where a point of expr itself counts as so many.
func pointsWithin(expr parser.Node, span time.Duration, steps, weight float64) float64 {
	total := 0.0
	switch e := expr.(type) {
	case *parser.ParenExpr:
		return pointsWithin(e.Expr, span, steps, weight)
	case *parser.SubqueryExpr:
		every := e.Step
		if every <= 0 {
			every = DefaultStep
		}
		total = weight * steps * math.Ceil(float64(e.Range)/float64(every))
		span += e.Range
		steps = math.Ceil(float64(span)/float64(every)) + 1
	}
	weight = 1
	if c, is := expr.(*parser.Call); is &&
		(c.Func.Name == "quantile_over_time" || c.Func.Name == "mad_over_time") {
		weight = sortedPoints
	}
	for child := range parser.ChildrenIter(expr) {
		total += pointsWithin(child, span, steps, weight)
	}
	return total
}

// sortedPoints is how many points one costs that is sorted: 60 ns in windows of some thousands,
// where adding it up takes 3.
const sortedPoints = 20

// BoundSubqueries refuses an expression whose subqueries look at more than so many points of each
// series, if it is evaluated at so many steps over span. The error is a *limit.Error.
func BoundSubqueries(expr parser.Expr, span time.Duration, steps float64, most int64) error {
	n := subqueryPoints(expr, span, steps)
	if n <= float64(most) {
		return nil
	}
	return &limit.Error{Limit: "max_subquery_points", Value: most,
		Needed: int64(min(n, math.MaxInt64/2)), Unit: "points of subqueries",
		Remedy: "use a wider step after the colon, a shorter range before it, or fewer " +
			"subqueries in each other"}
}

// SubqueryOffsets are the selectors of a query that stand in subqueries, by their first matcher,
// with their own offsets. It is nil for what is no query.
type SubqueryOffsets map[*labels.Matcher]int64

// OffsetsInSubqueries finds the selectors that Prometheus's engine will ask for.
func OffsetsInSubqueries(statement parser.Statement) SubqueryOffsets {
	list := SubqueryOffsets{}
	eval, is := statement.(*parser.EvalStmt)
	if !is {
		return nil
	}
	parser.Inspect(eval.Expr, func(n parser.Node, path []parser.Node) error {
		s, is := n.(*parser.VectorSelector)
		if is && len(s.LabelMatchers) > 0 && slices.ContainsFunc(path, isSubquery) {
			list[s.LabelMatchers[0]] = s.OriginalOffset.Milliseconds()
		}
		return nil
	})
	return list
}

func isSubquery(n parser.Node) bool { _, is := n.(*parser.SubqueryExpr); return is }

// DefaultStep is a subquery's step if it names none.
const DefaultStep = time.Minute

package expression

import (
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Oldest returns the first instant, in ms, that an expression looks at, without a lookback.
func Oldest(expr parser.Expr, from time.Time, span time.Duration) int64 {
	at, _ := promql.FindMinMaxTime(&parser.EvalStmt{Expr: expr, Start: from, End: from.Add(span)})
	return at
}

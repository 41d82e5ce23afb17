package peers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

var promql = parser.NewParser(parser.Options{EnableExperimentalFunctions: true})

// Words returns an expression over native histograms in the words of a Prometheus that has their
// buckets as series: _count for histogram_count, _sum for histogram_sum, and _bucket by le for
// histogram_quantile and for what is a histogram itself. native says which metrics are histograms.
// An expression that it has no words for is left as it is: then the answers differ, which is told.
func Words(expr string, native func(metric string) bool) (string, error) {
	tree, err := promql.ParseExpr(expr)
	if err != nil {
		return "", fmt.Errorf("%s: %w", expr, err)
	}
	return classicOf(tree, "_bucket", native).String(), nil
}

func classicOf(e parser.Expr, as string, native func(string) bool) parser.Expr {
	switch n := e.(type) {
	case *parser.Call:
		switch n.Func.Name {
		case "histogram_count", "histogram_sum":
			return classicOf(n.Args[0], strings.TrimPrefix(n.Func.Name, "histogram"), native)
		}
		for i := range n.Args {
			n.Args[i] = classicOf(n.Args[i], as, native)
		}
	case *parser.AggregateExpr:
		n.Expr = classicOf(n.Expr, as, native)
		if as == "_bucket" && n.Op == parser.SUM && !n.Without && hasBuckets(n.Expr) &&
			!slices.Contains(n.Grouping, "le") {
			n.Grouping = append(n.Grouping, "le")
		}
	case *parser.BinaryExpr:
		n.LHS, n.RHS = classicOf(n.LHS, as, native), classicOf(n.RHS, as, native)
	case *parser.ParenExpr:
		n.Expr = classicOf(n.Expr, as, native)
	case *parser.UnaryExpr:
		n.Expr = classicOf(n.Expr, as, native)
	case *parser.SubqueryExpr:
		n.Expr = classicOf(n.Expr, as, native)
	case *parser.MatrixSelector:
		n.VectorSelector = classicOf(n.VectorSelector, as, native)
	case *parser.VectorSelector:
		if !native(n.Name) {
			break
		}
		n.Name += as
		for _, m := range n.LabelMatchers {
			if m.Name == labels.MetricName {
				m.Value = n.Name
			}
		}
	}
	return e
}

// hasBuckets reports whether buckets come out of an expression: it selects some, and nothing has
// made values of them.
func hasBuckets(e parser.Expr) (found bool) {
	switch n := e.(type) {
	case *parser.Call:
		return n.Func.Name != "histogram_quantile" && len(n.Args) > 0 &&
			slices.ContainsFunc(n.Args, hasBuckets)
	case *parser.AggregateExpr:
		return hasBuckets(n.Expr)
	case *parser.BinaryExpr:
		return hasBuckets(n.LHS) || hasBuckets(n.RHS)
	case *parser.ParenExpr:
		return hasBuckets(n.Expr)
	case *parser.MatrixSelector:
		return hasBuckets(n.VectorSelector)
	case *parser.VectorSelector:
		return strings.HasSuffix(n.Name, "_bucket")
	}
	return false
}

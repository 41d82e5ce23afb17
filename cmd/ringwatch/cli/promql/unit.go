package promql

import (
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// unitOf returns the unit of an expression's values in words, such as seconds or bytes per second,
// by the metrics' names; nothing where the names do not tell it for sure.
func unitOf(expression string) string {
	parse := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	tree, err := parse.ParseExpr(expression)
	if err != nil {
		return ""
	}
	return unitOfTree(tree)
}

func unitOfTree(e parser.Expr) string {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return unitOfTree(e.Expr)
	case *parser.StepInvariantExpr:
		return unitOfTree(e.Expr)
	case *parser.SubqueryExpr:
		return unitOfTree(e.Expr)
	case *parser.MatrixSelector:
		return unitOfTree(e.VectorSelector)
	case *parser.VectorSelector:
		return unitOfName(e.Name)
	case *parser.AggregateExpr:
		return unitOfAggregate(e)
	case *parser.Call:
		return unitOfCall(e)
	}
	return "" // of a product or a quotient nobody knows it for sure
}

// unitOfName reads a name's suffixes, as Prometheus recommends them.
func unitOfName(name string) string {
	name = strings.TrimSuffix(name, "_total")
	switch {
	case strings.HasSuffix(name, "_timestamp_seconds"):
		return "" // an instant
	case strings.HasSuffix(name, "_seconds"), strings.HasSuffix(name, "_seconds_sum"):
		return "seconds"
	case strings.HasSuffix(name, "_bytes"), strings.HasSuffix(name, "_bytes_sum"):
		return "bytes"
	}
	return ""
}

func unitOfAggregate(e *parser.AggregateExpr) string {
	switch e.Op {
	case parser.SUM, parser.AVG, parser.MIN, parser.MAX, parser.TOPK, parser.BOTTOMK,
		parser.QUANTILE, parser.STDDEV, parser.LIMITK:
		return unitOfTree(e.Expr)
	}
	return ""
}

func unitOfCall(e *parser.Call) string {
	if len(e.Args) == 0 {
		return ""
	}
	switch name := e.Func.Name; name {
	case "histogram_quantile":
		return unitOfDistribution(e.Args[1])
	case "histogram_avg", "histogram_sum":
		return unitOfTree(e.Args[0])
	case "rate", "irate", "deriv":
		unit := unitOfTree(e.Args[0])
		if unit == "seconds" {
			return "" // seconds in a second: a share of the time, or a histogram
		}
		return strings.TrimPrefix(unit+" per second", " ")
	case "quantile_over_time":
		return unitOfTree(e.Args[1])
	case "increase", "delta", "idelta", "abs", "sort", "sort_desc", "clamp_min", "clamp_max",
		"clamp", "label_replace", "label_join", "avg_over_time", "min_over_time", "max_over_time",
		"sum_over_time", "last_over_time", "first_over_time", "stddev_over_time":
		return unitOfTree(e.Args[0])
	}
	return ""
}

// unitOfDistribution is the unit of what a histogram counts, whatever was reckoned of its counts.
func unitOfDistribution(e parser.Expr) (unit string) {
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok && unit == "" {
			unit = unitOfName(strings.TrimSuffix(v.Name, "_bucket"))
		}
		return nil
	})
	return unit
}

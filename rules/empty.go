package rules

import (
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// Of thousands of rules about single tables or nodes most select nothing in a given cluster. Most
// of these need no engine: emptyOnEmpty says of which expressions the result is then empty, too.

// emptyOnEmpty reports whether an expression is known to yield no series if its selectors select
// none.
func emptyOnEmpty(expr parser.Expr) bool {
	switch e := expr.(type) {
	case *parser.VectorSelector, *parser.MatrixSelector:
		return true
	case *parser.ParenExpr:
		return emptyOnEmpty(e.Expr)
	case *parser.UnaryExpr:
		return emptyOnEmpty(e.Expr)
	case *parser.SubqueryExpr:
		return emptyOnEmpty(e.Expr)
	case *parser.AggregateExpr:
		return emptyOnEmpty(e.Expr)
	case *parser.BinaryExpr:
		of := func(side parser.Expr) bool {
			return side.Type() == parser.ValueTypeScalar || emptyOnEmpty(side)
		}
		return e.Type() == parser.ValueTypeVector && of(e.LHS) && of(e.RHS)
	case *parser.Call:
		switch e.Func.Name {
		case "absent", "absent_over_time", "scalar":
			return false
		}
		series := false
		for _, arg := range e.Args {
			switch arg.Type() {
			case parser.ValueTypeVector, parser.ValueTypeMatrix:
				if !emptyOnEmpty(arg) {
					return false
				}
				series = true
			}
		}
		return series
	}
	return false
}

// selectsNothing reports whether an expression of a rule, by its text, is known to yield nothing.
func (p *ruleScope) selectsNothing(text string, seen map[*selector][]*seriesView) bool {
	of, is := p.emptyOnEmpty[text]
	return is && !slices.ContainsFunc(of, func(s *selector) bool {
		return s.past || s.keep == 0 || len(seen[s]) > 0
	})
}

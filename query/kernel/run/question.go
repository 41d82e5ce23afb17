package run

import (
	"errors"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/query/selection"
)

// question is what a kernel may answer: an aggregation of a function of a range vector, or of
// a selector.
type question struct {
	expr     parser.Expr // all of it
	selector *parser.VectorSelector
	function string // of the range vector; empty: there is none
	argument parser.Expr
	width    int64 // of the range vector, ms

	aggregates bool // false: the function's series are the answer
	operation  kernel.Operation
	by         string // the operation's name
	grouping   []string
	without    bool
	counts     bool // of histograms only the counts and sums are looked at
}

// onlyCounts reports whether the question only looks at where there are samples, not at what they
// say, so that a histogram is as good as a number.
func (k *question) onlyCounts() bool {
	switch k.function {
	case "count_over_time", "present_over_time":
		return true
	case "", "last_over_time", "first_over_time":
		return k.by == "count" || k.by == "group"
	}
	return false
}

// operationOf returns what an aggregation does; false if no kernel knows it. Its parameter, if it
// has one, is a number that stands in the expression.
func operationOf(a *parser.AggregateExpr) (kernel.Operation, bool) {
	if a.Param == nil {
		return kernel.NewOperation(a.Op.String(), 0)
	}
	n, is := expression.Unparenthesized(a.Param).(*parser.NumberLiteral)
	if !is {
		return kernel.Operation{}, false
	}
	return kernel.NewOperation(a.Op.String(), n.Val)
}

// dropsName reports whether the function's series have no name.
func (k *question) dropsName() bool {
	return k.function != "" && k.function != "last_over_time" && k.function != "first_over_time"
}

// takesAll reports whether a kernel knows what to make of all kinds of series that there may be.
func takesAll(s *selection.Selection, k *question) bool {
	takes := true
	s.Plan.Kinds(s.Query.Metrics(), func(of frame.Kind, classic bool) {
		takes = takes && (classic || !of.IsHistogram() || takesHistograms(s, k, of))
	})
	return takes
}

// takesHistograms reports whether a kernel knows what to make of native histograms: it counts
// them, or adds up what samples say, not rollups. Of counting ones it adds up the increase.
func takesHistograms(s *selection.Selection, k *question, of frame.Kind) bool {
	if k.onlyCounts() {
		return true
	}
	if !k.aggregates || !k.operation.TakesHistograms() || !s.ReadsSamples() {
		return false
	}
	if of == frame.Histogram {
		return k.function == "rate" || k.function == "increase"
	}
	return k.function == ""
}

// errUseEngine is what a kernel says that meets something only Prometheus's engine knows.
var errUseEngine = errors.New("query: this is the engine's")

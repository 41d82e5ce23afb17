package expression

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// labelEstimator walks over an expression from its selectors up, and computes what each part makes.
type labelEstimator struct {
	growth *LabelGrowth
	read   *selected // nil: nothing was read yet
	err    error     // the first value that becomes too long
}

// longest returns how long a label's value is as it was read.
func (g *labelEstimator) longest(label string) float64 {
	if g.read == nil {
		return typicalLabel
	}
	return g.read.longest[label]
}

// value returns how long a label's value can be in what a part of the expression makes.
func (g *labelEstimator) value(e *estimate, label string) float64 {
	if n, is := e.made[label]; is {
		return n
	}
	return g.longest(label)
}

// makeLabel adds a label to what a part makes.
func (g *labelEstimator) makeLabel(e *estimate, label string, value float64, in parser.Node) {
	made := maps.Clone(e.made)
	if made == nil {
		made = map[string]float64{}
	}
	made[label] = value
	e.made = made
	if g.err != nil {
		return
	}
	if value > g.growth.maxValue {
		g.err = tooLongLabel(fmt.Sprintf("bytes for a value of the label %s", label), value,
			g.growth.maxValue, in)
	} else if all := e.bytes() - e.base; all > seriesLabels*g.growth.maxValue {
		g.err = tooLongLabel(fmt.Sprintf("bytes for the labels of a series, %d times a value,",
			seriesLabels),
			all, g.growth.maxValue, in)
	}
}

// expr returns what an expression makes that is evaluated at so many steps over span.
func (g *labelEstimator) expr(n parser.Node, steps float64, span time.Duration) estimate {
	switch n := n.(type) {
	case *parser.VectorSelector:
		if g.read == nil {
			return estimate{series: 1}
		}
		return estimate{series: g.read.series[keyOf(n.LabelMatchers)], base: g.read.base}
	case *parser.MatrixSelector:
		return g.expr(n.VectorSelector, steps, span)
	case *parser.SubqueryExpr:
		every := n.Step
		if every <= 0 {
			every = DefaultStep
		}
		span += n.Range
		return g.expr(n.Expr, math.Ceil(float64(span)/float64(every))+1, span)
	case *parser.ParenExpr:
		return g.expr(n.Expr, steps, span)
	case *parser.StepInvariantExpr:
		return g.expr(n.Expr, steps, span)
	case *parser.UnaryExpr:
		return g.unnamed(n.Expr, steps, span)
	case *parser.AggregateExpr:
		return g.aggregate(n, steps, span)
	case *parser.BinaryExpr:
		return g.binary(n, steps, span)
	case *parser.Call:
		return g.call(n, steps, span)
	}
	return estimate{series: 1}
}

// unnamed returns what a part makes that gives each series of another one without its name.
func (g *labelEstimator) unnamed(of parser.Expr, steps float64, span time.Duration) estimate {
	child := g.expr(of, steps, span)
	e := estimate{series: child.series, varies: child.varies, base: child.base, made: child.made}
	e.remade(child)
	return e
}

// aggregate returns what an aggregation makes: labels that were there, and those of count_values.
func (g *labelEstimator) aggregate(n *parser.AggregateExpr, steps float64,
	span time.Duration) estimate {
	child := g.expr(n.Expr, steps, span)
	e := estimate{series: child.series, varies: child.varies, base: child.base, made: child.made}
	switch {
	case n.Op == parser.TOPK, n.Op == parser.BOTTOMK, n.Op == parser.LIMITK,
		n.Op == parser.LIMIT_RATIO:
	case n.Without:
		e.made = maps.Clone(child.made)
		for _, label := range n.Grouping {
			delete(e.made, label)
		}
	default:
		e = estimate{series: child.series, varies: child.varies}
		for _, label := range n.Grouping {
			if value, is := child.made[label]; is {
				e.made = withLabel(e.made, label, value)
			} else {
				e.base += float64(len(label)) + g.longest(label) + labelRest
			}
		}
		if len(n.Grouping) == 0 {
			e.series = min(1, child.series)
		}
	}
	if n.Op == parser.COUNT_VALUES {
		e.series, e.varies = child.series*steps, true // each step may have other values
		value := float64(numberText)
		if g.read != nil && g.read.buckets > 0 {
			value += g.read.buckets * bucketText
		}
		g.makeLabel(&e, literal(n.Param), value, n)
	}
	if n.Param != nil {
		e.remade(child, g.expr(n.Param, steps, span))
	} else {
		e.remade(child)
	}
	return e
}

func withLabel(made map[string]float64, label string, value float64) map[string]float64 {
	if made == nil {
		made = map[string]float64{}
	}
	made[label] = value
	return made
}

// binary returns what an operator makes: of two vectors, the series of one side, with labels of
// the other one's where these are included.
func (g *labelEstimator) binary(n *parser.BinaryExpr, steps float64, span time.Duration) estimate {
	left, right := g.expr(n.LHS, steps, span), g.expr(n.RHS, steps, span)
	if n.VectorMatching == nil { // one of them is a scalar
		of := left
		if n.LHS.Type() == parser.ValueTypeScalar {
			of = right
		}
		e := estimate{series: of.series, varies: of.varies, base: of.base, made: of.made}
		e.remade(left, right)
		return e
	}
	m := n.VectorMatching
	varies := left.varies || right.varies
	e := estimate{series: left.series, varies: varies, base: left.base, made: left.made}
	one := &right
	switch {
	case n.Op == parser.LOR:
		e.series += right.series
		e.base = max(left.base, right.base)
		e.made = maps.Clone(left.made)
		for label, value := range right.made {
			e.made = withLabel(e.made, label, max(value, g.value(&left, label)))
		}
		for label := range left.made {
			e.made[label] = max(e.made[label], g.value(&right, label))
		}
	case n.Op == parser.LAND, n.Op == parser.LUNLESS:
	case m.Card == parser.CardOneToMany:
		one = &left
		e.series, e.base, e.made = right.series, right.base, right.made
	case m.Card == parser.CardOneToOne && m.FillValues.LHS == nil && m.FillValues.RHS == nil:
		e.series = min(left.series, right.series)
	}
	if m.FillValues.LHS != nil || m.FillValues.RHS != nil {
		e.series = left.series + right.series
	}
	if len(m.Include) > 0 && one.varies { // a series gets other labels at each step
		e.series *= max(1, min(one.series, steps))
	}
	for _, label := range m.Include {
		g.makeLabel(&e, label, g.value(one, label), n)
	}
	e.remade(left, right)
	if len(left.made)+len(right.made) > 0 { // pairs are looked up by the labels of both
		e.peak += e.series * (left.bytes() + right.bytes())
	}
	return e
}

// call returns what a function makes.
func (g *labelEstimator) call(n *parser.Call, steps float64, span time.Duration) estimate {
	var parts []estimate
	e := estimate{series: 1} // without a vector or a range among its arguments
	found := false
	for _, arg := range n.Args {
		part := g.expr(arg, steps, span)
		parts = append(parts, part)
		if t := arg.Type(); !found && (t == parser.ValueTypeVector || t == parser.ValueTypeMatrix) {
			e = estimate{series: part.series, varies: part.varies, base: part.base, made: part.made}
			found = true
		}
	}
	switch n.Func.Name {
	case "label_join":
		value := 0.0
		for i, arg := range n.Args[min(3, len(n.Args)):] {
			if i > 0 {
				value += float64(len(literal(n.Args[2])))
			}
			value += g.value(&e, literal(arg))
		}
		g.makeLabel(&e, literal(n.Args[1]), value, n)
		e.work = e.series * (seriesWork + byteWork*e.bytes())
	case "label_replace":
		by, from := literal(n.Args[2]), g.value(&e, literal(n.Args[3]))
		// A group holds what it matched of the value, which is all of it at most.
		value := float64(len(by)) + float64(strings.Count(by, "$"))*from
		g.makeLabel(&e, literal(n.Args[1]), max(value, g.value(&e, literal(n.Args[1]))), n)
		e.work = e.series * (seriesWork + byteWork*e.bytes() +
			instructionWork*float64(g.growth.patterns[n])*(from+1))
	case "histogram_quantiles":
		e.series *= float64(max(1, len(n.Args)-2))
		g.makeLabel(&e, literal(n.Args[1]), numberText, n)
	case "info":
		if g.read != nil {
			e.base += g.read.base
			e.made = withLabel(maps.Clone(e.made), "", 0) // it makes new series, too
		}
	case "absent", "absent_over_time":
		e = estimate{series: 1}
	case "scalar":
		e = estimate{series: 1}
	}
	e.remade(parts...)
	return e
}

// literal returns the text that stands in an expression.
func literal(e parser.Expr) string {
	if s, is := Unparenthesized(e).(*parser.StringLiteral); is {
		return s.Val
	}
	return ""
}

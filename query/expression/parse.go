// Package expression is what an expression of PromQL is, before any series of it are read: its
// tree, and what it may cost.
//
// Start with Parser. LabelGrowth says how long the labels become that an expression makes,
// BoundSubqueries at how many points it looks, and IsCacheable whether its steps may be kept.
//
// What it promises: what Prometheus's engine does in one go, and no deadline ends, is bounded
// before the engine begins. An error says which limit it is and how to stay below it.
//
// It may import memory.
package expression

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/selector"
)

// Parser reads expressions. Its methods may be called from many goroutines.
type Parser struct {
	selectors *selector.Parser
	parser    parser.Parser
}

// NewParser returns what reads expressions with the limits of selectors, and PromQL with its
// experimental functions.
func NewParser(selectors *selector.Parser) *Parser {
	return &Parser{selectors: selectors,
		parser: parser.NewParser(parser.Options{EnableExperimentalFunctions: true})}
}

// PromQL returns the parser itself, for Prometheus's engine. It bounds nothing.
func (p *Parser) PromQL() parser.Parser { return p.parser }

// What an expression may be. Parsing takes the square of a chain's length, 16 s for 30,000 of +1,
// and writing it anew the cube of its depth, 7 s for 1,000 levels.
const (
	maxExpressionBytes = 64 << 10
	maxTokens          = 5000
	maxDepth           = 250
)

// Parse reads an expression, whose regular expressions are measured before they are compiled. The
// error is a *selector.LimitError, parser.ParseErrors, or says which regular expression is wrong.
func (p *Parser) Parse(ctx context.Context, expr string) (parser.Expr, error) {
	if len(expr) > maxExpressionBytes {
		return nil, tooLong("bytes of an expression", len(expr), maxExpressionBytes)
	}
	request := p.selectors.Request(ctx)
	if err := request.Check(expr); err != nil {
		return nil, err
	}
	var item parser.Item
	lexer := parser.Lex(expr)
	for n := 1; item.Typ != parser.EOF && item.Typ != parser.ERROR; n++ {
		if lexer.NextItem(&item); n > maxTokens {
			return nil, tooLong("words and signs of an expression", n, maxTokens)
		}
	}
	tree, err := p.parser.ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	parser.Inspect(tree, func(n parser.Node, path []parser.Node) error {
		if len(path) > maxDepth {
			err = tooLong("levels of an expression", len(path), maxDepth)
		} else if c, is := n.(*parser.Call); is && c.Func.Name == "label_replace" && err == nil {
			if text, is := Unparenthesized(c.Args[4]).(*parser.StringLiteral); is {
				err = request.Regexp(text.Val)
			}
		}
		return err
	})
	return tree, err
}

func tooLong(what string, has, allowed int) error {
	return &selector.LimitError{What: what, Has: has, Allowed: allowed,
		Remedy: "ask for less at a time, or use a regular expression where many terms are joined"}
}

// Unparenthesized returns an expression without the parentheses around it.
func Unparenthesized(e parser.Expr) parser.Expr {
	for {
		p, is := e.(*parser.ParenExpr)
		if !is {
			return e
		}
		e = p.Expr
	}
}

// Selectors begins a request that reads series selectors, bounded as Parse's are.
func (p *Parser) Selectors(ctx context.Context) *selector.Request {
	return p.selectors.Request(ctx)
}

// MatchesSomething reports whether a matcher demands that its label is there: a selector without
// such a one means everything.
func MatchesSomething(m *labels.Matcher) bool { return !m.Matches("") }

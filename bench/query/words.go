package main

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

var promql = parser.NewParser(parser.Options{EnableExperimentalFunctions: true})

// anew returns an expression as nobody asked it before, with the same answer from the same data:
// each of its selectors says of a node that does not exist that it is not meant. No cache of
// results can have it, and none of what a selector finds.
func anew(expr string, number int) (string, error) {
	tree, err := promql.ParseExpr(expr)
	if err != nil {
		return "", fmt.Errorf("%s: %w", expr, err)
	}
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		if v, is := n.(*parser.VectorSelector); is {
			v.LabelMatchers = append(v.LabelMatchers, labels.MustNewMatcher(labels.MatchNotEqual,
				"node", fmt.Sprintf("none-%d", number)))
		}
		return nil
	})
	return tree.String(), nil
}

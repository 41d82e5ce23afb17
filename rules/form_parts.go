package rules

import (
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// binaryReach is the reach of an operator between two sides.
func binaryReach(e *parser.BinaryExpr) (reach, error) {
	left, err := reachOf(e.LHS)
	if err != nil {
		return reach{}, err
	}
	right, err := reachOf(e.RHS)
	if err != nil {
		return reach{}, err
	}
	switch vectors := e.LHS.Type() == parser.ValueTypeVector; {
	case left.constant && right.constant:
		return reach{constant: true}, nil
	case e.RHS.Type() == parser.ValueTypeScalar:
		if !vectors && left.constant {
			return right, nil
		}
		return withScalar(left, right, e.RHS)
	case !vectors:
		return withScalar(right, left, e.LHS)
	case left.constant || right.constant:
		return withConstant(e, left, right)
	}
	if left.cluster != "" && left.cluster == right.cluster {
		labelled := keepsCluster(e) && left.labelled && right.labelled
		return reach{labelled: labelled, cluster: left.cluster}, nil
	}
	for _, r := range []reach{left, right} {
		if !r.labelled {
			return reach{}, mixes(e, fmt.Sprintf("one side is of cluster %q alone", r.cluster),
				fmt.Sprintf("select cluster=%q on the other side too", r.cluster))
		}
	}
	if !keepsCluster(e) {
		remedy := "add cluster to on (…)"
		if !e.VectorMatching.On {
			remedy = "leave cluster out of ignoring (…)"
		}
		return reach{}, mixes(e, e.Op.String()+" matches series of different clusters", remedy)
	}
	return reach{labelled: true}, nil
}

// keepsCluster reports whether two vectors are matched by cluster.
func keepsCluster(e *parser.BinaryExpr) bool {
	m := e.VectorMatching
	return m == nil || slices.Contains(m.MatchingLabels, clusterLabel) == m.On
}

// withConstant is the reach of an operator between series and a vector that is the same for every
// cluster, such as vector(1) or hour().
func withConstant(e *parser.BinaryExpr, left, right reach) (reach, error) {
	m := e.VectorMatching
	series := left
	if left.constant {
		series = right
	}
	switch {
	case series.cluster != "":
		return reach{cluster: series.cluster}, nil
	case e.Op == parser.LOR:
		return reach{}, mixes(e, "the constant side has no cluster",
			"take the labels from a series, as in … or up * 0")
	case left.constant && e.Op == parser.LUNLESS:
		return reach{}, mixes(e, "the result has no cluster", "put the series on the left side")
	case m.FillValues.LHS != nil || m.FillValues.RHS != nil:
		return reach{}, mixes(e, "fill makes elements without a cluster", "leave fill out")
	case right.constant && (e.Op == parser.LAND || e.Op == parser.LUNLESS):
		return left, nil
	case right.constant && m.Card == parser.CardManyToOne, left.constant &&
		m.Card == parser.CardOneToMany:
		if !slices.Contains(m.Include, clusterLabel) {
			return series, nil
		}
	}
	return reach{}, mixes(e, "series of all clusters meet one constant",
		"write a number without vector (…), or group_left () with the constant on the right side")
}

// callReach is the reach of a function's result.
func callReach(e *parser.Call) (reach, error) {
	r := reach{constant: true}
	for _, arg := range e.Args { // vectors first: numbers stand beside them
		if t := arg.Type(); t == parser.ValueTypeVector || t == parser.ValueTypeMatrix {
			of, err := reachOf(arg)
			if err != nil {
				return reach{}, err
			}
			if e.Func.Name != "info" || r.constant { // its second argument is no series of its own
				r = of
			}
		}
	}
	for _, arg := range e.Args {
		if arg.Type() != parser.ValueTypeScalar {
			continue
		}
		of, err := reachOf(arg)
		if err == nil {
			r, err = withScalar(r, of, arg)
		}
		if err != nil {
			return reach{}, err
		}
	}
	if r.constant {
		return r, nil
	}
	switch name := e.Func.Name; name {
	case "vector":
		return reach{cluster: r.cluster}, nil
	case "scalar", "absent", "absent_over_time":
		if r.cluster == "" {
			return reach{}, mixes(e, callName(e)+" needs one cluster",
				`select cluster="…" within it, or use a series with the label cluster such as up == 0`)
		}
		return reach{cluster: r.cluster}, nil
	case "info":
		return reach{}, mixes(e, "info() does not match by cluster",
			"write * on (cluster, node) group_left (…) ringwatch_node_info")
	case "label_replace", "label_join", "histogram_quantiles":
		if textOf(e.Args[1]) != clusterLabel {
			return r, nil
		}
		if r.cluster == "" {
			return reach{}, mixes(e, callName(e)+" writes the label cluster", "write another label")
		}
		return reach{cluster: r.cluster}, nil
	}
	return r, nil
}

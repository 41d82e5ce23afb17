package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Form says where an expression may be evaluated.
type Form int

const (
	// PerCluster expressions are evaluated by the process that has the cluster, over that cluster's
	// series alone. The results of all clusters together are the result over all series. An
	// expression that PinnedTo names a cluster for is evaluated for that cluster only.
	PerCluster Form = iota + 1
	// Account expressions are evaluated by one process over the whole account. They select
	// recorded series only, which are few enough to be gathered in one place.
	Account
)

// String returns the form's name in tables and messages.
func (f Form) String() string {
	switch f {
	case PerCluster:
		return "cluster"
	case Account:
		return "account"
	}
	return fmt.Sprintf("form %d", int(f))
}

// ErrMixesClusters is returned for an expression that needs the series of several clusters at once
// although it selects series that are not recorded.
var ErrMixesClusters = errors.New("the expression mixes clusters")

// clusterLabel is the label that every series of a node has.
const clusterLabel = "cluster"

// Recorded says of names of series by which rules they are recorded: PerCluster if at least one
// such rule is evaluated for each cluster, Account if all of them are evaluated over the whole
// account.
type Recorded map[string]Form

// Recording is a recording rule: the name of its series and its expression.
type Recording struct {
	Name string
	Expr parser.Expr
}

// RecordedBy settles where the series of an account's recording rules come from. A rule over what
// is recorded over the whole account is evaluated there itself, so the forms of rules that use
// each other are settled in rounds, until none changes.
func RecordedBy(rules []Recording) Recorded {
	// Alerts are series of their cluster, or of the whole account.
	recorded := Recorded{"ALERTS": PerCluster, "ALERTS_FOR_STATE": PerCluster}
	for _, r := range rules {
		recorded[r.Name] = PerCluster
	}
	for range rules {
		next := Recorded{"ALERTS": PerCluster, "ALERTS_FOR_STATE": PerCluster}
		for _, r := range rules {
			form, err := FormOf(r.Expr, recorded)
			if before := next[r.Name]; err == nil && (before == 0 || form < before) {
				next[r.Name] = form
			}
		}
		if maps.Equal(recorded, next) {
			break
		}
		recorded = next
	}
	return recorded
}

// FormOf says where expr may be evaluated, among rules that record those series; nil stands for
// none. The error wraps ErrMixesClusters, names the part that mixes clusters, and says what to
// write instead.
//
// It takes for granted that every series has the label cluster. An expression without any selector,
// such as vector(1), is of no cluster, so its form is Account.
func FormOf(expr parser.Expr, recorded Recorded) (Form, error) {
	selectors := selectorsOf(expr)
	over, plain := "", ""
	for _, s := range selectors {
		switch name := nameOf(s); recorded[name] {
		case PerCluster:
		case Account:
			over = name
		default:
			plain = s.String()
		}
	}
	switch {
	case len(selectors) == 0 || over != "" && plain == "":
		return Account, nil
	case over != "":
		return 0,
			fmt.Errorf("%w: %s is recorded over all clusters, where %s is not: record %s per "+
				"cluster first", ErrMixesClusters, over, plain, plain)
	}
	reach, err := reachOf(expr)
	if err == nil && reach.cluster == "" && !reach.labelled {
		err = mixes(expr, "its result has no label cluster", "keep a side with the label cluster")
	}
	switch {
	case err == nil:
		return PerCluster, nil
	case plain == "":
		return Account, nil
	}
	return 0, err
}

// PinnedTo returns the one cluster that all selectors of expr name with cluster="…", or "".
// Evaluated for another cluster, such an expression may have a false result:
// absent(up{cluster="a"}) is 1 over the series of b.
func PinnedTo(expr parser.Expr) string {
	cluster := ""
	for i, s := range selectorsOf(expr) {
		of := pinOf(s)
		if of == "" || i > 0 && of != cluster {
			return ""
		}
		cluster = of
	}
	return cluster
}

// reach says what the result of an expression depends on, beside the time.
type reach struct {
	constant bool   // no series at all
	labelled bool   // each element only on its own cluster's series, and it has the label cluster
	cluster  string // only on the series of this cluster
}

// mixes is the error about one part of an expression.
func mixes(part parser.Node, why, remedy string) error {
	text := []rune(part.String())
	if len(text) > 80 {
		text = append(text[:79], '…')
	}
	return fmt.Errorf("%w: in %s: %s; %s, or record it per cluster first", ErrMixesClusters,
		string(text), why, remedy)
}

// reachOf walks down and returns the first part, from the left, that mixes clusters.
func reachOf(expr parser.Expr) (reach, error) {
	switch e := expr.(type) {
	case *parser.NumberLiteral, *parser.StringLiteral:
		return reach{constant: true}, nil
	case *parser.VectorSelector:
		return reach{labelled: true, cluster: pinOf(e)}, nil
	case *parser.MatrixSelector:
		return reachOf(e.VectorSelector)
	case *parser.ParenExpr:
		return reachOf(e.Expr)
	case *parser.UnaryExpr:
		return reachOf(e.Expr)
	case *parser.StepInvariantExpr:
		return reachOf(e.Expr)
	case *parser.SubqueryExpr:
		return reachOf(e.Expr)
	case *parser.AggregateExpr:
		return aggregateReach(e)
	case *parser.BinaryExpr:
		return binaryReach(e)
	case *parser.Call:
		return callReach(e)
	}
	return reach{}, fmt.Errorf("%w: %s is of a kind (%T) that rules do not know; leave it out",
		ErrMixesClusters, expr, expr)
}

func aggregateReach(e *parser.AggregateExpr) (reach, error) {
	r, err := reachOf(e.Expr)
	if err != nil {
		return reach{}, err
	}
	if e.Param != nil {
		param, err := reachOf(e.Param)
		if err != nil {
			return reach{}, err
		}
		if r, err = withScalar(r, param, e.Param); err != nil {
			return reach{}, err
		}
	}
	keeps := slices.Contains(e.Grouping, clusterLabel) != e.Without
	if e.Op == parser.COUNT_VALUES && textOf(e.Param) == clusterLabel {
		keeps = false // it writes the label
	}
	if keeps || r.constant {
		return r, nil
	}
	if r.cluster != "" {
		return reach{cluster: r.cluster}, nil
	}
	remedy := "write " + e.Op.String() + " by (cluster, …)"
	if e.Without {
		remedy = "leave cluster out of without (…)"
	}
	if e.Op == parser.COUNT_VALUES {
		remedy += " with another label than cluster"
	}
	return reach{}, mixes(e, e.Op.String()+" aggregates over clusters", remedy)
}

// withScalar is the reach of an expression that takes a number from another one.
func withScalar(r, number reach, part parser.Expr) (reach, error) {
	switch {
	case number.constant:
		return r, nil
	case r.constant: // only what is pinned, or an expression of its own, is a number
		return reach{cluster: number.cluster}, nil
	case r.cluster == number.cluster:
		return r, nil
	}
	return reach{}, mixes(part, fmt.Sprintf("the number is of cluster %q alone", number.cluster),
		fmt.Sprintf("select cluster=%q everywhere", number.cluster))
}

// selectorsOf returns all selectors of an expression, those within ranges and subqueries too.
func selectorsOf(expr parser.Expr) (list []*parser.VectorSelector) {
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			list = append(list, s)
		}
		return nil
	})
	return list
}

// nameOf returns the one metric that a selector names, or "".
func nameOf(s *parser.VectorSelector) string {
	for _, m := range s.LabelMatchers {
		if m.Name == labels.MetricName && m.Type == labels.MatchEqual {
			return m.Value
		}
	}
	return ""
}

// pinOf returns the one cluster that a selector names, or "".
func pinOf(s *parser.VectorSelector) string {
	for _, m := range s.LabelMatchers {
		if m.Name == clusterLabel && m.Type == labels.MatchEqual {
			return m.Value
		}
	}
	return ""
}

// textOf returns a string literal's value, or "".
func textOf(e parser.Expr) string {
	for {
		switch x := e.(type) {
		case *parser.ParenExpr:
			e = x.Expr
		case *parser.StepInvariantExpr:
			e = x.Expr
		case *parser.StringLiteral:
			return x.Val
		default:
			return ""
		}
	}
}

// callName is a function as one writes it.
func callName(e *parser.Call) string { return strings.TrimSpace(e.Func.Name) + "()" }

package catalog

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// How deviations are judged.
const (
	// deviationWindow is the window of rates: short peaks are no deviations.
	deviationWindow = 30 * time.Minute
	// deviationInterval is how often they are evaluated.
	deviationInterval = 5 * time.Minute
	// deviationPeers is how many nodes a datacenter must have at least.
	deviationPeers = 4
	// deviationWeeks are the weeks that a table is compared with, at the same hour.
	deviationWeeks = 4
	// madScale makes a standard deviation of the median absolute deviation of normal values.
	madScale = 1.4826
	// deviationFloor is the least spread, as a part of the median: where all are the same to a
	// hair, a hair's breadth is no deviation.
	deviationFloor = 0.1
)

// Deviations returns the rules that record for each value which allows it how far it is from what
// is usual, in standard deviations: node:NAME:deviation a node from the median of its datacenter,
// and table:NAME:deviation a table of a cluster from its own median at the same hour of the last
// four weeks. They have the labels entry and type. What the spread is comes from the median of the
// distances from the median (MAD), so that single outliers say nothing; it counts as a tenth of
// the median at least. A datacenter of less than four nodes has none, nor has a table without a
// past. Tables have a group of their own: theirs read the store, and take longer.
func (c *Catalog) Deviations() ([]rulefmt.RuleGroup, error) {
	groups := []rulefmt.RuleGroup{
		{Name: "deviations", Interval: model.Duration(deviationInterval)},
		{Name: "deviations-tables", Interval: model.Duration(deviationInterval)},
	}
	for _, e := range c.All() {
		for i := range e.Values {
			v := &e.Values[i]
			if !v.Deviation || e.Of == Keyspace {
				continue
			}
			expr, err := deviation(e.Of, v)
			if err != nil {
				return nil, fmt.Errorf("entry %s: type %q: %w", e.Name, v.Type, err)
			}
			g := &groups[0]
			if e.Of == Table {
				g = &groups[1]
			}
			g.Rules = append(g.Rules, rulefmt.Rule{
				Record: string(e.Of) + ":" + e.Short() + ":deviation", Expr: expr,
				Labels: map[string]string{"entry": e.Name, "type": v.Type},
			})
		}
	}
	return groups, nil
}

// deviation returns the PromQL of a value's deviation.
func deviation(of Of, v *Value) (string, error) {
	if of == Node {
		value := "(" + v.Expr(Scope{}, NodeLabels, deviationWindow) + ")"
		expr := spread(value, value, "cluster, datacenter")
		return fmt.Sprintf(
			"%s and on (cluster, datacenter) (count by (cluster, datacenter) (%s) >= %d)",
			expr,
			value,
			deviationPeers,
		), nil
	}
	keep := Labels(Table, "cluster")
	value := v.Expr(Scope{}, keep, deviationWindow)
	var past []string
	for week := 1; week <= deviationWeeks; week++ {
		then, err := ago(value, time.Duration(week)*7*24*time.Hour)
		if err != nil {
			return "", err
		}
		past = append(past, fmt.Sprintf(`label_replace(%s, "week", "%d", "", "")`, then, week))
	}
	return spread("("+value+")", "("+strings.Join(past, " or ")+")", strings.Join(keep, ", ")), nil
}

// spread returns how far values are from the median of what is usual of their group.
func spread(value, usual, by string) string {
	median := fmt.Sprintf("quantile by (%s) (0.5, %s)", by, usual)
	mad := fmt.Sprintf(
		"%g * quantile by (%s) (0.5, abs(%s - on (%s) group_left () %s))",
		madScale,
		by,
		usual,
		by,
		median,
	)
	floor := fmt.Sprintf("%g * abs(%s)", deviationFloor, median)
	return fmt.Sprintf(
		"(%s - on (%s) group_left () %s) / on (%s) group_left () ((%s > %s or %s) > 0)",
		value,
		by,
		median,
		by,
		mad,
		floor,
		floor,
	)
}

// ago returns an expression as it was so long ago.
func ago(expr string, d time.Duration) (string, error) {
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return "", err
	}
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		if s, is := n.(*parser.VectorSelector); is {
			s.OriginalOffset += d
		}
		return nil
	})
	return tree.String(), nil
}

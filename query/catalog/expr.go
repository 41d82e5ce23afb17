package catalog

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Scope is whose values are asked for. What is empty is not asked for.
type Scope struct {
	Cluster    string
	Datacenter string
	Node       string // host id
	Keyspace   string
	Table      string
}

// matchers returns the scope as it stands between the braces of a selector.
func (s Scope) matchers() string {
	var list []string
	for _, m := range [][2]string{{"cluster", s.Cluster}, {"datacenter", s.Datacenter},
		{"node", s.Node},
		{"keyspace", s.Keyspace}, {"table", s.Table}} {
		if m[1] != "" {
			list = append(list, m[0]+"="+strconv.Quote(m[1]))
		}
	}
	if list == nil {
		return `cluster=~".*"` // the braces of a template may hold nothing else
	}
	return strings.Join(list, ",")
}

// DefaultWindow is the window of rates where nobody asks for another: it has a dozen frames of an
// agent that sends every five seconds.
const DefaultWindow = time.Minute

// NodeLabels are the labels of a value of one node.
var NodeLabels = []string{"cluster", "datacenter", "rack", "node"}

// Labels returns labels of places with those of a keyspace or a table.
func Labels(of Of, places ...string) []string {
	list := slices.Clone(places)
	switch of {
	case Keyspace:
		list = append(list, "keyspace")
	case Table:
		list = append(list, "keyspace", "table")
	}
	return list
}

// Expr returns the value's PromQL for a scope: one value for each combination of the labels that
// are kept (at least one), rates over the window.
func (v *Value) Expr(s Scope, keep []string, window time.Duration) string {
	return strings.NewReplacer("$scope", s.matchers(), "$by", strings.Join(keep, ", "),
		"$range", model.Duration(window).String()).Replace(v.PromQL)
}

package safe

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Purpose is what somebody is about to do.
type Purpose string

// What people do to a cluster.
const (
	Restart      Purpose = "restart"
	Upgrade      Purpose = "upgrade"
	Decommission Purpose = "decommission"
	Repair       Purpose = "repair"
	NodeReplace  Purpose = "node-replace"
)

// Purposes are all of them.
var Purposes = []Purpose{Restart, Upgrade, Decommission, Repair, NodeReplace}

// PurposesText names all of them.
func PurposesText() string {
	var list []string
	for _, p := range Purposes {
		list = append(list, string(p))
	}
	return strings.Join(list, ", ")
}

// Known reports whether there is such a purpose.
func (p Purpose) Known() bool { return slices.Contains(Purposes, p) }

// NeedsNode reports whether it means nothing without a node.
func (p Purpose) NeedsNode() bool { return p == Decommission || p == NodeReplace }

// TakesAway reports whether the node does not serve meanwhile, so that it need not be well before.
func (p Purpose) TakesAway() bool { return p == Restart || p == Upgrade || p == NodeReplace }

// Series is an offender, or what a node said.
type Series struct {
	Labels map[string]string
	Value  float64
}

// Source answers PromQL. lacks says in words why an answer is not whole.
type Source interface {
	Query(ctx context.Context, promql string, at time.Time) (list []Series, lacks []string,
		err error)
}

// Node is a node that has not left.
type Node struct {
	ID, Datacenter, Rack string
	Name                 string // how people call it
	Interval             time.Duration
	Paused               time.Time // since when its agent says nothing of it; zero: it is not
}

// Question is what is asked.
type Question struct {
	Cluster string
	Node    string // id of the node that the step is about; empty: whichever is next
	For     Purpose
	At      time.Time
	// Since: what nodes said before counts for nothing; zero: it counts while it is fresh.
	Since time.Time
	Nodes []Node   // all that have not left
	Left  []string // addresses of nodes that have
}

// away is the id of the node that the step takes away; empty: it takes none.
func (q *Question) away() string {
	if q.For.TakesAway() {
		return q.Node
	}
	return ""
}

// whichever reports whether the step takes a node away and none was named.
func (q *Question) whichever() bool { return q.Node == "" && q.For.TakesAway() }

// placed returns an expression with the question's nodes for its placeholders.
func (q *Question) placed(promql string) string {
	scope := "cluster=" + strconv.Quote(q.Cluster)
	stay := scope
	if id := q.away(); id != "" {
		stay += ",node!=" + strconv.Quote(id)
	}
	gone := make([]string, len(q.Left))
	for i, address := range q.Left {
		quoted := strconv.Quote(regexp.QuoteMeta(address))
		gone[i] = quoted[1 : len(quoted)-1]
	}
	node := scope
	if !q.whichever() {
		node += ",node=" + strconv.Quote(q.Node)
	}
	return strings.NewReplacer("$scope", scope, "$stay", stay, "$node", node, "$left",
		strings.Join(gone, "|")).
		Replace(promql)
}

// States of a condition.
const (
	Holds   = "holds"
	Broken  = "broken"
	Unknown = "unknown"
)

// Answer is what came out. Lists are in the order of the file.
type Answer struct {
	Cluster    string    `json:"cluster"`
	For        Purpose   `json:"for"`
	Node       string    `json:"node,omitempty"`      // id
	NodeName   string    `json:"node_name,omitempty"` // how people call it
	At         time.Time `json:"at"`
	Safe       bool      `json:"safe"`
	Reasons    []Reason  `json:"reasons"` // why not; empty if it is
	Conditions []Result  `json:"conditions"`
	NotChecked []string  `json:"not_checked"`
	// Nodes: where no node was named for a step that takes one away, which could be it, in the
	// order in which they are best taken.
	Nodes []Choice `json:"nodes,omitempty"`
}

// Reason is why it is not safe.
type Reason struct {
	Condition string `json:"condition"`
	// false: it cannot be known whether the condition holds
	Known bool   `json:"known"`
	Node  string `json:"node,omitempty"` // id
	Text  string `json:"text"`           // a sentence
}

// Result is what came of a condition.
type Result struct {
	Name        string `json:"name"`
	State       string `json:"state"`
	Description string `json:"description"`
}

// Choice is a node that the step could take, or not.
type Choice struct {
	Node    string   `json:"node"` // id
	Name    string   `json:"name"` // how people call it
	Safe    bool     `json:"safe"`
	Reasons []Reason `json:"reasons"` // why not; empty if it is
}

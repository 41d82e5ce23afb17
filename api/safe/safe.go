// Package safe says whether it is safe to go on with maintenance of a cluster: yes, or no with the
// reasons. Begin with Conditions, and with Handler for the endpoint.
//
// What must be so stands in conditions.yaml, as PromQL that returns the offenders; an account may
// have a file of its own. An answer asks some 20 queries of a Source.
//
// What it promises: what cannot be known is a no with its reason. A node that is silent, a metric
// that a node does not say, a query that failed and an answer that is not whole all are. What no
// metric says is listed in Answer.NotChecked. What bites: an answer is about what nodes last said.
// Who has just done a step asks with Question.Since, or the answer may be about the time before it.
package safe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
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

// maxReasons is how many offenders of a condition are named.
const maxReasons = 20

// asking is a question that is being answered.
type asking struct {
	Question
	source Source
	answer *Answer
	nodes  map[string]Node // by id
	silent map[string]bool // by id; of those nothing more is said
	heard  heard
	said   map[string]map[string]bool // by metric, the ids of the nodes that say it
	unsaid []Reason                   // why that cannot be known
	copies *copies                    // asked when a condition first counts them
}

// Ask answers a question. The error is the context's.
func (c *Conditions) Ask(ctx context.Context, source Source, q Question) (*Answer, error) {
	a := newAsking(q, source)
	for _, n := range q.Nodes {
		a.nodes[n.ID] = n
	}
	if q.Node != "" {
		a.answer.NodeName = a.called(q.Node)
	}
	var list []*Condition
	for i := range c.List {
		if slices.Contains(c.List[i].For, q.For) {
			list = append(list, &c.List[i])
		}
	}
	a.hear(ctx, c.Fresh)
	a.fresh()
	a.says(ctx, list)
	for _, condition := range list {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a.condition(ctx, condition)
	}
	for _, n := range c.NotChecked {
		if slices.Contains(n.For, q.For) {
			a.answer.NotChecked = append(a.answer.NotChecked, n.Text)
		}
	}
	a.answer.Safe = len(a.answer.Reasons) == 0
	if a.whichever() {
		a.choose(ctx, list)
	}
	return a.answer, ctx.Err()
}

func newAsking(q Question, source Source) *asking {
	return &asking{Question: q, source: source, nodes: map[string]Node{},
		silent: map[string]bool{},
		answer: &Answer{Cluster: q.Cluster, For: q.For, Node: q.Node, At: q.At.UTC(),
			Reasons: []Reason{}, Conditions: []Result{}, NotChecked: []string{}}}
}

// called is how people call a node.
func (a *asking) called(id string) string { return cmp.Or(a.nodes[id].Name, id, "a node") }

// away is the id of the node that the step takes away; empty: it takes none.
func (q *Question) away() string {
	if q.For.TakesAway() {
		return q.Node
	}
	return ""
}

// whichever reports whether the step takes a node away and none was named.
func (q *Question) whichever() bool { return q.Node == "" && q.For.TakesAway() }

// staying are the ids of the nodes that must be well, by their names.
func (a *asking) staying() []string {
	ids := slices.DeleteFunc(slices.Collect(maps.Keys(a.nodes)),
		func(id string) bool { return id == a.away() })
	slices.SortFunc(ids, func(x, y string) int {
		return cmp.Or(cmp.Compare(a.called(x), a.called(y)), cmp.Compare(x, y))
	})
	return ids
}

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

// begin adds a condition, whose state the reasons that follow change.
func (a *asking) begin(name, description string) {
	a.answer.Conditions = append(a.answer.Conditions, Result{name, Holds, description})
}

// reason adds why the last condition does not hold, or cannot be known.
func (a *asking) reason(known bool, node, format string, args ...any) {
	last := &a.answer.Conditions[len(a.answer.Conditions)-1]
	switch {
	case known:
		last.State = Broken
	case last.State == Holds:
		last.State = Unknown
	}
	a.answer.Reasons = append(a.answer.Reasons, Reason{Condition: last.Name, Known: known,
		Node: node, Text: fmt.Sprintf(format, args...)})
}

// add adds reasons that were found before to the last condition.
func (a *asking) add(list []Reason) {
	for _, r := range list {
		a.reason(r.Known, r.Node, "%s", r.Text)
	}
}

// query asks; what is not whole or failed is a reason.
func (a *asking) query(ctx context.Context, promql string) []Series {
	list, lacks, err := a.source.Query(ctx, promql, a.At)
	if ctx.Err() != nil {
		return nil
	}
	a.add(notWhole(lacks, err))
	return list
}

// notWhole are the reasons of an answer that failed or is not whole.
func notWhole(lacks []string, err error) (list []Reason) {
	if err != nil {
		list = append(list, Reason{Text: fmt.Sprintf("The question failed: %v", err)})
	}
	for _, text := range lacks {
		list = append(list, Reason{Text: "The answer is not whole: " + text})
	}
	return list
}

// says asks which nodes say the metrics that conditions need.
func (a *asking) says(ctx context.Context, list []*Condition) {
	a.said = map[string]map[string]bool{}
	for _, c := range list {
		for _, name := range c.Needs {
			a.said[name] = map[string]bool{}
		}
	}
	if len(a.said) == 0 || ctx.Err() != nil {
		return
	}
	names := strings.Join(slices.Sorted(maps.Keys(a.said)), "|")
	found, lacks, err := a.source.Query(ctx, a.placed(
		"group by (__name__, node) ({__name__=~"+strconv.Quote(names)+",$scope})"), a.At)
	for _, s := range found {
		if sayers := a.said[s.Labels["__name__"]]; sayers != nil {
			sayers[s.Labels["node"]] = true
		}
	}
	if err != nil {
		lacks = append(lacks, err.Error())
	}
	for _, text := range lacks {
		a.unsaid = append(a.unsaid,
			Reason{Text: "It cannot be known which metrics nodes say: " + text})
	}
}

// condition asks one condition.
func (a *asking) condition(ctx context.Context, c *Condition) {
	a.begin(c.Name, c.Description)
	if c.Replicas != "" {
		a.count(ctx)
		a.add(a.copies.why)
	}
	if len(c.Needs) > 0 {
		a.add(a.unsaid)
		if len(a.unsaid) == 0 {
			a.needs(c)
		}
	}
	var list []Series
	if c.Replicas != "" {
		list = a.lost(c.Replicas)
	} else {
		list = a.query(ctx, a.placed(c.PromQL))
	}
	texts := map[string]string{} // to node
	for i := range list {
		texts[a.sentence(c.Text, &list[i])] = list[i].Labels["node"]
	}
	for i, text := range slices.Sorted(maps.Keys(texts)) {
		if i == maxReasons {
			a.reason(true, "", "and %d more", len(texts)-maxReasons)
			break
		}
		a.reason(true, texts[text], "%s", text)
	}
}

// needs adds which of the nodes that must be well, or the node that the condition is of, do not say
// what is needed. A node that is taken away counts among those that have copies.
func (a *asking) needs(c *Condition) {
	ids := a.staying()
	switch away := a.away(); {
	case c.Replicas != "" && away != "" && !a.copies.down[away]:
		ids = append(ids, away)
	case c.ofNode() && !a.whichever():
		if ids = nil; a.Node != "" {
			ids = []string{a.Node}
		}
	}
	for _, name := range c.Needs {
		var without []string
		for _, id := range ids {
			if !a.silent[id] && !a.said[name][id] {
				without = append(without, a.called(id))
			}
		}
		switch n := len(without); {
		case n == 0:
		case n == len(ids):
			a.reason(false, "", "No node says %s, so this cannot be known.", name)
		default:
			const most = 5
			rest := ""
			if n > most {
				rest = fmt.Sprintf(" and %d more", n-most)
			}
			a.reason(false, "", "It cannot be known of %s%s, where nothing says %s.",
				strings.Join(without[:min(n, most)], ", "), rest, name)
		}
	}
}

var placeholder = regexp.MustCompile(`\{[a-zA-Z_][a-zA-Z0-9_]*\}`)

// sentence is a condition's text of an offender.
func (a *asking) sentence(text string, s *Series) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		switch name = name[1 : len(name)-1]; name {
		case "node":
			return a.called(s.Labels["node"])
		case "number":
			if math.Abs(s.Value) >= 1000 {
				return strconv.FormatFloat(s.Value, 'f', 0, 64)
			}
			return strconv.FormatFloat(s.Value, 'g', 3, 64)
		}
		return s.Labels[name]
	})
}

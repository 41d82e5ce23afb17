package safe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

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

func newAsking(q Question, source Source) *asking {
	return &asking{Question: q, source: source, nodes: map[string]Node{},
		silent: map[string]bool{},
		answer: &Answer{Cluster: q.Cluster, For: q.For, Node: q.Node, At: q.At.UTC(),
			Reasons: []Reason{}, Conditions: []Result{}, NotChecked: []string{}}}
}

// called is how people call a node.
func (a *asking) called(id string) string { return cmp.Or(a.nodes[id].Name, id, "a node") }

// staying are the ids of the nodes that must be well, by their names.
func (a *asking) staying() []string {
	ids := slices.DeleteFunc(slices.Collect(maps.Keys(a.nodes)),
		func(id string) bool { return id == a.away() })
	slices.SortFunc(ids, func(x, y string) int {
		return cmp.Or(cmp.Compare(a.called(x), a.called(y)), cmp.Compare(x, y))
	})
	return ids
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

// heard is when nodes were heard of.
type heard struct {
	text string // what must be so
	most time.Duration
	at   map[string]time.Time // by id
	why  []Reason             // that this is not whole
}

// copies is what is known of keyspaces' replicas and of the nodes that have them.
type copies struct {
	keyspaces []keyspace
	down      map[string]bool // by id: nodes that do not serve
	away      map[string]bool // and those that do not in another's eyes
	why       []Reason        // that this is not whole
}

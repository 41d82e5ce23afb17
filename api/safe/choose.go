package safe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// What choosing costs: beyond so many nodes none is asked for alone, and of each so many reasons
// are told.
const (
	maxAlone         = 100
	maxChoiceReasons = 5
)

// choose says of each node whether it could be taken now. What holds of the whole cluster holds of
// the rest of it, so only what is broken is asked again: without the node, where its expression
// leaves it out, and up to the first condition that keeps it.
func (a *asking) choose(ctx context.Context, list []*Condition) {
	var broken []*Condition
	was := map[string][]Reason{}
	for _, r := range a.answer.Reasons {
		was[r.Condition] = append(was[r.Condition], r)
	}
	for _, c := range list {
		if len(was[c.Name]) > 0 {
			broken = append(broken, c)
		}
	}
	for _, n := range a.inOrder() {
		one := newAsking(a.Question, a.source)
		one.Question.Node = n.ID
		one.nodes, one.heard, one.said, one.unsaid, one.copies =
			a.nodes, a.heard, a.said, a.unsaid, a.copies
		if len(was[freshName]) > 0 {
			one.fresh()
		}
		for _, c := range broken {
			if len(one.answer.Reasons) > 0 || ctx.Err() != nil {
				break
			}
			switch {
			case c.Replicas != "", c.leavesOut() && len(a.nodes) <= maxAlone:
				one.condition(ctx, c)
			case c.ofNode():
				one.begin(c.Name, c.Description)
				one.add(slices.DeleteFunc(slices.Clone(was[c.Name]),
					func(r Reason) bool { return r.Node != "" && r.Node != n.ID }))
			default:
				one.begin(c.Name, c.Description)
				one.add(was[c.Name])
			}
		}
		why := one.answer.Reasons
		if rest := len(why) - maxChoiceReasons; rest > 0 {
			why = append(why[:maxChoiceReasons:maxChoiceReasons], Reason{
				Condition: why[maxChoiceReasons].Condition, Known: true,
				Text: fmt.Sprintf("and %d more", rest)})
		}
		a.answer.Nodes = append(a.answer.Nodes, Choice{n.ID, a.called(n.ID), len(why) == 0, why})
	}
}

// inOrder are the nodes in the order in which they are best taken: first those that do not serve
// anyway, then datacenter by datacenter and rack by rack, since nodes of a rack have different data
// where there are as many racks as copies.
func (a *asking) inOrder() []Node {
	away := func(n Node) int {
		if a.silent[n.ID] && n.Paused.IsZero() || a.copies != nil && a.copies.down[n.ID] {
			return 0
		}
		return 1
	}
	list := slices.Clone(a.Question.Nodes)
	slices.SortFunc(list, func(x, y Node) int {
		return cmp.Or(cmp.Compare(away(x), away(y)), cmp.Compare(x.Datacenter, y.Datacenter),
			cmp.Compare(x.Rack, y.Rack), cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID))
	})
	return list
}

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
	"context"
	"slices"
)

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

package selection

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/query/fleet"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/window"
)

// The first step of an answer: which nodes a selector means. The plan knows what its matchers say
// of places, the index of series which nodes have such series.

// manyNodes is how many nodes a selector may mean before the index of series says which of them to
// ask. With fewer, a table is found at once, though the index learns of it some minutes later.
const manyNodes = 64

// nodes returns those of the account's nodes and recorders that are to be asked. They are not to be
// changed.
func (s *Selection) nodes(
	ctx context.Context, nodes, recorders *fleet.Fleet,
) ([]window.Node, error) {
	all := func(n, r fleet.Set) []window.Node {
		if r.Count(recorders) == 0 {
			return n.List(nodes)
		}
		return slices.Concat(n.List(nodes), r.List(recorders))
	}
	asked, recorded := s.Plan.Place.Pick(nodes), s.Plan.Place.Pick(recorders)
	if s.Query.Source.Index == nil {
		return all(asked, recorded), nil
	}
	found, err := s.Query.Source.Index.Select(s.Query.Who.Account,
		index.Query{Context: ctx, From: s.Hints.Start, To: s.Hints.End, Selectors: s.Plan.Read,
			Owns: s.Query.Who.Owns})
	if err != nil {
		// it is being loaded, or the selectors are too many for it: all nodes are asked
		return all(asked, recorded), nil
	}
	ids := found.Nodes()
	has, hasRecorded := nodes.Subset(ids), recorders.Subset(ids)
	if err := found.Err(); err != nil {
		return nil, err
	}
	count, _ := found.Count()
	if err := s.tooMany(int64(count)); err != nil {
		return nil, err
	}
	if found.Missing == 0 {
		recorded = s.recording(ctx, recorders, recorded)
	}
	asked, recorded = asked.Or(has), recorded.Or(hasRecorded) // who was elsewhere then
	if found.Missing == 0 && asked.Count(nodes)+recorded.Count(recorders) > manyNodes {
		asked, recorded = has, hasRecorded
	}
	return all(asked, recorded), nil
}

// recording returns those of some recorders that may record the name that is asked for: most
// questions are of nodes alone, and a fleet has many rules. A name that the index does not know at
// all may be a new rule's.
func (s *Selection) recording(
	ctx context.Context, recorders *fleet.Fleet, some fleet.Set,
) fleet.Set {
	if some.Count(recorders) == 0 {
		return some
	}
	known := false
	for name := range s.Query.Metrics() {
		known = known || s.Plan.Named(name)
	}
	if !known {
		return some
	}
	found, err := s.Query.Source.Index.Select(s.Query.Who.Account,
		index.Query{Context: ctx, From: s.Hints.Start,
			To: s.Hints.End, Selectors: [][]*labels.Matcher{s.Plan.Names}, Owns: s.Query.Who.Owns})
	if err != nil {
		return some
	}
	has := recorders.Subset(found.Recorders())
	if found.Err() != nil {
		return some
	}
	for i := range has {
		has[i] = has[i] && (some == nil || some[i])
	}
	return has
}

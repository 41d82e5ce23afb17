package read

import (
	"context"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
)

// LatestSeries is what a question selects of a node's latest state. It is shared, nobody changes
// it.
type LatestSeries struct {
	At       int64             // of the newest frame, ms; 0: none is known
	Interval int64             // how often the node sends, ms
	Lists    [][]window.Series // by the question's selectors
	Missing  []string          // why there may be a newer one, in words
	version  StateVersion
}

// latestKey names what a question selects of a node's latest state. It is kept for whoever asks the
// same before the node has sent again: dashboards have several panels, and several people look at
// one.
type latestKey struct {
	account, question string
	node              uuid.UUID
}

// latestCost is what an entry takes beside its series, in bytes.
const latestCost = 500

// latestBytes is what an entry takes.
func latestBytes(k latestKey, s *LatestSeries) int64 {
	bytes := int64(latestCost + len(k.account) + len(k.question))
	for _, list := range s.Lists {
		for i := range list {
			bytes += list[i].Bytes()
		}
	}
	return bytes
}

// LatestSeries reads what a question selects of a node's latest state.
func (r *Reader) LatestSeries(
	ctx context.Context, q *Question, n *window.Node,
) (*LatestSeries, error) {
	k := latestKey{q.account, q.text, n.ID}
	return share.Read(ctx, r.Shared, q.account, "latest/"+q.account+"/"+n.ID.String()+"/"+q.text,
		func(ctx context.Context) (*LatestSeries, error) {
			state, err := r.source.readLatest(ctx, q.account, n, q.want)
			if err != nil {
				return nil, err
			}
			of := &LatestSeries{Missing: state.Missing}
			if state.Window == nil || len(state.Times) == 0 {
				return of, nil
			}
			of.At, of.Interval = state.Times[len(state.Times)-1], state.Node.Interval
			of.version = StateVersion{Seen: state.Seen, Interval: state.Node.Interval,
				Recent: state.Recent}
			for _, m := range q.selectors {
				list, err := state.LatestContext(ctx, memory.Of(ctx), m...)
				if err != nil {
					return nil, err
				}
				of.Lists = append(of.Lists, list)
			}
			if state.Recent {
				r.latest.Put(k, of)
			}
			return of, nil
		})
}

// Current returns by node what is cached of its latest state, if that still is the latest; nil for
// the others. It asks the recent source once, for all nodes of which something is cached.
func (r *Reader) Current(ctx context.Context, q *Question, nodes []window.Node) []*LatestSeries {
	list := make([]*LatestSeries, len(nodes))
	var some []window.Node
	var places []int
	for i := range nodes {
		if of := r.latest.Get(latestKey{q.account, q.text, nodes[i].ID}); of != nil {
			list[i] = of
			some, places = append(some, nodes[i]), append(places, i)
		}
	}
	if len(some) == 0 {
		return list
	}
	current := r.Unchanged(ctx, q.account, some, func(i int) *StateVersion {
		return &list[places[i]].version
	})
	for i, is := range current {
		if !is {
			list[places[i]] = nil
		}
	}
	return list
}

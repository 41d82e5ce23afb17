package read

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

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
				list, err := selecting.LatestWithin(ctx, state.Window, memory.Of(ctx), m...)
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

// Ask begins to ask an account's nodes for what any of the selectors selects.
func (r *Reader) Ask(account string, selectors [][]*labels.Matcher) *Question {
	return &Question{account: account, selectors: selectors, text: fmt.Sprintf("%q", selectors),
		want: r.dictionaries.wanted(account, selectors)}
}

// Latest returns a node's newest state; its Window is nil without an error if none is known. It is
// shared.
func (r *Reader) Latest(ctx context.Context, account string, n *window.Node) (State, error) {
	return share.Read(ctx, r.Shared, account, "latest/"+account+"/"+n.ID.String(),
		func(ctx context.Context) (State, error) {
			return r.source.readLatest(ctx, account, n, nil)
		})
}

// Unchanged reports for each node whether its newest state still is the one of which kept tells;
// nil tells of none. One question to the recent source, of all nodes, tells when each was heard of.
// It says yes under the conditions under which Latest takes the state from the recent source, and
// counts as such a read.
func (r *Reader) Unchanged(
	ctx context.Context, account string, nodes []window.Node, kept func(i int) *StateVersion,
) []bool {
	current := make([]bool, len(nodes))
	if r.source.sources.Recent == nil || len(nodes) == 0 {
		return current
	}
	ids := r.source.touch(account, nodes)
	key := "newest/" + account + "/" + string(digest(ids))
	heard, err := share.Read(ctx, r.Shared, account, key,
		func(ctx context.Context) (map[uuid.UUID]int64, error) {
			return r.source.sources.Recent.LastSeen(ctx, account, ids)
		})
	if err != nil {
		return current // each node's own read counts it
	}
	now := r.source.config.Clock().UnixMilli()
	count := 0
	for i := range nodes {
		at, known := heard[ids[i]]
		k := kept(i)
		if known && k != nil && k.Recent && k.Seen == at && fresh(now, at, k.Interval) {
			current[i] = true
			count++
		}
	}
	r.source.metrics.reads.WithLabelValues("latest", fromRecent).Add(float64(count))
	return current
}

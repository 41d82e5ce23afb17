package query

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
)

// What earlier questions found out is kept in four caches, each bounded in bytes. None of them
// changes an answer.
//
//   - Columns of hours and windows, of windows that grow, and of rollups, by node: package store
//     has them, and Sources.Build.
//   - The values of nodes' latest states, by node and question: below.
//   - When nodes sent frames, by node and hour: instants_cache.go.
//   - The steps of range queries that are in the past, by account and expression: results.go.

// latestSeries is what a question selects of a node's latest state. It is shared, nobody changes
// it.
type latestSeries struct {
	at       int64             // of the newest frame, ms; 0: none is known
	interval int64             // how often the node sends, ms
	lists    [][]window.Series // by the question's selectors
	missing  []string          // why there may be a newer one, in words
	version  StateVersion
}

// latestCache keeps what questions selected of nodes' latest states, for whoever asks the same
// before the node has sent again: dashboards have several panels, and several people look at one.
// It is bounded in bytes.
type latestCache struct {
	of   *otter.Cache[latestKey, *latestSeries] // nil: nothing is kept
	most int64                                  // bytes
}

type latestKey struct {
	account, question string
	node              uuid.UUID
}

// latestCost is what an entry takes beside its series, in bytes.
const latestCost = 500

func newLatestCache(most int64) (latestCache, error) {
	if most <= 0 {
		return latestCache{}, nil
	}
	c, err := otter.New(&otter.Options[latestKey, *latestSeries]{
		MaximumWeight: uint64(most),
		Weigher: func(k latestKey, s *latestSeries) uint32 {
			return uint32(min(s.bytes(k), 1<<31))
		},
	})
	if err != nil {
		return latestCache{}, fmt.Errorf("query: keep %d bytes of newest states: %w", most, err)
	}
	return latestCache{c, most}, nil
}

// bytes is what an entry takes.
func (s *latestSeries) bytes(k latestKey) int64 {
	bytes := int64(latestCost + len(k.account) + len(k.question))
	for _, list := range s.lists {
		for i := range list {
			bytes += list[i].Bytes()
		}
	}
	return bytes
}

// put keeps s, unless it alone is more than may be kept: the cache would hold that until it
// tidies up.
func (s *latestCache) put(k latestKey, of *latestSeries) {
	if s.of != nil && of.bytes(k) <= s.most {
		s.of.Set(k, of)
	}
}

func (s *latestCache) get(k latestKey) *latestSeries {
	if s.of == nil {
		return nil
	}
	n, _ := s.of.GetIfPresent(k)
	return n
}

// latestSeries reads what a question selects of a node's latest state.
func (r *Reader) latestSeries(ctx context.Context, q *question, n *Node) (*latestSeries, error) {
	k := latestKey{q.account, q.text, n.ID}
	return share.Read(ctx, r.Shared, q.account, "latest/"+q.account+"/"+n.ID.String()+"/"+q.text,
		func(ctx context.Context) (*latestSeries, error) {
			state, err := r.readLatest(ctx, q.account, n, q.want)
			if err != nil {
				return nil, err
			}
			of := &latestSeries{missing: state.Missing}
			if state.Window == nil || len(state.Times) == 0 {
				return of, nil
			}
			of.at, of.interval = state.Times[len(state.Times)-1], state.Node.Interval
			of.version = StateVersion{Seen: state.Seen, Interval: state.Node.Interval,
				Recent: state.Recent}
			for _, m := range q.selectors {
				list, err := state.LatestContext(ctx, memory.Of(ctx), m...)
				if err != nil {
					return nil, err
				}
				of.lists = append(of.lists, list)
			}
			if state.Recent {
				r.latest.put(k, of)
			}
			return of, nil
		})
}

// current returns by node what is cached of its latest state, if that still is the latest; nil for
// the others. It asks the recent source once, for all nodes of which something is cached.
func (r *Reader) current(ctx context.Context, q *question, nodes []Node) []*latestSeries {
	list := make([]*latestSeries, len(nodes))
	var some []Node
	var places []int
	for i := range nodes {
		if of := r.latest.get(latestKey{q.account, q.text, nodes[i].ID}); of != nil {
			list[i] = of
			some, places = append(some, nodes[i]), append(places, i)
		}
	}
	if len(some) == 0 {
		return list
	}
	same := r.Unchanged(ctx, q.account, some, func(i int) *StateVersion {
		return &list[places[i]].version
	})
	for i, is := range same {
		if !is {
			list[places[i]] = nil
		}
	}
	return list
}

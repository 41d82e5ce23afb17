package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/rows"
)

// LastSeen returns when each node was heard of by its newest stored frame, milliseconds since the
// Unix epoch: the frame's time, but when it arrived if it is dated ahead of that. That is exact if
// it is at most 15 minutes ago, else to the key frame before it. A node that was never heard of, or
// longer ago than the raw TTL, is not in it. With an error it has the nodes that could be read.
//
// It asks for a window of many nodes in one request to a replica that has them.
func (r Reader) LastSeen(ctx context.Context, account string,
	nodes []uuid.UUID) (map[uuid.UUID]int64, error) {
	s, work := r.task, r.task.work
	seen := make(map[uuid.UUID]int64, len(nodes))
	if len(nodes) == 0 {
		return seen, nil
	}
	now, left := s.clock.Millis(), nodes
	for _, w := range presentWindows(now) {
		if err := s.fresh.seenIn(ctx, work, account, left, w, seen); err != nil {
			return seen, err
		}
		// All that is in older windows was heard of before this one began.
		left = slices.DeleteFunc(slices.Clone(left), func(node uuid.UUID) bool {
			return seen[node] >= w
		})
		if len(left) == 0 {
			break
		}
	}
	left = slices.DeleteFunc(slices.Clone(nodes), func(node uuid.UUID) bool {
		return seen[node] >= now-silentMillis
	})
	for _, w := range aheadWindows(now) {
		if len(left) == 0 {
			break
		}
		if err := s.fresh.seenIn(ctx, work, account, left, w, seen); err != nil {
			return seen, err
		}
	}
	left = slices.DeleteFunc(left, func(node uuid.UUID) bool { return seen[node] > 0 })
	if len(left) == 0 {
		return seen, nil
	}
	known, err := s.nodes.list(ctx, work, account)
	silent := make(map[uuid.UUID]bool, len(left))
	for _, node := range left {
		silent[node] = true
	}
	for _, n := range known { // a node that moved to another cluster name is there twice
		if silent[n.ID] && n.LastKey > 0 {
			seen[n.ID] = max(seen[n.ID], n.LastKey)
		}
	}
	return seen, err
}

// seenIn takes into seen what a window says of nodes.
func (s *freshRows) seenIn(ctx context.Context, w rows.Work, account string, nodes []uuid.UUID,
	window int64, seen map[uuid.UUID]int64) error {
	keys := make([][]any, len(nodes))
	for i, node := range nodes {
		keys[i] = []any{account, node, window}
	}
	var failed error
	var ahead []uuid.UUID // whose newest frame by its own time is not the newest
	query := rows.Query{Table: s.table, Columns: []string{"at", "received"}, Limit: 1}
	err := s.engine.ReadMany(ctx, w, query, keys, func(i int, scan func(...any) bool, err error) {
		var at, received int64
		if err != nil {
			failed = cmp.Or(failed, err)
		} else if scan(&at, &received) {
			if h := heardAt(at, received); h.ahead() {
				ahead = append(ahead, nodes[i])
			} else {
				seen[nodes[i]] = max(seen[nodes[i]], h.seen)
			}
		}
	})
	for _, node := range ahead {
		if err != nil {
			break
		}
		var h heard
		if h, err = s.newestOf(ctx, w, account, node, window); err == nil {
			seen[node] = max(seen[node], h.seen)
		}
	}
	if err = cmp.Or(err, failed); err != nil {
		return fmt.Errorf("store: read when nodes were seen: %w", err)
	}
	return nil
}

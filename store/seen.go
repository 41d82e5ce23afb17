package store

import (
	"context"
	"fmt"
	"slices"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/ring"
)

// LastSeen returns when each node was heard of by its newest stored frame, milliseconds since the Unix epoch: the frame's time, but when it arrived if it is dated ahead of that. That is
// exact if it is at most 15 minutes ago, else to the key frame before it. A node that was never heard of, or longer ago than the raw TTL, is not in it. With an error it has the nodes that
// could be read.
//
// It asks for a window of many nodes in one request to a replica that has them.
func (s *Store) LastSeen(ctx context.Context, account string, nodes []uuid.UUID) (map[uuid.UUID]int64, error) {
	ctx = dashboard(ctx, account)
	seen := make(map[uuid.UUID]int64, len(nodes))
	if len(nodes) == 0 {
		return seen, nil
	}
	now, left := s.millis(), nodes
	for _, w := range presentWindows(now) {
		if err := s.seenIn(ctx, account, left, w, seen); err != nil {
			return seen, err
		}
		// All that is in older windows was heard of before this one began.
		left = slices.DeleteFunc(slices.Clone(left), func(node uuid.UUID) bool { return seen[node] >= w })
		if len(left) == 0 {
			break
		}
	}
	left = slices.DeleteFunc(slices.Clone(nodes), func(node uuid.UUID) bool { return seen[node] >= now-silentMillis })
	for _, w := range aheadWindows(now) {
		if len(left) == 0 {
			break
		}
		if err := s.seenIn(ctx, account, left, w, seen); err != nil {
			return seen, err
		}
	}
	left = slices.DeleteFunc(left, func(node uuid.UUID) bool { return seen[node] > 0 })
	if len(left) == 0 {
		return seen, nil
	}
	known, err := s.Nodes(ctx, account)
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
func (s *Store) seenIn(ctx context.Context, account string, nodes []uuid.UUID, window int64, seen map[uuid.UUID]int64) error {
	reader, err := s.ring()
	if err != nil {
		return err
	}
	query := ring.Query{Keyspace: s.config.Keyspace, Table: freshTable, Columns: []string{"at", "received"}, Limit: 1, Work: ctx.Value(workKey{}).(work).Work}
	keys := make([]ring.Key, len(nodes))
	for i, node := range nodes {
		keys[i] = ring.Key{account, gocql.UUID(node), window}
	}
	results, err := reader.Read(ctx, query, keys)
	if err != nil {
		s.note(err)
		return fmt.Errorf("store: read when nodes were seen: %w", err)
	}
	var failed error
	for i, r := range results {
		switch {
		case r.Err == nil && len(r.Rows) == 0:
		case r.Err == nil:
			var at, received int64
			if err := r.Rows[0].Scan(&at, &received); err != nil {
				return err
			}
			h := heardAt(at, received)
			if h.ahead() {
				if h, err = s.newestOf(ctx, account, nodes[i], window); err != nil {
					return fmt.Errorf("store: read when nodes were seen: %w", err)
				}
			}
			seen[nodes[i]] = max(seen[nodes[i]], h.seen)
		case failed == nil:
			failed = r.Err
		}
	}
	if failed == nil {
		return nil
	}
	if !throttled(failed) {
		s.note(failed)
	}
	return fmt.Errorf("store: read when nodes were seen: %w", failed)
}

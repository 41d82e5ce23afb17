package store

import (
	"context"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/ring"
)

// LastSeen returns when each node's newest stored frame was made, milliseconds since the Unix epoch: exactly if that is at most 15 minutes ago, else to the key frame before it. A
// node that was never heard of, or longer ago than the raw TTL, is not in it. With an error it has the nodes that could be read.
//
// It asks for a window of many nodes in one request to a replica that has them.
func (s *Store) LastSeen(ctx context.Context, account string, nodes []uuid.UUID) (map[uuid.UUID]int64, error) {
	ctx = dashboard(ctx, account)
	seen := make(map[uuid.UUID]int64, len(nodes))
	if len(nodes) == 0 {
		return seen, nil
	}
	reader, err := s.ring()
	if err != nil {
		return seen, err
	}
	now := s.millis()
	left := nodes
	query := ring.Query{Keyspace: s.config.Keyspace, Table: freshTable, Columns: []string{"at"}, Limit: 1, Work: ctx.Value(workKey{}).(work).Work}
	for w := frame.WindowOf(now + aheadMillis); w > now-recentMillis-frame.WindowMillis && len(left) > 0; w -= frame.WindowMillis {
		keys := make([]ring.Key, len(left))
		for i, node := range left {
			keys[i] = ring.Key{account, gocql.UUID(node), w}
		}
		results, err := reader.Read(ctx, query, keys)
		if err != nil {
			s.note(err)
			return seen, fmt.Errorf("store: read when nodes were seen: %w", err)
		}
		var silent []uuid.UUID
		var failed error
		for i, r := range results {
			var at int64
			switch {
			case r.Err == nil && len(r.Rows) == 0:
				silent = append(silent, left[i])
			case r.Err == nil:
				if err := r.Rows[0].Scan(&at); err != nil {
					return seen, err
				}
				seen[left[i]] = at
			case failed == nil:
				failed = r.Err
			}
		}
		if failed != nil {
			if !throttled(failed) {
				s.note(failed)
			}
			return seen, fmt.Errorf("store: read when nodes were seen: %w", failed)
		}
		left = silent
	}
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

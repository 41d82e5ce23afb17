package api

import (
	"context"
	"fmt"
)

// settleMillis is how much older than the moment at which they were acknowledged frames are expected
// to be at most, in ms: an agent's backlog is. A range that ends earlier lacks nothing that is on its
// way.
const settleMillis = 20 * 60_000

// onTheWay says in words that frames of a node's cluster are on their way to the store which may belong
// to a range that ends at to (ms); nothing if none are known to be.
func (s *Server) onTheWay(ctx context.Context, account string, n *Node, to int64) []string {
	if s.deps.Behind == nil {
		return nil
	}
	since, behind := s.deps.Behind(ctx, account, n.Cluster)
	if !behind || to < since-settleMillis {
		return nil
	}
	return []string{fmt.Sprintf("frames that were accepted since %s may still be on their way to the store: ask again later", formatTime(since))}
}

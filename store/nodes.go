package store

import (
	"context"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Node is what is known of a monitored node.
type Node struct {
	window.Node
	LastKey int64 // when its newest key frame was made, milliseconds since the Unix epoch; key frames come every five minutes
}

// NodeIDs returns the ids of the account's nodes. A node that is under two clusters' names is there once.
func (s *Store) NodeIDs(ctx context.Context, account string) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	err := s.each(dashboard(ctx, account), func(scan func(...any) bool) bool {
		var id gocql.UUID
		if !scan(&id) {
			return false
		}
		ids = append(ids, uuid.UUID(id))
		return true
	}, "SELECT node FROM "+s.table(nodesTable)+" WHERE account = ?", account)
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(ids), err
}

// Nodes returns the account's nodes by cluster and id. A node that has sent nothing for the raw TTL is forgotten.
func (s *Store) Nodes(ctx context.Context, account string) ([]Node, error) {
	ctx = dashboard(ctx, account)
	var nodes []Node
	err := s.each(ctx, func(scan func(...any) bool) bool {
		n := Node{Node: window.Node{Account: account}}
		var id gocql.UUID
		var facts map[string]string
		if !scan(&n.Cluster, &id, &n.Datacenter, &n.Rack, &facts, &n.Interval, &n.LastKey) {
			return false
		}
		n.ID = uuid.UUID(id)
		for name, v := range facts {
			n.Facts = append(n.Facts, frame.Fact{Name: name, Value: v})
		}
		slices.SortFunc(n.Facts, func(a, b frame.Fact) int { return strings.Compare(a.Name, b.Name) })
		nodes = append(nodes, n)
		return true
	}, "SELECT cluster, node, datacenter, rack, facts, interval_ms, last_key FROM "+s.table(nodesTable)+" WHERE account = ?", account)
	return nodes, err
}

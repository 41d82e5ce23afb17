package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
)

// Node is what is known of a monitored node.
type Node struct {
	window.Node
	// when its newest key frame was made, milliseconds since the Unix epoch; key frames come
	// every five minutes
	LastKey int64
}

func (c *Config) nodesLayout() *rows.Table {
	return &rows.Table{
		Name:       nodesTable,
		Comment:    "Ringwatch: the newest key frame of each node",
		Partition:  []rows.Column{rows.TextColumn("account")},
		Clustering: []rows.Column{rows.TextColumn("cluster"), rows.IDColumn("node")},
		Values: []rows.Column{rows.TextColumn("datacenter"), rows.TextColumn("rack"),
			{Name: "facts", Kind: rows.TextMap},
			{Name: "interval_ms", Kind: rows.Int64}, rows.TimeColumn("last_key")},
		TTL: c.RawTTL, Grace: 3 * time.Hour, Compression: rows.Fast,
	}
}

// nodeRows keeps what is known of nodes.
type nodeRows struct {
	engine rows.Engine
	table  *rows.Table
}

// put renews a node's row. The write carries when the node was heard of by the frame, so that an
// old key frame that is read again never hides a newer one, nor does one that is dated ahead.
func (s *nodeRows) put(ctx context.Context, w rows.Work, account string, h *frame.Header,
	id *frame.Identity, seen int64) error {
	facts := make(map[string]string, len(id.Facts))
	for _, fact := range id.Facts {
		facts[fact.Name] = fact.Value
	}
	return s.engine.Put(ctx, w, s.table, rows.Row{
		Key:    []any{account, h.Cluster, h.Node},
		Values: []any{id.Datacenter, id.Rack, facts, h.Interval, seen}, Stamp: seen * 1000,
	})
}

// ids returns the ids of an account's nodes, each once.
func (s *nodeRows) ids(ctx context.Context, w rows.Work, account string) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	query := rows.Query{Table: s.table, Key: []any{account}, Columns: []string{"node"}}
	err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
		var id uuid.UUID
		if !scan(&id) {
			return false
		}
		ids = append(ids, id)
		return true
	})
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(ids), err
}

// list returns an account's nodes by cluster and id.
func (s *nodeRows) list(ctx context.Context, w rows.Work, account string) ([]Node, error) {
	var nodes []Node
	query := rows.Query{Table: s.table, Key: []any{account},
		Columns: []string{"cluster", "node", "datacenter", "rack", "facts", "interval_ms",
			"last_key"}}
	err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
		n := Node{Node: window.Node{Account: account}}
		var facts map[string]string
		if !scan(&n.Cluster, &n.ID, &n.Datacenter, &n.Rack, &facts, &n.Interval, &n.LastKey) {
			return false
		}
		for name, v := range facts {
			n.Facts = append(n.Facts, frame.Fact{Name: name, Value: v})
		}
		slices.SortFunc(n.Facts, func(a, b frame.Fact) int {
			return strings.Compare(a.Name, b.Name)
		})
		nodes = append(nodes, n)
		return true
	})
	return nodes, err
}

// NodeIDs returns the ids of the account's nodes. A node that is under two clusters' names is there
// once.
func (r Reader) NodeIDs(ctx context.Context, account string) ([]uuid.UUID, error) {
	return r.task.nodes.ids(ctx, r.task.work, account)
}

// Nodes returns the account's nodes by cluster and id. A node that has sent nothing for the raw TTL
// is forgotten.
func (r Reader) Nodes(ctx context.Context, account string) ([]Node, error) {
	return r.task.nodes.list(ctx, r.task.work, account)
}

// Package nodes keeps what is known of monitored nodes, by their newest key frames.
package nodes

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

// TableName is the table of nodes.
const TableName = "nodes"

// Node is what is known of a monitored node.
type Node struct {
	window.Node
	// when its newest key frame was made, milliseconds since the Unix epoch; key frames come
	// every five minutes
	LastKey int64
}

// Layout is the table of nodes. Who sends nothing for ttl is forgotten.
func Layout(ttl time.Duration) *rows.Table {
	return &rows.Table{
		Name:       TableName,
		Comment:    "Ringwatch: the newest key frame of each node",
		Partition:  []rows.Column{rows.TextColumn("account")},
		Clustering: []rows.Column{rows.TextColumn("cluster"), rows.IDColumn("node")},
		Values: []rows.Column{rows.TextColumn("datacenter"), rows.TextColumn("rack"),
			{Name: "facts", Kind: rows.TextMap},
			{Name: "interval_ms", Kind: rows.Int64}, rows.TimeColumn("last_key")},
		TTL: ttl, Grace: 3 * time.Hour, Compression: rows.Fast,
	}
}

// Nodes keeps what is known of nodes.
type Nodes struct {
	engine rows.Engine
	table  *rows.Table
}

// New keeps in an engine what is known of nodes that sent something within ttl.
func New(engine rows.Engine, ttl time.Duration) *Nodes {
	return &Nodes{engine: engine, table: Layout(ttl)}
}

// Put renews a node's row. The write carries when the node was heard of by the frame, so that an
// old key frame that is read again never hides a newer one, nor does one that is dated ahead.
func (s *Nodes) Put(ctx context.Context, w rows.Work, account string, h *frame.Header,
	id *frame.Identity, heard int64) error {
	facts := make(map[string]string, len(id.Facts))
	for _, fact := range id.Facts {
		facts[fact.Name] = fact.Value
	}
	return s.engine.Put(ctx, w, s.table, rows.Row{
		Key:    []any{account, h.Cluster, h.Node},
		Values: []any{id.Datacenter, id.Rack, facts, h.Interval, heard}, Stamp: heard * 1000,
	})
}

// IDs returns the ids of an account's nodes, each once.
func (s *Nodes) IDs(ctx context.Context, w rows.Work, account string) ([]uuid.UUID, error) {
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

// List returns an account's nodes by cluster and id.
func (s *Nodes) List(ctx context.Context, w rows.Work, account string) ([]Node, error) {
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

package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/rows"
)

// BoundTableName holds which node a key was first used by, of keys that are bound to that node. It
// is a table of its own because ingest writes it, who may not write keys.
const BoundTableName = "key_nodes"

// BoundLayout is the table of what keys are bound to.
func BoundLayout() *rows.Table {
	return &rows.Table{
		Name: BoundTableName,
		Comment: "Ringwatch: the node that first used a key, of keys that are bound to it; " +
			"ingest writes it once",
		Partition: []rows.Column{rows.TextColumn("id")},
		Values: []rows.Column{rows.TextColumn("account"), rows.IDColumn("node"),
			rows.TimeColumn("first_used_at")},
		Grace: 10 * 24 * time.Hour, Compression: rows.Fast,
	}
}

// BindKey binds a key to a node, unless it is bound, and returns the node that it is bound to. Of
// several nodes that use it first at the same time one wins, in all processes and datacenters.
func (s *Register) BindKey(ctx context.Context, id, account string,
	node uuid.UUID) (uuid.UUID, error) {
	var is uuid.UUID
	query := rows.Query{Table: s.nodes, Key: []any{id}, Columns: []string{"node"}}
	err := s.engine.Read(ctx, rows.Work{}, query, func(scan func(...any) bool) bool {
		return scan(&is)
	})
	if err != nil {
		return uuid.Nil, fmt.Errorf("store: read the node that a key is bound to: %w", err)
	}
	if is != uuid.Nil {
		return is, nil
	}
	row := rows.Row{Key: []any{id}, Values: []any{account, node, s.clock.Millis()}}
	done, err := s.engine.PutNew(ctx, rows.Work{}, s.nodes, row, []string{"node"}, &is)
	if err != nil {
		return uuid.Nil, fmt.Errorf("store: bind a key to a node: %w", err)
	}
	if done {
		return node, nil
	}
	if is == uuid.Nil {
		return uuid.Nil, errors.New("store: bind a key to a node: a row is there that names none")
	}
	return is, nil
}

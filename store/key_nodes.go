package store

import (
	"context"
	"fmt"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"
)

// keyNodesTable holds which node a key was first used by, of keys that are bound to that node. It
// is a table of its own because ingest writes it, who may not write keys.
const keyNodesTable = "key_nodes"

func keyNodesLayout() tableLayout {
	return tableLayout{
		name:      keyNodesTable,
		comment:   "Ringwatch: the node that first used a key, of keys that are bound to it; ingest writes it once",
		partition: []columnLayout{{name: "id", kind: "text"}},
		rest:      []columnLayout{{name: "account", kind: "text"}, {name: "node", kind: "uuid"}, {name: "first_used_at", kind: "timestamp"}},
		gcGrace:   10 * 24 * time.Hour, compression: lz4,
	}
}

// BindKey binds a key to a node, unless it is bound, and returns the node that it is bound to. Of
// several nodes that use it first at the same time one wins, in all processes and datacenters.
func (s *Store) BindKey(ctx context.Context, id, account string, node uuid.UUID) (uuid.UUID, error) {
	session, err := s.cql()
	if err != nil {
		return uuid.Nil, err
	}
	var is gocql.UUID
	err = s.each(ctx, func(scan func(...any) bool) bool { return scan(&is) }, "SELECT node FROM "+s.table(keyNodesTable)+" WHERE id = ?", id)
	if err != nil {
		return uuid.Nil, fmt.Errorf("store: read the node that a key is bound to: %w", err)
	}
	if is != (gocql.UUID{}) {
		return uuid.UUID(is), nil
	}
	before := map[string]any{}
	done, err := session.Query("INSERT INTO "+s.table(keyNodesTable)+" (id, account, node, first_used_at) VALUES (?, ?, ?, ?) IF NOT EXISTS",
		id, account, gocql.UUID(node), s.millis()).SerialConsistency(gocql.Serial).MapScanCASContext(ctx, before)
	s.note(err)
	if err != nil {
		return uuid.Nil, fmt.Errorf("store: bind a key to a node: %w", err)
	}
	if done {
		return node, nil
	}
	is, found := before["node"].(gocql.UUID)
	if !found {
		return uuid.Nil, fmt.Errorf(
			"store: bind a key to a node: Cassandra says %v is there", before)
	}
	return uuid.UUID(is), nil
}

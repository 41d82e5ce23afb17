package store

import (
	"context"
	"fmt"
	"strings"
)

// The kinds of roles that Grants knows.
const (
	ServiceRole = "service" // the roles store, api and all
	ReaderRole  = "reader"  // the role api alone
	SchemaRole  = "schema"  // ringwatch schema
	KeysRole    = "keys"    // ringwatch key
	IngestRole  = "ingest"  // the role ingest alone, which reads API keys and which nodes there are, and binds keys to nodes
)

// Grants returns the statements that give a role of Cassandra's what it needs and nothing else. A service may read everything and write all but the cutover table and the API keys; it
// cannot change the schema. The grants name tables, so they are to be repeated after new tables have come, which ringwatch schema apply and cutover say.
func (s *Store) Grants(ctx context.Context, kind, role string) ([]string, error) {
	role = `"` + strings.ReplaceAll(role, `"`, `""`) + `"`
	keyspace := s.config.Keyspace
	grant := func(what, on string) string { return fmt.Sprintf("GRANT %s ON %s TO %s;", what, on, role) }
	switch kind {
	case ReaderRole:
		return []string{grant("SELECT", "KEYSPACE "+keyspace)}, nil
	case SchemaRole:
		return []string{
			grant("CREATE", "KEYSPACE "+keyspace), grant("ALTER", "KEYSPACE "+keyspace), grant("DROP", "KEYSPACE "+keyspace),
			grant("SELECT", "KEYSPACE "+keyspace), grant("MODIFY", "KEYSPACE "+keyspace), grant("SELECT", "KEYSPACE system_views"),
		}, nil
	case ServiceRole:
		tables, err := s.tablesNow(ctx)
		if err != nil {
			return nil, err
		}
		list := []string{grant("SELECT", "KEYSPACE "+keyspace)}
		for _, t := range tables {
			if t.name != cutoverTable && t.name != keysTable {
				list = append(list, grant("MODIFY", "TABLE "+s.table(t.name)))
			}
		}
		return list, nil
	case KeysRole:
		return []string{grant("SELECT", "TABLE "+s.table(keysTable)), grant("MODIFY", "TABLE "+s.table(keysTable))}, nil
	case IngestRole:
		return []string{grant("SELECT", "TABLE "+s.table(keysTable)), grant("SELECT", "TABLE "+s.table(keyNodesTable)), grant("MODIFY", "TABLE "+s.table(keyNodesTable)), grant("SELECT", "TABLE "+s.table(nodesTable))}, nil
	}
	return nil, fmt.Errorf("store: unknown kind of role %q; use %s, %s, %s, %s or %s", kind, ServiceRole, ReaderRole, SchemaRole, KeysRole, IngestRole)
}

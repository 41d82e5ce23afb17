package schema

import (
	"context"
	"fmt"

	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/keys"
	"github.com/ringwatch/ringwatch/store/nodes"
	"github.com/ringwatch/ringwatch/store/rows/cassandra"
)

// The kinds of roles that Grants knows.
const (
	ServiceRole = "service" // the roles store, api and all
	ReaderRole  = "reader"  // the role api alone
	SchemaRole  = "schema"  // ringwatch schema
	KeysRole    = "keys"    // ringwatch key
	// the role ingest alone, which reads API keys and which nodes there are, and binds keys to
	// nodes
	IngestRole = "ingest"
)

// Grants returns the statements that give a role of Cassandra's what it needs and nothing else. A
// service may read everything and write all but the cutover table and the API keys; it cannot
// change the schema. The grants name tables, so they are to be repeated after new tables have come,
// which ringwatch schema apply and cutover say.
func (s *Schema) Grants(ctx context.Context, kind, role string) ([]string, error) {
	if s.config.External == nil {
		return nil, errOwn
	}
	reads := func(table string) cassandra.Grant {
		return cassandra.Grant{Right: cassandra.Select, Table: table}
	}
	writes := func(table string) cassandra.Grant {
		return cassandra.Grant{Right: cassandra.Modify, Table: table}
	}
	var list []cassandra.Grant
	switch kind {
	case ReaderRole:
		list = []cassandra.Grant{reads("")}
	case SchemaRole:
		list = []cassandra.Grant{{Right: cassandra.Create}, {Right: cassandra.Alter},
			{Right: cassandra.Drop}, reads(""), writes(""), {Right: cassandra.Select, Views: true}}
	case ServiceRole:
		tables, err := s.tablesNow(ctx)
		if err != nil {
			return nil, err
		}
		list = []cassandra.Grant{reads("")}
		for _, t := range tables {
			if t.Name != cutovers.TableName && t.Name != keys.TableName {
				list = append(list, writes(t.Name))
			}
		}
	case KeysRole:
		list = []cassandra.Grant{reads(keys.TableName), writes(keys.TableName)}
	case IngestRole:
		list = []cassandra.Grant{reads(keys.TableName), reads(keys.BoundTableName),
			writes(keys.BoundTableName), reads(nodes.TableName)}
	default:
		return nil, fmt.Errorf("store: unknown kind of role %q; use %s, %s, %s, %s or %s", kind,
			ServiceRole, ReaderRole, SchemaRole, KeysRole, IngestRole)
	}
	return s.config.External.Grants(role, list...), nil
}

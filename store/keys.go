package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// keysTable holds API keys. Nobody's data path writes it: only ringwatch key and POST /v1/keys do.
const keysTable = "api_keys"

// keysScope is its one partition, so that one read gives all of a moment. A key is some 200 bytes.
const keysScope = "keys"

// Key is a row of API keys. Rows are never deleted: who made and who revoked a key stays known.
type Key struct {
	ID       string // public, in the key's text
	Account  string
	Name     string
	SHA256   string // of the key's text, hex
	Scopes   []string
	Networks []string // CIDR
	Clusters []string // what it may write of; none: everything
	Node     string   // an id, or "first"; empty: all nodes

	// Milliseconds since the Unix epoch; 0: never.
	Created, Expires, Revoked int64
	CreatedBy, RevokedBy      string
}

func keysLayout() tableLayout {
	return tableLayout{
		name:      keysTable,
		comment:   "Ringwatch: API keys, hashed; ringwatch key writes it",
		partition: []columnLayout{{name: "scope", kind: "text"}},
		cluster:   []columnLayout{{name: "id", kind: "text"}},
		rest: []columnLayout{{name: "account", kind: "text"}, {name: "name", kind: "text"}, {name: "sha256", kind: "text"},
			{name: "scopes", kind: "frozen<list<text>>"}, {name: "networks", kind: "frozen<list<text>>"}, {name: "expires_at", kind: "timestamp"},
			{name: "created_at", kind: "timestamp"}, {name: "created_by", kind: "text"}, {name: "revoked_at", kind: "timestamp"}, {name: "revoked_by", kind: "text"},
			{name: "clusters", kind: "frozen<list<text>>"}, {name: "node", kind: "text"}},
		gcGrace: 10 * 24 * time.Hour, compression: lz4,
	}
}

// Keys returns all API keys by id, revoked ones too.
func (s *Store) Keys(ctx context.Context) ([]Key, error) {
	var list []Key
	err := s.each(ctx, func(scan func(...any) bool) bool {
		var k Key
		if !scan(&k.ID, &k.Account, &k.Name, &k.SHA256, &k.Scopes, &k.Networks, &k.Expires, &k.Created, &k.CreatedBy, &k.Revoked, &k.RevokedBy, &k.Clusters, &k.Node) {
			return false
		}
		list = append(list, k)
		return true
	}, "SELECT id, account, name, sha256, scopes, networks, expires_at, created_at, created_by, revoked_at, revoked_by, clusters, node FROM "+s.table(keysTable)+" WHERE scope = ?", keysScope)
	var refused gocql.RequestError
	if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeInvalid {
		return nil, fmt.Errorf("store: table %s is missing or outdated (%w): run ringwatch schema apply", s.table(keysTable), err)
	} else if err != nil {
		return nil, fmt.Errorf("store: read API keys: %w", err)
	}
	return list, nil
}

// CreateKey writes a new key. It is there in every datacenter when this returns nil.
func (s *Store) CreateKey(ctx context.Context, k Key) error {
	var expires any // null: never
	if k.Expires > 0 {
		expires = k.Expires
	}
	return s.everywhere(ctx, "INSERT INTO "+s.table(keysTable)+" (scope, id, account, name, sha256, scopes, networks, expires_at, created_at, created_by, clusters, node) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		keysScope, k.ID, k.Account, k.Name, k.SHA256, k.Scopes, k.Networks, expires, k.Created, k.CreatedBy, k.Clusters, k.Node)
}

// RevokeKey notes that a key, which must be there, is revoked. That is so in every datacenter when this returns nil.
func (s *Store) RevokeKey(ctx context.Context, id string, at int64, by string) error {
	return s.everywhere(ctx, "UPDATE "+s.table(keysTable)+" SET revoked_at = ?, revoked_by = ? WHERE scope = ? AND id = ?", at, by, keysScope, id)
}

// everywhere writes with a quorum in each datacenter, because others read in theirs.
func (s *Store) everywhere(ctx context.Context, statement string, args ...any) error {
	session, err := s.cql()
	if err != nil {
		return err
	}
	err = session.Query(statement, args...).Consistency(gocql.EachQuorum).ExecContext(ctx)
	s.note(err)
	var refused gocql.RequestError
	if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeUnauthorized {
		return fmt.Errorf("%w: %w", ErrKeysRights, err)
	}
	if err != nil {
		return fmt.Errorf("store: write API keys: %w", err)
	}
	return nil
}

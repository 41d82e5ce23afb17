package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/store/rows"
)

// keysTable holds API keys. Nobody's data path writes it: only ringwatch key and POST /v1/keys do.
const keysTable = "api_keys"

// keysScope is its one partition, so that one read gives all of a moment. A key is some 200 bytes.
const keysScope = "keys"

func keysLayout() *rows.Table {
	return &rows.Table{
		Name:       keysTable,
		Comment:    "Ringwatch: API keys, hashed; ringwatch key writes it",
		Partition:  []rows.Column{textColumn("scope")},
		Clustering: []rows.Column{textColumn("id")},
		Values: []rows.Column{textColumn("account"), textColumn("name"), textColumn("sha256"),
			{Name: "scopes", Kind: rows.Texts}, {Name: "networks", Kind: rows.Texts},
			timeColumn("expires_at"),
			timeColumn("created_at"), textColumn("created_by"), timeColumn("revoked_at"),
			textColumn("revoked_by"), {Name: "clusters", Kind: rows.Texts}, textColumn("node")},
		Grace: 10 * 24 * time.Hour, Compression: rows.Fast,
		Everywhere: true, // because others read in their datacenter
	}
}

// keyRows keeps API keys, and which nodes they are bound to.
type keyRows struct {
	engine      rows.Engine
	now         func() int64
	keys, nodes *rows.Table
}

// Keys returns all API keys by id, revoked ones too.
func (s *keyRows) Keys(ctx context.Context) ([]account.StoredKey, error) {
	var list []account.StoredKey
	err := s.engine.Read(ctx, rows.Work{}, rows.Query{
		Table: s.keys, Key: []any{keysScope},
		Columns: []string{"id", "account", "name", "sha256", "scopes", "networks", "expires_at",
			"created_at", "created_by", "revoked_at", "revoked_by", "clusters", "node"},
	}, func(scan func(...any) bool) bool {
		var k account.StoredKey
		var scopes []string
		var expires, created, revoked int64
		if !scan(&k.ID, &k.Account, &k.Name, &k.SHA256, &scopes, &k.Networks, &expires,
			&created, &k.CreatedBy, &revoked, &k.RevokedBy, &k.Clusters, &k.Node) {
			return false
		}
		for _, scope := range scopes {
			k.Scopes = append(k.Scopes, account.Scope(scope))
		}
		k.Expires, k.Created, k.Revoked = keyTime(expires), keyTime(created), keyTime(revoked)
		list = append(list, k)
		return true
	})
	switch {
	case errors.Is(err, rows.ErrUnknown):
		return nil, fmt.Errorf("store: table %s is missing or outdated (%w): run ringwatch "+
			"schema apply", keysTable, err)
	case err != nil:
		return nil, fmt.Errorf("store: read API keys: %w", err)
	}
	return list, nil
}

// CreateKey writes a new key. It is there in every datacenter when this returns nil.
func (s *keyRows) CreateKey(ctx context.Context, k account.StoredKey) error {
	var expires any // never
	if !k.Expires.IsZero() {
		expires = k.Expires.UnixMilli()
	}
	scopes := make([]string, len(k.Scopes))
	for i, scope := range k.Scopes {
		scopes[i] = string(scope)
	}
	return s.put(ctx, k.ID, k.Account, k.Name, k.SHA256, scopes, k.Networks, expires,
		k.Created.UnixMilli(), k.CreatedBy, nil, nil, k.Clusters, k.Node)
}

// keyTime is a time of a row; none is the zero time.
func keyTime(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}

// RevokeKey notes that a key, which must be there, is revoked. That is so in every datacenter when
// this returns nil.
func (s *keyRows) RevokeKey(ctx context.Context, id string, at int64, by string) error {
	return s.put(ctx, id, nil, nil, nil, nil, nil, nil, nil, nil, at, by, nil, nil)
}

func (s *keyRows) put(ctx context.Context, id string, values ...any) error {
	err := s.engine.Put(ctx, rows.Work{}, s.keys,
		rows.Row{Key: []any{keysScope, id}, Values: values})
	switch {
	case errors.Is(err, rows.ErrDenied):
		return fmt.Errorf("%w: %w", ErrKeysRights, err)
	case err != nil:
		return fmt.Errorf("store: write API keys: %w", err)
	}
	return nil
}

// Package keys keeps API keys, who has signed in with them, and which nodes they are bound to.
// Start with Register.
package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
)

// TableName holds API keys, and who has signed in with them. Nobody's data path writes it: only
// ringwatch key, POST /v1/keys and POST /v1/session do.
const TableName = "api_keys"

// Its partitions, so that one read gives all of a moment. A key is some 200 bytes.
const (
	keysScope     = "keys"
	sessionsScope = "sessions"
)

// Layout is the table of keys and sessions.
func Layout() *rows.Table {
	return &rows.Table{
		Name:       TableName,
		Comment:    "Ringwatch: API keys, hashed; ringwatch key writes it",
		Partition:  []rows.Column{rows.TextColumn("scope")},
		Clustering: []rows.Column{rows.TextColumn("id")},
		Values: []rows.Column{rows.TextColumn("account"), rows.TextColumn("name"),
			rows.TextColumn("sha256"),
			{Name: "scopes", Kind: rows.Texts}, {Name: "networks", Kind: rows.Texts},
			rows.TimeColumn("expires_at"),
			rows.TimeColumn("created_at"), rows.TextColumn("created_by"),
			rows.TimeColumn("revoked_at"), rows.TextColumn("revoked_by"),
			{Name: "clusters", Kind: rows.Texts}, rows.TextColumn("node"),
			rows.TextColumn("session_of")},
		Grace: 10 * 24 * time.Hour, Compression: rows.Fast,
		Everywhere: true, // because others read in their datacenter
	}
}

// ErrRights is wrapped by CreateKey's and RevokeKey's errors if this role of Cassandra's may not
// write API keys.
var ErrRights = errors.New("store: this role of Cassandra's may not write API keys")

// Register keeps API keys, and which nodes they are bound to.
type Register struct {
	engine      rows.Engine
	clock       *calendar.Clock
	keys, nodes *rows.Table
}

// New keeps keys in an engine.
func New(engine rows.Engine, clock *calendar.Clock) *Register {
	return &Register{engine: engine, clock: clock, keys: Layout(), nodes: BoundLayout()}
}

// Keys returns all API keys by id, revoked ones too.
func (s *Register) Keys(ctx context.Context) ([]account.StoredKey, error) {
	return s.read(ctx, keysScope)
}

// Sessions returns the sessions of API keys that have not been over for long.
func (s *Register) Sessions(ctx context.Context) ([]account.StoredKey, error) {
	return s.read(ctx, sessionsScope)
}

func (s *Register) read(ctx context.Context, scope string) ([]account.StoredKey, error) {
	var list []account.StoredKey
	err := s.engine.Read(ctx, rows.Work{}, rows.Query{
		Table: s.keys, Key: []any{scope},
		Columns: []string{"id", "account", "name", "sha256", "scopes", "networks", "expires_at",
			"created_at", "created_by", "revoked_at", "revoked_by", "clusters", "node",
			"session_of"},
	}, func(scan func(...any) bool) bool {
		var k account.StoredKey
		var scopes []string
		var expires, created, revoked int64
		if !scan(&k.ID, &k.Account, &k.Name, &k.SHA256, &scopes, &k.Networks, &expires,
			&created, &k.CreatedBy, &revoked, &k.RevokedBy, &k.Clusters, &k.Node,
			&k.SessionOf) {
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
			"schema apply", TableName, err)
	case err != nil:
		return nil, fmt.Errorf("store: read API keys: %w", err)
	}
	return list, nil
}

// CreateKey writes a new key. It is there in every datacenter when this returns nil.
func (s *Register) CreateKey(ctx context.Context, k account.StoredKey) error {
	var expires any // never
	if !k.Expires.IsZero() {
		expires = k.Expires.UnixMilli()
	}
	scopes := make([]string, len(k.Scopes))
	for i, scope := range k.Scopes {
		scopes[i] = string(scope)
	}
	return s.put(ctx, rows.Row{Key: []any{keysScope, k.ID}, Values: []any{k.Account, k.Name,
		k.SHA256, scopes, k.Networks, expires, k.Created.UnixMilli(), k.CreatedBy, nil, nil,
		k.Clusters, k.Node, nil}})
}

// PutSession writes a session, or that it was ended. It is forgotten after its life.
func (s *Register) PutSession(ctx context.Context, k account.StoredKey,
	life time.Duration) error {
	var revoked, by any
	if !k.Revoked.IsZero() {
		revoked, by = k.Revoked.UnixMilli(), k.RevokedBy
	}
	return s.put(ctx, rows.Row{Key: []any{sessionsScope, k.ID}, Values: []any{k.Account, k.Name,
		k.SHA256, nil, nil, k.Expires.UnixMilli(), k.Created.UnixMilli(), nil, revoked, by, nil,
		nil, k.SessionOf}, TTL: life.Truncate(time.Second)})
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
func (s *Register) RevokeKey(ctx context.Context, id string, at int64, by string) error {
	return s.put(ctx, rows.Row{Key: []any{keysScope, id}, Values: []any{nil, nil, nil, nil, nil,
		nil, nil, nil, at, by, nil, nil, nil}})
}

func (s *Register) put(ctx context.Context, row rows.Row) error {
	err := s.engine.Put(ctx, rows.Work{}, s.keys, row)
	switch {
	case errors.Is(err, rows.ErrDenied):
		return fmt.Errorf("%w: %w", ErrRights, err)
	case err != nil:
		return fmt.Errorf("store: write API keys: %w", err)
	}
	return nil
}

package wire

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/keys"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store"
)

// Keys keeps the stored keys read. A process that has no other use for Cassandra connects in
// the background: what the configuration has is enough to start with.
func Keys(p *Process) ([]Part, error) {
	if !p.Config.Keys.Stored {
		return nil, nil
	}
	if p.Database.Load() != nil {
		return []Part{p.keyring.Run}, nil
	}
	if err := engine.Readable(engine.Rows(p.Config)); err != nil {
		return nil, err
	}
	p.Config.Cassandra.Log = p.Log
	db, err := store.New(p.Config.Cassandra, nil)
	if err != nil {
		return nil, err
	}
	p.Database.Store(db)
	return []Part{p.keyring.Run, func(ctx context.Context) error {
		defer db.Close()
		if err := db.Connect(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		<-ctx.Done()
		return nil
	}}, nil
}

// bindKey binds a key to the node that first uses it.
func (p *Process) bindKey(ctx context.Context, id, account string,
	node uuid.UUID) (uuid.UUID, error) {
	db := p.Database.Load()
	if db == nil {
		return uuid.Nil, store.ErrNotConnected
	}
	ctx, cancel := context.WithTimeout(ctx, bindTimeout)
	defer cancel()
	return db.BindKey(ctx, id, account, node)
}

// nodeIDs is how ingest learns which nodes there are; nil where it has no Cassandra.
func nodeIDs(p *Process) func(context.Context, string) ([]uuid.UUID, error) {
	if !p.Config.Keys.Stored {
		return nil
	}
	return func(ctx context.Context, account string) ([]uuid.UUID, error) {
		db := p.Database.Load()
		if db == nil {
			return nil, store.ErrNotConnected
		}
		return db.Reader(store.Dashboard(account), memory.Unbounded()).NodeIDs(ctx, account)
	}
}

// bindTimeout bounds how long a frame waits for its key to be bound; its sender sends it again.
const bindTimeout = 3 * time.Second

// readKeys is what the keyring reads with.
func (p *Process) readKeys(ctx context.Context) ([]account.StoredKey, error) {
	db := p.Database.Load()
	if db == nil {
		return nil, store.ErrNotConnected
	}
	keys, err := db.Keys(ctx)
	if err != nil {
		return nil, err
	}
	sessions, err := db.Sessions(ctx)
	return append(keys, sessions...), err
}

// maxMadeKeys is how many keys an account may have before the API makes no more: all processes read
// all keys every few seconds, some 200 bytes each.
const maxMadeKeys = 1000

// keyMaker is how the API makes keys; nil if the store holds none.
func keyMaker(p *Process, db *store.Store) keys.Make {
	if !p.Config.Keys.Stored {
		return nil
	}
	maker := account.NewMaker(db.Keys, db.CreateKey, maxMadeKeys)
	return func(ctx context.Context, k *account.StoredKey) (string, error) {
		text, err := maker.Make(ctx, k)
		return text, keysRights(err)
	}
}

// keysRights says what to do where the store may not be written.
func keysRights(err error) error {
	if !errors.Is(err, store.ErrKeysRights) {
		return err
	}
	return &listener.Error{Status: http.StatusConflict, Reason: "keys_not_ours",
		Message: "the server's role in Cassandra may not write API keys: run ringwatch " +
			"key create, " +
			"or grant it what ringwatch schema grants --for keys prints", Cause: err}
}

// newSessions is how people sign in to the console; nil if the store holds no keys.
func newSessions(p *Process, db *store.Store) *account.Sessions {
	if !p.Config.Keys.Stored {
		return nil
	}
	return &account.Sessions{Read: db.Sessions, Now: clock.Now,
		Write: func(ctx context.Context, k account.StoredKey, life time.Duration) error {
			err := keysRights(db.PutSession(ctx, k, life))
			if err == nil {
				p.keyring.Learn(ctx) // the page asks at once, and much
			}
			return err
		}}
}

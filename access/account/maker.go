package account

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Why a Maker makes no key.
var (
	// ErrMaking says that another key of the account is being made. Try again when it is there.
	ErrMaking = errors.New("another key of this account is being made: try again in a moment")
	// ErrTooManyKeys says that an account has all the keys that it may be given.
	ErrTooManyKeys = errors.New("this account cannot be given more keys here, " +
		"revoked ones included: use the keys that it has, or make one with ringwatch key create")
)

// NameTakenError says that an account has an active key of that name.
type NameTakenError struct{ Account, Name, ID string }

// Error implements error.
func (e *NameTakenError) Error() string {
	return fmt.Sprintf("account %s has an active key named %s (%s): choose another name, "+
		"or revoke that key first", e.Account, e.Name, e.ID)
}

// Maker makes keys that the store keeps. A name belongs to one active key of an account. Two
// processes that make keys at the same time may both make one of a name, and each a key beyond
// most.
type Maker struct {
	read  func(context.Context) ([]StoredKey, error)
	write func(context.Context, StoredKey) error
	most  int

	mu     sync.Mutex
	making map[string]bool // accounts
}

// NewMaker returns a Maker that reads and writes stored keys with read and write. most bounds the
// keys of an account, revoked ones too, because all processes read all of them every few seconds;
// 0: it does not.
func NewMaker(read func(context.Context) ([]StoredKey, error),
	write func(context.Context, StoredKey) error, most int) *Maker {
	return &Maker{read: read, write: write, most: most, making: map[string]bool{}}
}

// Make gives k the id and the digest of a new key, writes it, and returns the key's text, which
// nobody keeps. k has been checked otherwise. The error is a *NameTakenError, ErrTooManyKeys,
// ErrMaking, or the store's.
func (m *Maker) Make(ctx context.Context, k *StoredKey) (text string, err error) {
	m.mu.Lock()
	busy := m.making[k.Account]
	m.making[k.Account] = true
	m.mu.Unlock()
	if busy {
		return "", ErrMaking
	}
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.making, k.Account)
	}()
	stored, err := m.read(ctx)
	if err != nil {
		return "", err
	}
	count := 0
	for i := range stored {
		other := &stored[i]
		if other.Account != k.Account {
			continue
		}
		count++
		if other.Name == k.Name && other.State(k.Created) == StateActive {
			return "", &NameTakenError{k.Account, k.Name, other.ID}
		}
	}
	if m.most > 0 && count >= m.most {
		return "", ErrTooManyKeys
	}
	text = NewKey()
	k.ID, k.SHA256, k.Created = KeyID(text), Hash(text), k.Created.UTC().Truncate(time.Millisecond)
	if err := m.write(ctx, *k); err != nil {
		return "", err
	}
	return text, nil
}

package account

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestMaker(t *testing.T) {
	now := time.Now()
	var stored []StoredKey
	read := func(context.Context) ([]StoredKey, error) { return slices.Clone(stored), nil }
	write := func(_ context.Context, k StoredKey) error {
		stored = append(stored, k)
		return nil
	}
	m := NewMaker(read, write, 3)
	make := func(account, name string) (string, error) {
		return m.Make(t.Context(), &StoredKey{Account: account, Name: name, Scopes: []Scope{Read},
			Created: now})
	}
	text, err := make("acme", "a")
	if err != nil || len(stored) != 1 || stored[0].ID != KeyID(text) ||
		stored[0].SHA256 != Hash(text) {
		t.Fatalf("%v %+v", err, stored)
	}
	var taken *NameTakenError
	if _, err := make("acme", "a"); !errors.As(err, &taken) || taken.ID != stored[0].ID {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := make("zeta", "a"); err != nil {
		t.Errorf("another account's name: %v", err)
	}
	stored[0].Revoked = now
	if _, err := make("acme", "a"); err != nil {
		t.Errorf("a revoked key's name: %v", err)
	}
	if _, err := make("acme", "b"); err != nil {
		t.Errorf("as many as there may be: %v", err)
	}
	if _, err := make("acme", "c"); !errors.Is(err, ErrTooManyKeys) || len(stored) != 4 {
		t.Errorf("one more: %v %+v", err, stored)
	}
	if _, err := make("zeta", "c"); err != nil {
		t.Errorf("another account has its own: %v", err)
	}
}

// TestMakerOneAtATime: while a key of an account is made, another account makes its own.
func TestMakerOneAtATime(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	m := NewMaker(func(context.Context) ([]StoredKey, error) { return nil, nil },
		func(_ context.Context, k StoredKey) error {
			if k.Name == "slow" {
				close(began)
				<-goOn
			}
			return nil
		}, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := m.Make(context.Background(), &StoredKey{Account: "acme", Name: "slow"})
		ended <- err
	}()
	<-began
	if _, err := m.Make(t.Context(), &StoredKey{Account: "acme", Name: "b"}); !errors.Is(err,
		ErrMaking) {
		t.Errorf("beside another one: %v", err)
	}
	if _, err := m.Make(t.Context(), &StoredKey{Account: "zeta", Name: "b"}); err != nil {
		t.Errorf("another account: %v", err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := m.Make(t.Context(), &StoredKey{Account: "acme", Name: "b"}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

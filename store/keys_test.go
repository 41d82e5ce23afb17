package store

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dev/engines"
)

func TestKeys(t *testing.T) {
	s := mustOpen(t, testConfig(t, engines.SharedCassandra(t).Addr(), newClock(base)))
	if _, err := s.Keys(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "ringwatch schema apply") {
		t.Error("keys without a table:", err)
	}
	if err := s.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Keys(t.Context()); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
	first := account.StoredKey{ID: "a", Account: "acme", Name: "grafana", SHA256: "00ff",
		Scopes: []account.Scope{account.Read}, Created: utc(base), CreatedBy: "eve@desk"}
	second := account.StoredKey{ID: "b", Account: "zeta", Name: "agents", SHA256: "11ff",
		Scopes: []account.Scope{account.Write}, Networks: []string{"10.0.0.0/8"},
		Clusters: []string{"prod-*"},
		Node:     "first", Created: utc(base + 1), Expires: utc(base + 2),
		CreatedBy: "eve@desk"}
	for _, k := range []account.StoredKey{second, first} {
		if err := s.CreateKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RevokeKey(t.Context(), "b", base+3, "adam@desk"); err != nil {
		t.Fatal(err)
	}
	second.Revoked, second.RevokedBy = utc(base+3), "adam@desk"
	list, err := s.Keys(t.Context())
	if err != nil || !reflect.DeepEqual(list, []account.StoredKey{first, second}) {
		t.Errorf("%+v, %v", list, err)
	}
	// Of many nodes that use a key first at once, one is the first, for all and from then on.
	answers := make([]uuid.UUID, 20)
	var g errgroup.Group
	for i := range answers {
		g.Go(func() (err error) {
			answers[i], err = s.BindKey(t.Context(), "b", "zeta", uuid.New())
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, node := range answers {
		if node != answers[0] || node == uuid.Nil {
			t.Errorf("a key is bound to %v", answers)
		}
	}
	if node, err := s.BindKey(t.Context(), "a", "acme", someNode); err != nil || node != someNode {
		t.Errorf("another key: %v, %v", node, err)
	}
}

var someNode = uuid.New()

// checkKeyRoles: a service reads API keys and cannot make any; the role for ringwatch key can;
// ingest's reads them and nothing else.
func checkKeyRoles(t *testing.T, service, keys, ingest *Store, grant func()) {
	t.Helper()
	ctx := t.Context()
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || Retryable(err) || !strings.Contains(err.Error(), "permission") {
			t.Errorf("%s: %v", what, err)
		}
	}
	k := account.StoredKey{ID: "k", Account: "a", Name: "n", SHA256: "00",
		Scopes: []account.Scope{account.Read}, Created: utc(base), CreatedBy: "eve"}
	refused("keys without a right", keys.CreateKey(ctx, k))
	_, err := ingest.Keys(ctx)
	refused("ingest without a right", err)
	grant()
	refused("a service's key", service.CreateKey(ctx, k))
	if err := service.CreateKey(ctx, k); !errors.Is(err, ErrKeysRights) {
		t.Errorf("the API does not learn that it may not make keys: %v", err)
	}
	refused("a service's revocation", service.RevokeKey(ctx, "k", base, "svc"))
	if err := keys.CreateKey(ctx, k); err != nil {
		t.Error(err)
	}
	if err := keys.RevokeKey(ctx, "k", base, "eve"); err != nil {
		t.Error(err)
	}
	for name, s := range map[string]*Store{"service": service, "keys": keys, "ingest": ingest} {
		if list, err := s.Keys(ctx); err != nil || len(list) != 1 ||
			list[0].Revoked != utc(base) {
			t.Errorf("%s reads %+v, %v", name, list, err)
		}
	}
	refused("ingest's write", ingest.CreateKey(ctx, k))
	if _, err = ingest.BindKey(ctx, "k", "a", someNode); err != nil {
		t.Error("ingest binds a key:", err)
	}
	_, err = answers(ingest).DictionariesOf(ctx, "a", someNode, 0)
	refused("ingest's look at dictionaries", err)
}

func utc(millis int64) time.Time { return time.UnixMilli(millis).UTC() }

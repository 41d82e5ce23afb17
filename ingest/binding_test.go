package ingest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
)

// TestStolenKey is the attack: a key that is bound to a cluster and to the node that first used it
// does not speak for another node or cluster, through any process, and goes on for its own.
func TestStolenKey(t *testing.T) {
	key, fixed := account.NewKey(), account.NewKey()
	own, other := uuid.New(), uuid.New()
	registry, err := account.NewRegistry(
		[]account.Account{{Name: "acme", Clusters: []string{"prod-*"}, Keys: []account.Key{
			{Name: "node7", Key: key, Scopes: []account.Scope{account.Write},
				Clusters: []string{"prod-1"}, Node: account.FirstNode},
			{Name: "node8", Key: fixed, Scopes: []account.Scope{account.Write},
				Node: own.String()}}}})
	if err != nil {
		t.Fatal(err)
	}
	bound := map[string]uuid.UUID{} // as the store has it
	away := false
	bind := func(_ context.Context, id, _ string, node uuid.UUID) (uuid.UUID, error) {
		if away {
			return uuid.Nil, errors.New("away")
		}
		if _, known := bound[id]; !known {
			bound[id] = node
		}
		return bound[id], nil
	}
	serve := func() *running {
		return mustServe(t, taken, func(_ *Config, d *Deps) {
			d.Admit, d.Bound = account.NewDoor(registry.Authenticate).Admit, account.NewBindings(
				bind).Check
		})
	}
	send := func(s *running, key, cluster string, id uuid.UUID, status int, reason, names string) {
		t.Helper()
		f := node{cluster: cluster}.key()
		f.Node = id
		b, err := f.Append(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := post(t, s.url, bytes.NewReader(b), withKey(key))
		if status == 204 {
			if answer.StatusCode != 204 {
				t.Errorf("a frame of the key's own: %s", answer.Status)
			}
			return
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body = io.NopCloser(bytes.NewReader(body))
		wantRefusal(t, answer, status, reason)
		if !strings.Contains(string(body), names) {
			t.Errorf("%s does not name %s", body, names)
		}
	}
	s := serve()
	away = true
	send(s, key, "prod-1", own, 503, "key_check", "again later")
	away = false
	send(s, key, "prod-2", other, 403, "other_cluster", "prod-1") // and binds nothing
	send(s, key, "prod-1", own, 204, "", "")
	for _, s := range []*running{s, serve()} {
		send(s, key, "prod-1", other, 403, "other_node", own.String())
		send(s, key, "prod-2", own, 403, "other_cluster", "prod-1")
		send(s, key, "test", own, 403, "foreign_cluster", "acme")
		send(s, key, "prod-1", own, 204, "", "")
		send(s, fixed, "prod-2", own, 204, "", "")
		send(s, fixed, "prod-2", other, 403, "other_node", own.String())
		s.ledger(t)
	}
}

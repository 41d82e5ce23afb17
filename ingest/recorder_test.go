package ingest

import (
	"bytes"
	"testing"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/account"
	"github.com/ringwatch/ringwatch/frame"
)

// TestNobodySendsAsRules: a key that may write everywhere does not say what rules have recorded.
func TestNobodySendsAsRules(t *testing.T) {
	key := account.NewKey()
	registry, err := account.NewRegistry([]account.Account{{Name: "acme", Clusters: []string{"*"},
		Keys: []account.Key{{Name: "all", Key: key, Scopes: []account.Scope{account.Write}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := mustServe(t, taken, func(_ *Config, d *Deps) {
		d.Admit = account.NewDoor(registry.Authenticate).Admit
	})
	for _, c := range []struct {
		node    uuid.UUID
		cluster string
		ok      bool
	}{
		{uuid.New(), "prod-1", true},
		{uuid.New(), "*x", true}, // a name like any other
		{frame.RecorderID("acme", "prod-1", "g"), "prod-1", false},
		{frame.RecorderID("other", "prod-1", "g"), "prod-1", false},
		{frame.RecorderID("acme", frame.EveryCluster, "g"), frame.EveryCluster, false},
		{uuid.New(), frame.EveryCluster, false},
	} {
		f := node{cluster: c.cluster}.key()
		f.Node = c.node
		b, err := f.Append(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := post(t, s.url, bytes.NewReader(b), withKey(key))
		if !c.ok {
			wantRefusal(t, answer, 403, "recorder")
		} else if answer.StatusCode != 204 {
			t.Errorf("node %s of %s: %s", c.node, c.cluster, answer.Status)
		}
	}
	s.ledger(t)
}

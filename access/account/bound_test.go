package account

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// nodesOfKeys is what Bindings ask, as the store does.
type nodesOfKeys struct {
	mu    sync.Mutex
	nodes map[string]uuid.UUID
	asked int
	away  error
}

func (n *nodesOfKeys) bind(_ context.Context, id, account string,
	node uuid.UUID) (uuid.UUID, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked++; n.away != nil {
		return uuid.Nil, n.away
	}
	if _, known := n.nodes[account+"/"+id]; !known {
		n.nodes[account+"/"+id] = node
	}
	return n.nodes[account+"/"+id], nil
}

func TestBound(t *testing.T) {
	one, two := uuid.New(), uuid.New()
	free, clusters, fixed, first, stored := NewKey(), NewKey(), NewKey(), NewKey(), NewKey()
	r, err := NewRegistry([]Account{{Name: "acme", Clusters: []string{"prod-*", "test"},
		Keys: []Key{
			{Name: "free", Key: free, Scopes: []Scope{Write}},
			{Name: "clusters", Key: clusters, Scopes: []Scope{Write},
				Clusters: []string{"prod-1", "prod-2*"}},
			{Name: "fixed", Key: fixed, Scopes: []Scope{Write}, Node: one.String()},
			{Name: "first", Key: first, Scopes: []Scope{Write}, Node: FirstNode},
		}}})
	if err != nil {
		t.Fatal(err)
	}
	r, errs := r.With([]StoredKey{
		{ID: KeyID(stored), Account: "acme", Name: "s", SHA256: Hash(stored),
			Scopes: []Scope{Write}, Clusters: []string{"test"}, Node: FirstNode},
		{ID: "bad", Account: "acme", Name: "bad", SHA256: Hash("x"), Scopes: []Scope{Write},
			Node: "somewhere"},
	})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "somewhere") {
		t.Error("a key whose binding nobody understands:", errs)
	}
	who := func(key string) Principal {
		t.Helper()
		p, err := r.Authenticate(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for key, want := range map[string]string{free: "prod-1 prod-22 test",
		clusters: "prod-1 prod-22", fixed: "prod-1 prod-22 test", stored: "test"} {
		for _, cluster := range []string{"prod-1", "prod-22", "test"} {
			if who(key).Owns(cluster) != strings.Contains(want, cluster) {
				t.Errorf("%s and cluster %s, want %s", who(key).Key(), cluster, want)
			}
		}
	}
	asked := &nodesOfKeys{nodes: map[string]uuid.UUID{}}
	bindings, others := NewBindings(asked.bind), NewBindings(asked.bind) // two processes
	check := func(b *Bindings, key string, node uuid.UUID, good bool) {
		t.Helper()
		err := b.Check(t.Context(), who(key), node)
		var other *OtherNodeError
		if good && err != nil ||
			!good &&
				(!errors.As(err, &other) || !strings.Contains(err.Error(), one.String()) ||
					!strings.Contains(err.Error(), "ringwatch key create")) {
			t.Errorf("key %s: %v", who(key).Key(), err)
		}
	}
	for range 3 {
		check(bindings, free, one, true)
		check(bindings, free, two, true)
		check(bindings, fixed, one, true)
		check(bindings, fixed, two, false)
	}
	if asked.asked != 0 {
		t.Errorf("asked %d times for keys that are bound to no first node", asked.asked)
	}
	for _, key := range []string{first, stored} {
		asked.away = errors.New("away")
		if err := bindings.Check(t.Context(), who(key), one); !errors.Is(err, ErrKeysAway) {
			t.Error("nobody knows:", err)
		}
		asked.away = nil
		check(bindings, key, one, true)
		check(bindings, key, two, false)
		check(others, key, two, false)
		check(others, key, one, true)
		asked.away = errors.New("away")
		check(bindings, key, one, true) // what is known goes on
		check(bindings, key, two, false)
	}
	if asked.asked != 6 {
		t.Errorf("asked %d times", asked.asked)
	}
	if err := NewBindings(nil).Check(t.Context(), who(first), one); !errors.Is(err, ErrKeysAway) {
		t.Error("with nobody to ask:", err)
	}
}

// TestOperator: one word is all scopes, in the configuration and in the store.
func TestOperator(t *testing.T) {
	configured, stored := NewKey(), NewKey()
	r, err := NewRegistry([]Account{{Name: "acme", Keys: []Key{
		{Name: "me", Key: configured, Scopes: []Scope{Operator}}}}})
	if err != nil {
		t.Fatal(err)
	}
	r, errs := r.With([]StoredKey{{ID: KeyID(stored), Account: "acme", Name: "s",
		SHA256: Hash(stored), Scopes: []Scope{Read, Operator}}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, key := range []string{configured, stored} {
		p, err := r.Authenticate(t.Context(), key)
		if err != nil || !slices.Equal(p.Scopes, []Scope{Read, Write, Rules, Admin}) {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if err := CheckBinding([]string{"a"}, "", []Scope{Operator}); err == nil {
		t.Error("an operator is limited to clusters")
	}
	for _, list := range [][]Scope{nil, {"fly", Operator}, {Operator, "fly"}} {
		if _, err := NamedScopes(list); err == nil || !strings.Contains(err.Error(), "operator") {
			t.Errorf("%v: %v", list, err)
		}
	}
}

// TestSight: keys that do not see the same clusters share no answers.
func TestSight(t *testing.T) {
	seen := map[string]string{}
	for name, p := range map[string]Principal{
		"all":           {clusters: []string{"*"}},
		"one":           {clusters: []string{"a"}},
		"limited":       {clusters: []string{"*"}, bound: bound{clusters: []string{"a"}}},
		"limited again": {clusters: []string{"a"}, bound: bound{clusters: []string{"*"}}},
		"odd":           {clusters: []string{`a" "b`}},
		"two":           {clusters: []string{"a", "b"}},
	} {
		if other := seen[p.Sight()]; other != "" {
			t.Errorf("%s and %s have one sight: %s", name, other, p.Sight())
		}
		seen[p.Sight()] = name
	}
	a := Principal{clusters: []string{"b", "a"}}
	b := Principal{clusters: []string{"a", "b"}}
	if a.Sight() != b.Sight() {
		t.Errorf("the order tells %s from %s", a.Sight(), b.Sight())
	}
}

func TestCheckBinding(t *testing.T) {
	for _, c := range []struct {
		clusters []string
		node     string
		scopes   []Scope
		wrong    string
	}{
		{nil, "", []Scope{Read, Write}, ""}, {[]string{"a*"}, FirstNode, []Scope{Write}, ""},
		{nil, uuid.NewString(), []Scope{Write}, ""},
		{[]string{""}, "", []Scope{Write}, "empty"}, {nil, "node7", []Scope{Write}, "node7"},
		{nil, uuid.Nil.String(), []Scope{Write}, "id"},
		{[]string{"a"}, "", []Scope{Read}, ""}, {[]string{"a"}, "", []Scope{Read, Write}, ""},
		{[]string{"a"}, "", []Scope{Read, Rules}, "read and write only"},
		{[]string{"a"}, "", []Scope{Admin}, "read and write only"},
		{[]string{"a"}, FirstNode, []Scope{Read, Write}, "write alone"},
		{nil, FirstNode, []Scope{Write, Admin}, "write alone"},
	} {
		if err := CheckBinding(c.clusters, c.node, c.scopes); (err == nil) != (c.wrong == "") ||
			err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	key := Key{Name: "k", Key: NewKey(), Scopes: []Scope{Read}, Node: FirstNode}
	if _, err := NewRegistry([]Account{{Name: "acme", Keys: []Key{key}}}); err == nil ||
		!strings.Contains(err.Error(), "write alone") {
		t.Error(err)
	}
}

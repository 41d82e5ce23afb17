package account

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAuthenticate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	writer, reader, old := NewKey(), NewKey(), NewKey()
	r, err := NewRegistry([]Account{
		{Name: "acme", Clusters: []string{"prod-*", "test"}, Keys: []Key{
			{Name: "agents", SHA256: Hash(writer), Scopes: []Scope{Write}},
			{Name: "old", Key: old, Scopes: []Scope{Read, Write}, Expires: now},
		}},
		{Name: "zeta",
			Keys: []Key{{Name: "people", SHA256: strings.ToUpper(Hash(reader)),
				Scopes: []Scope{Read}, Expires: now.Add(1)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.now = func() time.Time { return now }
	p, err := r.Authenticate(t.Context(), writer)
	if err != nil || p.Account != "acme" || p.KeyName != "agents" || !p.Can(Write) || p.Can(Read) ||
		p.Can(Admin) {
		t.Fatalf("got %+v, %v", p, err)
	}
	for cluster, want := range map[string]bool{"prod-1": true, "prod-": true, "prod": false,
		"test": true, "test2": false, "": false} {
		if p.Owns(cluster) != want {
			t.Errorf("Owns(%q) = %v", cluster, !want)
		}
	}
	if p, err := r.Authenticate(t.Context(), reader); err != nil || p.Account != "zeta" ||
		!p.Owns("any/thing at all") {
		t.Errorf("got %+v, %v", p, err)
	}
	if p, err := r.Authenticate(t.Context(), old); !errors.Is(err, ErrExpired) || p.Account != "" {
		t.Errorf("an expired key: %+v, %v", p, err)
	}
	for _, wrong := range []string{"", "rw_", NewKey(), writer + " ", writer[:len(writer)-1],
		Hash(writer)} {
		if p, err := r.Authenticate(t.Context(), wrong); !errors.Is(err, ErrUnknownKey) ||
			p.Account != "" {
			t.Errorf("key %q: %+v, %v", wrong, p, err)
		}
	}
	if (Principal{}).Can(Write) || (Principal{}).Owns("x") {
		t.Error("the zero principal may do something")
	}
}

func TestRegistryReportsEverything(t *testing.T) {
	secret := "rw_" + strings.Repeat("s", 32)
	_, err := NewRegistry([]Account{
		{Name: "Upper"}, {Name: "a"}, {Name: "a", Clusters: []string{""}},
		{Name: "b", Keys: []Key{
			{Name: "k", Key: secret, Scopes: []Scope{Read}},
			{Name: "k", Key: secret, Scopes: []Scope{Read}},
			{Name: "none", SHA256: Hash("x")},
			{Name: "odd", SHA256: Hash("y"), Scopes: []Scope{"root"}},
			{Name: "short", SHA256: "abcd", Scopes: []Scope{Read}},
			{Name: "long", SHA256: Hash("z") + "00", Scopes: []Scope{Read}},
			{Name: "nothing", Scopes: []Scope{Read}}, {Name: "both", Key: secret, SHA256: Hash("q"),
				Scopes: []Scope{Read}},
			{Name: "weak", Key: "rw_short", Scopes: []Scope{Read}},
		}},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"Upper"`, "account a is defined twice",
		"account a: the name of a cluster is empty", "two keys are named k", "is the same key as k",
		"key none: it has no scopes", `unknown scope "root"`, "key short: sha256",
		"key long: sha256", "key nothing: set one", "key both: set one",
		"key weak: key must begin"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	dump := fmt.Sprintf("%v %+v %#v", Key{Name: "k", Key: secret}, []Key{{Key: secret}},
		Account{Keys: []Key{{Key: secret}}})
	if strings.Contains(err.Error()+dump, secret) {
		t.Error("a secret is printed")
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"*", "", true}, {"*", "a/b", true}, {"a*", "a", true}, {"*a", "ba", true},
		{"*a", "ab", false}, {"a*a", "a", false}, {"a*a", "aa", true},
		{"a*b*c", "a-b-b-c", true}, {"a*b*c", "acb", false}, {"**", "x", true}, {"[a]", "a", false},
		{"[a]", "[a]", true}, {"a?", "ab", false},
		{"*ab*ab", "ab", false}, {"*ab*ab", "abab", true},
	} {
		if got := match(c.glob, c.name); got != c.want {
			t.Errorf("match(%q, %q) = %v", c.glob, c.name, got)
		}
	}
}

func TestNewKey(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		k := NewKey()
		id := KeyID(k)
		if len(k) != 57 || !strings.HasPrefix(k, "rw_"+id+"_") || len(id) != 10 ||
			strings.Trim(k[14:], base62) != "" || seen[k] || seen[id] {
			t.Fatalf("key %q", k)
		}
		seen[k], seen[id] = true, true
	}
	k := NewKey()
	for _, other := range []string{"", "rw_", k[:56], k + "0", k[1:],
		strings.Replace(k, "_", "-", 2), k[:30] + "-" + k[31:], "rw_" + strings.Repeat("s", 32)} {
		if id := KeyID(other); id != "" {
			t.Errorf("%q has the id %q", other, id)
		}
	}
}

func request(address, header string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.RemoteAddr = address
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	return r
}

func TestFromRequest(t *testing.T) {
	basic := httptest.NewRequest(http.MethodGet, "/", nil)
	basic.SetBasicAuth("anyone", "rw_b")
	for want, r := range map[string]*http.Request{"rw_a": request("", "Bearer rw_a"), "rw_b": basic,
		"rw_c": request("", "bearer  rw_c ")} {
		if got, err := FromRequest(r); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	for _, header := range []string{"", "Bearer", "Bearer ", "Basic !", "Basic dXNlcjo=",
		"Digest rw_a", "rw_a"} {
		if got, err := FromRequest(request("", header)); !errors.Is(err, ErrNoKey) || got != "" {
			t.Errorf("%q: got %q, %v", header, got, err)
		}
	}
}

func TestDoor(t *testing.T) {
	good := NewKey()
	r, err := NewRegistry(
		[]Account{{Name: "a", Keys: []Key{{Name: "k", Key: good, Scopes: []Scope{Read}}}}})
	if err != nil {
		t.Fatal(err)
	}
	d := NewDoor(r.Authenticate)
	now := time.Unix(1_000_000, 0)
	d.now = func() time.Time { return now }
	admit := func(address, key string) error {
		_, err := d.Admit(request(address, "Bearer "+key))
		return err
	}
	for range 100 { // an agent with an old key shuts nobody out, nor does one without
		if err := admit("10.0.0.1:1", "rw_old"); !errors.Is(err, ErrUnknownKey) {
			t.Fatal(err)
		}
		if _, err := d.Admit(request("10.0.0.1:1", "")); !errors.Is(err, ErrNoKey) {
			t.Fatal(err)
		}
	}
	if err := admit("10.0.0.1:2", good); err != nil {
		t.Fatal(err)
	}
	for i := range failuresBurst - 1 {
		if err := admit("10.0.0.1:3", fmt.Sprint("rw_guess", i)); !errors.Is(err, ErrUnknownKey) {
			t.Fatal(i, err)
		}
	}
	var tooMany *TooManyError
	if err := admit("10.0.0.1:4", good); !errors.As(err, &tooMany) || tooMany.After <= 0 ||
		tooMany.After > 6*time.Second {
		t.Fatalf("after the burst: %v", err)
	}
	if err := admit("10.0.0.2:4", good); err != nil {
		t.Fatalf("another address: %v", err)
	}
	now = now.Add(tooMany.After + time.Millisecond)
	if err := admit("10.0.0.1:4", good); err != nil {
		t.Fatalf("after the wait: %v", err)
	}
	for i := range failuresBurst { // one IPv6 network is one visitor
		_ = admit(fmt.Sprintf("[2001:db8::%x]:1", i), fmt.Sprint("rw_guess", i))
	}
	if err := admit("[2001:db8::ffff]:1", good); !errors.As(err, &tooMany) {
		t.Fatalf("another address of the network: %v", err)
	}
	for i := range 3 * doorAddresses {
		_ = admit(fmt.Sprintf("10.%d.%d.%d:1", 1+i>>16, i>>8&255, i&255), "rw_wrong")
	}
	if n := d.addresses.len(); n > doorAddresses {
		t.Errorf("%d addresses are remembered, at most %d may", n, doorAddresses)
	}
}

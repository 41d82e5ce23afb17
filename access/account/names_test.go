package account_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
)

// TestNames shows an account's names to its admin, all to an operator, and none to others.
func TestNames(t *testing.T) {
	key := func(name, text string, scopes ...account.Scope) account.Key {
		return account.Key{Name: name, Key: text, Scopes: scopes}
	}
	registry, err := account.NewRegistry([]account.Account{
		{Name: "acme", Keys: []account.Key{key("a", "rw_acmeadmin00000000000", account.Admin),
			key("r", "rw_acmeread000000000000", account.Read, account.Write)}},
		{Name: "ops", Keys: []account.Key{key("a", "rw_opsadmin000000000000", account.Admin),
			key("r", "rw_opsread0000000000000", account.Read)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	names := account.Names(account.NewDoor(registry.Authenticate).Admit, []string{"ops"})
	for name, of := range map[string]struct {
		header        string
		own, all, any bool
		err           error
	}{
		"nobody":             {"", false, false, false, nil},
		"a proxy's password": {"Bearer something", false, false, false, nil},
		"a reader":           {"Bearer rw_acmeread000000000000", false, false, false, nil},
		"an admin":           {"Bearer rw_acmeadmin00000000000", true, false, true, nil},
		"an operator":        {"Bearer rw_opsadmin000000000000", true, true, true, nil},
		"an operator's key":  {"Bearer rw_opsread0000000000000", false, false, false, nil},
		"a wrong key": {"Bearer rw_wrong000000000000000", false, false, false,
			account.ErrUnknownKey},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		if of.header != "" {
			r.Header.Set("Authorization", of.header)
		}
		may, err := names(r)
		if !errors.Is(err, of.err) || (may != nil) != of.any {
			t.Errorf("%s: %v %v", name, may != nil, err)
			continue
		}
		if may != nil && (may("acme") != of.own || may("other") != of.all || may("") != of.all) {
			t.Errorf("%s: acme %v, other %v, nobody's %v", name, may("acme"), may("other"), may(""))
		}
	}
}

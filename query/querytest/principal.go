package querytest

import (
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
)

// Principal returns who a key of an account stands for that owns clusters; all, if none are named.
func Principal(t testing.TB, name string, clusters ...string) account.Principal {
	t.Helper()
	key := account.NewKey()
	r, err := account.NewRegistry([]account.Account{{Name: name, Clusters: clusters,
		Keys: []account.Key{{Name: "test", Key: key, Scopes: []account.Scope{account.Read}}}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Authenticate(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
)

// TestBehindAProxy: keys' networks and the limit on guesses are of the client's address as a
// trusted proxy says it, and of nobody else's word.
func TestBehindAProxy(t *testing.T) {
	f := &fixture{T: t, store: &apitest.Store{}}
	f.now.Store(time.Now().UnixMilli())
	serve := func(proxies ...string) string {
		base, _ := f.serve(func(c *api.Config, d *api.Deps) {
			registry, err := account.NewRegistry(
				[]account.Account{{Name: "acme", Keys: []account.Key{
					{Name: "anywhere", Key: acmeKey, Scopes: []account.Scope{account.Read}},
					{Name: "office", Key: otherKey, Scopes: []account.Scope{account.Read},
						Networks: []string{"203.0.113.0/24"}},
				}}})
			if err != nil {
				t.Fatal(err)
			}
			d.Admit = account.NewDoor(registry.Authenticate).Admit
			c.TrustedProxies = listener.Proxies(proxies)
		})
		return base
	}
	ask := func(base, key, forwarded string) int {
		r, err := http.NewRequest(http.MethodGet, base+"/v1/nodes", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("X-Forwarded-For", forwarded)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	behind, open := serve("127.0.0.0/8", "10.0.0.0/8"), serve()
	for _, c := range []struct {
		base, forwarded string
		want            int
	}{
		{behind, "203.0.113.9", 200},
		{behind, "203.0.113.9, 10.3.4.5", 200},
		{behind, "203.0.113.9, 198.51.100.1", 403}, // what the client claims
		{behind, "198.51.100.1", 403},
		{behind, "", 403},
		{open, "203.0.113.9", 403}, // nobody is believed
	} {
		if got := ask(c.base, otherKey, c.forwarded); got != c.want {
			t.Errorf("%q: %d, want %d", c.forwarded, got, c.want)
		}
	}
	guess := func(base, forwarded string) (last int) {
		for i := range 21 {
			last = ask(base, fmt.Sprint("rw_guess", i),
				fmt.Sprintf("198.51.100.%d, %s", i, forwarded))
		}
		return last
	}
	if got := guess(behind, "192.0.2.1"); got != 429 {
		t.Errorf("the 21st guess: %d", got)
	}
	if shut, let := ask(behind, acmeKey, "192.0.2.1"), ask(behind, acmeKey,
		"192.0.2.2"); shut != 429 || let != 200 {
		t.Errorf("who guessed gets %d, its neighbour behind the same proxy %d", shut, let)
	}
	guess(open, "192.0.2.1")
	if got := ask(open, acmeKey, "192.0.2.2"); got != 429 {
		t.Errorf("with a header of its own a guesser gets %d", got)
	}
}

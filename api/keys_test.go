package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/keys"
)

// keyTable is where stored keys are.
type keyTable struct {
	mu   sync.Mutex
	list []account.StoredKey
	fail error
}

// mostKeys is enough for TestOpenAPI.
const mostKeys = 1000

func (k *keyTable) maker() *account.Maker { return account.NewMaker(k.read, k.write, mostKeys) }

func (k *keyTable) read(context.Context) ([]account.StoredKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.list), k.fail
}

func (k *keyTable) write(_ context.Context, s account.StoredKey) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, s)
	return k.fail
}

// hostileKeys are bodies that ask for no key that can be, or for one that the key may not make.
var hostileKeys = []string{
	`{"name":"a"}`, `{"scopes":["read"]}`, `{"name":"a","scopes":[]}`,
	`{"name":"a","scopes":"read"}`,
	`{"name":"a","scopes":["fly"]}`, `{"name":"a","scopes":["read","read"]}`,
	`{"name":"A","scopes":["read"]}`,
	`{"name":"../a","scopes":["read"]}`, `{"name":"a\u0000","scopes":["read"]}`,
	`{"name":7,"scopes":["read"]}`, `{"name":"a","scopes":["read"],"account":"other"}`,
	`{"name":"a","scopes":["operator"],"clusters":["x"]}`,
	`{"name":"a","scopes":["read"],"node":"first"}`,
	`{"name":"a","scopes":["read"],"clusters":[""]}`, `{"name":"a","scopes":["read"]} {}`,
	`{"name":"a","scopes":["read"],"clusters":[` + strings.Repeat(`"x",`, 70) + `"x"]}`,
	`{"name":"` + strings.Repeat("a", 64) + `","scopes":["read"]}`, `{"name":null,"scopes":[null]}`,
}

// post sends a body of a kind to any server.
func (f *fixture) post(key, address, body, kind string) response {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), http.MethodPost, address,
		strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.Fatal(err)
	}
	return response{answer.StatusCode, answer.Header, text}
}

func TestMe(t *testing.T) {
	f := newFixture(t, inMemory, 1, 1, time.Minute)
	var me struct {
		Account, Key, ID           string
		Scopes, Clusters, Networks []string
		Expires                    string
	}
	f.get("/v1/me", nil, &me)
	if me.Account != f.account("acme") || me.Key != "r" || me.ID != "" || me.Expires != "" ||
		!slices.Equal(me.Scopes, []string{"read", "admin", "rules"}) ||
		!slices.Equal(me.Clusters, []string{"*"}) || me.Networks == nil || len(me.Networks) > 0 {
		t.Errorf("%+v", me)
	}
	if r := f.ask(writeKey, "/v1/me", nil); r.status != http.StatusForbidden {
		t.Errorf("a key without the scope read: %d %s", r.status, r.body)
	}
	if r := f.ask("", "/v1/me", nil); r.status != http.StatusUnauthorized {
		t.Errorf("nobody: %d %s", r.status, r.body)
	}
}

// TestLimitedKey: for who has a key that is limited to clusters, the account has no others.
func TestLimitedKey(t *testing.T) {
	f := newFixture(t, inMemory, 4, 1, time.Minute)
	ask := func(key, path string) (int, string) {
		t.Helper()
		r := f.ask(key, path, nil)
		return r.status, string(r.body)
	}
	if _, me := ask(fleetKey, "/v1/me"); !strings.Contains(me, `"clusters":["fleet","fleet-1"]`) {
		t.Errorf("of itself: %s", me)
	}
	hidden, seen := f.nodes[0].ID.String(), f.nodes[1].ID.String()
	for range 2 { // what is kept for one key is not the other's
		for _, path := range []string{"/v1/clusters", "/v1/nodes", "/v1/discovery"} {
			if status, all := ask(acmeKey, path); status != http.StatusOK ||
				!strings.Contains(all, "fleet-0") || !strings.Contains(all, "fleet-1") {
				t.Errorf("%s without a limit: %d %s", path, status, all)
			}
			if status, some := ask(fleetKey, path); status != http.StatusOK ||
				strings.Contains(some, "fleet-0") || !strings.Contains(some, "fleet-1") {
				t.Errorf("%s with a limit: %d %s", path, status, some)
			}
		}
	}
	for path, want := range map[string]int{
		"/v1/nodes/" + seen: http.StatusOK, "/v1/nodes/" + hidden: http.StatusNotFound,
		"/v1/clusters/fleet-1/metrics": http.StatusOK,
		"/v1/clusters/fleet-0/metrics": http.StatusNotFound,
		"/v1/nodes?cluster=fleet-0":    http.StatusNotFound,
	} {
		if status, body := ask(fleetKey, path); status != want {
			t.Errorf("%s: %d %.200s, want %d", path, status, body, want)
		}
	}
	r := f.post(fleetKey, "http://"+f.server.Addr()+"/v1/lookup/shop/items", `{"keys":[1]}`,
		"application/json")
	if r.status != http.StatusForbidden || !strings.Contains(string(r.body), "limited_key") {
		t.Errorf("a lookup: %d %s", r.status, r.body)
	}
}

func TestMakeKey(t *testing.T) {
	f := newFixture(t, inMemory, 1, 1, time.Minute)
	const makerKey, readKey = "rw_maker000000000000000", "rw_onlyread0000000000"
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	registry, err := account.NewRegistry([]account.Account{
		{Name: "acme", Clusters: []string{"prod-*"}, Keys: []account.Key{
			{Name: "maker", Key: makerKey, Networks: []string{"127.0.0.0/8"}, Expires: end,
				Scopes: []account.Scope{account.Read, account.Write, account.Admin}},
			{Name: "reader", Key: readKey, Scopes: []account.Scope{account.Read, account.Write,
				account.Rules}},
		}},
		{Name: "other"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var table keyTable
	server := func(make keys.Make) string {
		base, _ := f.serve(func(_ *api.Config, d *api.Deps) {
			d.Admit = account.NewDoor(registry.Authenticate).Admit
			d.MakeKey = make
		})
		return base
	}
	base := server(table.maker().Make)
	ask := func(key, base, body string) (int, string, []byte) {
		t.Helper()
		r := f.post(key, base+"/v1/keys", body, "application/json")
		var e struct{ Error struct{ Reason string } }
		_ = json.Unmarshal(r.body, &e)
		return r.status, e.Error.Reason, r.body
	}

	status, _, body := ask(makerKey, base,
		`{"name":"node7","scopes":["write"],"clusters":["prod-1"],"node":"first"}`)
	var made struct {
		ID, Key, Account, Name, Node, Expires, Created string
		Scopes, Clusters, Networks                     []string
	}
	if err := json.Unmarshal(body, &made); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, body, err)
	}
	if account.KeyID(made.Key) != made.ID || made.ID == "" || made.Account != "acme" ||
		made.Name != "node7" || made.Node != "first" ||
		!slices.Equal(made.Scopes, []string{"write"}) ||
		!slices.Equal(made.Clusters, []string{"prod-1"}) ||
		!slices.Equal(made.Networks, []string{"127.0.0.0/8"}) ||
		made.Expires != end.Format("2006-01-02T15:04:05.000Z") || made.Created == "" {
		t.Errorf("made %s", body)
	}
	// What is stored is good for what was asked, says who made it, and does not have the key's
	// text.
	if len(table.list) != 1 || table.list[0].CreatedBy != "acme/maker by the API" ||
		table.list[0].SHA256 != account.Hash(made.Key) ||
		strings.Contains(fmt.Sprintf("%+v", table.list[0]), made.Key[14:]) {
		t.Errorf("stored %+v", table.list)
	}
	with, errs := registry.With(table.list)
	p, err := with.Authenticate(t.Context(), made.Key)
	if err != nil || len(errs) > 0 || p.Account != "acme" || !p.Can(account.Write) ||
		p.Can(account.Read) || !p.Owns("prod-1") || p.Owns("prod-2") ||
		!p.Expires().Equal(end) ||
		!slices.Equal(p.Networks(), []string{"127.0.0.0/8"}) {
		t.Errorf("%+v %v %v", p, err, errs)
	}

	// Whoever may make keys can make one that may do everything, in one word.
	for _, name := range []string{"rules", "operator"} {
		status, _, body := ask(makerKey, base,
			fmt.Sprintf(`{"name":"can-%[1]s","scopes":["%[1]s"]}`, name))
		if err := json.Unmarshal(body, &made); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s %v", status, body, err)
		}
		with, errs := registry.With(table.list)
		p, err := with.Authenticate(t.Context(), made.Key)
		if err != nil || len(errs) > 0 || !p.Can(account.Rules) ||
			p.Can(account.Admin) != (name == "operator") ||
			name == "operator" && len(made.Scopes) != 4 {
			t.Errorf("%s: %s %+v %v %v", name, body, p, err, errs)
		}
	}

	before := len(table.list)
	for _, c := range []struct {
		key, body, reason string
		status            int
	}{
		{readKey, `{"name":"x","scopes":["read"]}`, "no_scope", http.StatusForbidden},
		{"rw_nobody000000000000000", `{"name":"x","scopes":["read"]}`, "unknown_key",
			http.StatusUnauthorized},
		{makerKey, `{"name":"x","scopes":["write"],"account":"other"}`, "unknown_field",
			http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["write"],"Account":"other"}`, "unknown_field",
			http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["write"],"networks":["0.0.0.0/0"]}`, "unknown_field",
			http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["write"],"expires":"2099-01-01"}`, "unknown_field",
			http.StatusBadRequest},
		{makerKey, `{"name":"node7","scopes":["write"]}`, "name_taken", http.StatusConflict},
		{makerKey, `{"name":"../x","scopes":["write"]}`, "bad_name", http.StatusBadRequest},
		{makerKey, `{"name":"","scopes":["write"]}`, "bad_name", http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":[]}`, "bad_scopes", http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["fly"]}`, "bad_scopes", http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["write","write"]}`, "bad_scopes", http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["rules"],"clusters":["prod-1"]}`, "bad_binding",
			http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["read"],"node":"first"}`, "bad_binding",
			http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["write"],"clusters":[""]}`, "bad_binding",
			http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["write"],"clusters":["a\u001b[2J"]}`, "bad_clusters",
			http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["write"],"clusters":["` + strings.Repeat("a", 256) +
			`"]}`, "bad_clusters", http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["write"],"clusters":[` + strings.Repeat(`"a",`, 64) +
			`"a"]}`, "bad_clusters", http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["write"],"node":"here"}`, "bad_binding",
			http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["write"]}{"name":"y","scopes":["write"]}`, "bad_body",
			http.StatusBadRequest},
		{makerKey, `{"name":"x","scopes":["wri`, "bad_body", http.StatusBadRequest},
		{makerKey, `{"name":"\xff","scopes":["write"]}`, "bad_body", http.StatusBadRequest},
		{makerKey, "{\"name\":\"\xff\",\"scopes\":[\"write\"]}", "bad_body", http.StatusBadRequest},
		{makerKey, strings.Repeat("[", 100_000), "bad_body", http.StatusBadRequest},
		{makerKey, `{"name":"` + strings.Repeat("x", 2<<20) + `"}`, "body_too_large",
			http.StatusRequestEntityTooLarge},
	} {
		if status, reason, body := ask(c.key, base, c.body); status != c.status ||
			reason != c.reason {
			t.Errorf("%.100s: %d %s, want %d %s", c.body, status, body, c.status, c.reason)
		}
	}
	// What another site's form can send.
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded"} {
		r := f.post(makerKey, base+"/v1/keys", `{"name":"x","scopes":["write"]}`, kind)
		if r.status != http.StatusUnsupportedMediaType {
			t.Errorf("as %q: %d %s", kind, r.status, r.body)
		}
	}
	if len(table.list) != before {
		t.Errorf("what was refused was made: %+v", table.list[before:])
	}
	if r := f.ask(acmeKey, "/v1/keys", url.Values{}); r.status != http.StatusMethodNotAllowed {
		t.Errorf("keys are listed: %d", r.status)
	}

	// As many as there may be, and no more; without a store; with one that fails.
	few := account.NewMaker(table.read, table.write, before)
	if status, reason, _ := ask(makerKey, server(few.Make),
		`{"name":"x","scopes":["read"]}`); status != http.StatusConflict ||
		reason != "too_many_keys" {
		t.Errorf("one too many: %d %s", status, reason)
	}
	if status, reason, _ := ask(makerKey, server(nil),
		`{"name":"x","scopes":["read"]}`); status != http.StatusConflict ||
		reason != "keys_configured" {
		t.Errorf("without a store: %d %s", status, reason)
	}
	table.fail = context.DeadlineExceeded
	if status, reason, body := ask(makerKey, base,
		`{"name":"x","scopes":["read"]}`); status != http.StatusServiceUnavailable ||
		reason != "unavailable" || strings.Contains(string(body), "rw_") {
		t.Errorf("a store that fails: %d %s", status, body)
	}
}

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/window"
)

// TestNodesThatLeft: a node that left is listed with how, is not counted as down, and is no target
// for Prometheus. One that moved is listed in both clusters. What is known of another account's
// node of the same id changes nothing.
func TestNodesThatLeft(t *testing.T) {
	f := newAlone(t, 1)
	at := f.now.Load() - time.Minute.Milliseconds()/2
	store := &silentNodes{at: at}
	var nodes roster.Roster
	acme := f.account("acme")
	left := func(account string, n *window.Node, e roster.End) {
		nodes.Take(roster.Record{Account: account, Cluster: n.Cluster, Node: n.ID,
			Stamp: 1, End: &e,
			Datacenter: "dc9", Address: "10.0.0.9"})
	}
	for i := range 5 {
		n := window.Node{ID: uuid.UUID{byte(i), 1}, Cluster: "a", Interval: 5000}
		store.nodes = append(store.nodes, n)
	}
	list := store.nodes
	left(acme, &list[0], roster.End{Why: roster.Decommissioned, At: at})
	left(acme, &list[1], roster.End{Why: roster.Replaced, At: at + 5, By: list[2].ID.String()})
	left(acme, &window.Node{ID: list[3].ID, Cluster: "old"},
		roster.End{Why: roster.Moved, At: at, By: "a", Last: at - 5})
	left("another", &list[4], roster.End{Why: roster.Forgotten, At: at})
	base, _ := f.serve(func(c *api.Config, d *api.Deps) {
		d.Reader = apitest.MustReader(t, *c, read.Sources{Store: store, LastSeen: store.lastSeen,
			Roster: &nodes})
	})
	type answer struct {
		ID       string
		Cluster  string
		State    string
		Address  string
		Left     *struct{ Since, By string }
		Up       int
		Late     int
		Down     int
		Nodes    int
		LastSeen string `json:"last_seen"`
	}
	ask := func(path string) (answers []answer) {
		t.Helper()
		r, _ := f.fetch(base + path)
		var left struct{ Left int }
		if path == "/v1/clusters" { // there it is a number
			r.body = []byte(strings.ReplaceAll(string(r.body), `"left":`, `"none":`))
		}
		if err := json.Unmarshal(r.body, &answers); err != nil || r.status != 200 {
			t.Fatalf("%s: %d %s %v %v", path, r.status, r.body, err, left)
		}
		return answers
	}
	since := func(ms int64) string {
		return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	states := map[string]bool{}
	for _, n := range ask("/v1/nodes") {
		text := n.ID[:2] + " " + n.Cluster + " " + n.State
		if n.Left != nil {
			text += " " + n.Left.Since + " " + n.Left.By
		}
		states[text] = true
		if n.State == roster.Moved && (n.Address != "10.0.0.9" || n.LastSeen != since(at-5)) {
			t.Errorf("it moved as %+v", n)
		}
	}
	for _, want := range []string{"00 a decommissioned " + since(at) + " ",
		"01 a replaced " + since(at+5) + " " + list[2].ID.String(),
		"02 a late", "03 a late", "03 old moved " + since(at) + " a", "04 a late"} {
		if !states[want] {
			t.Errorf("no %q in %v", want, states)
		}
	}
	if len(states) != 6 {
		t.Errorf("%v", states)
	}
	for path, want := range map[string]int{"/v1/nodes?cluster=old": 1, "/v1/nodes?cluster=a": 5,
		"/v1/nodes?id=" + list[3].ID.String(): 2, "/v1/discovery": 3,
		"/v1/discovery?by=cluster": 1} {
		if got := ask(path); len(got) != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for path, want := range map[string]string{
		"/v1/nodes/" + list[0].ID.String():                                 "a decommissioned",
		"/v1/nodes/" + strings.ToUpper(list[3].ID.String()):                "a late",
		"/v1/nodes/" + list[3].ID.String() + "?cluster=old":                "old moved",
		"/v1/nodes/" + list[3].ID.String() + "?cluster=b":                  "404 unknown_cluster",
		"/v1/nodes/" + uuid.NewString():                                    "404 unknown_node",
		"/v1/nodes/x":                                                      "404 unknown_node",
		"/v1/nodes/" + list[3].ID.String() + "?datacenter=" + list[3].Rack: "400 unknown_parameter",
	} {
		var got struct {
			answer
			Error struct{ Reason string }
		}
		r, _ := f.fetch(base + path)
		if err := json.Unmarshal(r.body, &got); err != nil {
			t.Fatal(err)
		}
		text := got.Cluster + " " + got.State
		if r.status != 200 {
			text = strconv.Itoa(r.status) + " " + got.Error.Reason
		}
		if text != want ||
			r.status == 200 && !strings.EqualFold(path[len("/v1/nodes/"):][:36], got.ID) {
			t.Errorf("%s: %s, want %s", path, r.body, want)
		}
	}
	clusters := ask("/v1/clusters")
	if len(clusters) != 2 || clusters[0].Nodes != 3 || clusters[0].Late != 3 ||
		clusters[0].Down != 0 ||
		clusters[1].Cluster != "old" || clusters[1].Nodes != 0 {
		t.Errorf("%+v", clusters)
	}
	if r, _ := f.fetch(base + "/v1/clusters"); !strings.Contains(string(r.body), `"left":2`) {
		t.Errorf("%s", r.body)
	}
}

// TestForget: a key with the scope rules forgets a node that is not up, in the cluster that it
// names, of its own account alone. What cannot be kept was not done.
func TestForget(t *testing.T) {
	f := newAlone(t, 1)
	store := &silentNodes{at: f.now.Load() - time.Hour.Milliseconds()}
	dead := window.Node{ID: uuid.UUID{0xab, 1}, Cluster: "a b", Interval: 5000}
	store.nodes = append(store.nodes, dead)
	var nodes roster.Roster
	acme := f.account("acme")
	nodes.Take(roster.Record{Account: acme, Cluster: "old", Node: dead.ID, Stamp: 1,
		End: &roster.End{Why: roster.Moved, At: 1, By: "a b"}})
	nodes.Take(roster.Record{Account: acme, Cluster: dead.Cluster, Node: dead.ID,
		Stamp: f.now.Load() + 5, Since: 7})
	var broken error
	registry, err := account.NewRegistry([]account.Account{
		{Name: acme,
			Keys: []account.Key{{Name: "person", Key: acmeKey,
				Scopes: []account.Scope{account.Read, account.Rules}},
				{Name: "w", Key: writeKey, Scopes: []account.Scope{account.Read, account.Write,
					account.Admin}}}},
		{Name: f.account("other"),
			Keys: []account.Key{{Name: "r", Key: otherKey,
				Scopes: []account.Scope{account.Rules}}},
			Clusters: []string{"none"}}})
	if err != nil {
		t.Fatal(err)
	}
	base, _ := f.serve(func(c *api.Config, d *api.Deps) {
		d.Admit = account.NewDoor(registry.Authenticate).Admit
		d.Reader = apitest.MustReader(t, *c, read.Sources{Store: store, LastSeen: store.lastSeen,
			Roster: &nodes})
		d.Forget = func(_ context.Context, rec roster.Record) error {
			if broken == nil {
				nodes.Take(rec)
			}
			return broken
		}
	})
	post := func(key, path string) (int, string) {
		t.Helper()
		q, err := http.NewRequest(http.MethodPost, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+key)
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	path := "/v1/nodes/" + strings.ToUpper(dead.ID.String()) + "/forget"
	refused := func(key, path string, status int, words string) {
		t.Helper()
		if got, body := post(key, path); got != status || !strings.Contains(body, words) {
			t.Errorf("%s: %d %s, want %d with %s", path, got, body, status, words)
		}
		if nodes.End(acme, dead.Cluster, dead.ID) != nil {
			t.Error("it was forgotten")
		}
	}
	refused("", path, 401, "no_key")
	refused(writeKey, path, 403, "the scope rules")
	refused(otherKey, path, 404, "unknown_node")
	refused(acmeKey, path+"?cluster=nobody", 404, "unknown_cluster")
	refused(acmeKey, path+"?since=1", 400, "unknown_parameter")
	refused(acmeKey, "/v1/nodes/x/forget", 404, "unknown_node")
	store.at = f.now.Load()
	refused(acmeKey, path, 409, "node_up")
	store.at -= time.Hour.Milliseconds()
	broken = errors.New("Kafka is away")
	refused(acmeKey, path, 503, "send it again")
	broken = nil
	for range 2 { // the second time there is nothing to do
		status, body := post(acmeKey, path)
		if status != 200 || !strings.Contains(body, `"state":"forgotten"`) ||
			!strings.Contains(body, `"by":"person"`) {
			t.Errorf("%d %s", status, body)
		}
		f.now.Add(1000)
	}
	rec, _ := nodes.Get(acme, dead.Cluster, dead.ID)
	if rec.End == nil || rec.End.At != f.now.Load()-2000 || rec.End.Last != store.at ||
		rec.Since != 7 {
		t.Errorf("%+v", rec.End)
	}
	r, _ := f.fetch(base + "/v1/discovery")
	if string(r.body) != "[]\n" {
		t.Errorf("%s", r.body)
	}
}

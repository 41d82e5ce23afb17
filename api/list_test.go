package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/window"
)

// listedFleet is a fleet whose lists are asked.
type listedFleet struct {
	*fixture
	store *silentNodes
	base  string
}

// newListed has two clusters of two datacenters of two racks of so many nodes, and what is said of
// one that has moved away.
func newListed(t *testing.T, perRack int) *listedFleet {
	f := &listedFleet{fixture: newAlone(t, 1), store: &silentNodes{}}
	f.store.at = f.now.Load()
	for i := range 8 * perRack {
		f.store.nodes = append(f.store.nodes, newListedNode(i))
	}
	var left roster.Roster
	first := f.store.nodes[0]
	left.Take(roster.Record{Account: f.account("acme"), Cluster: "old", Node: first.ID, Stamp: 1,
		Datacenter: "dc0", Rack: "rack0", Address: "10.9.9.9",
		End: &roster.End{Why: roster.Moved, At: f.now.Load(), By: first.Cluster}})
	f.base, _ = f.serve(func(c *api.Config, d *api.Deps) {
		c.NodesTTL = time.Nanosecond // each page is of the nodes of then
		d.Reader = apitest.MustReader(t, *c,
			read.Sources{Store: f.store, LastSeen: f.store.lastSeen,
				Roster: &left})
	})
	return f
}

func newListedNode(i int) window.Node {
	n := window.Node{ID: uuid.UUID{byte(7 * i), byte(i), byte(i >> 8)}, Interval: 5000,
		Cluster: fmt.Sprint("c", i%2)}
	n.Datacenter, n.Rack = fmt.Sprint("dc", i/2%2), fmt.Sprint("rack", i/4%2)
	n.Facts = []frame.Fact{{Name: "address", Value: fmt.Sprintf("10.0.%d.%d:7000", i/200, i%200)},
		{Name: "hostname", Value: fmt.Sprintf("Host%d", i)}}
	return n
}

// page asks for a list and returns what each element is called, and the headers.
func (f *listedFleet) page(path string, of url.Values) (names []string, header http.Header) {
	f.Helper()
	r, _ := f.fetch(f.base + path + "?" + of.Encode())
	var list []struct{ ID, Cluster string }
	if err := json.Unmarshal(r.body, &list); err != nil || r.status != http.StatusOK {
		f.Fatalf("%s?%s: %d %s", path, of.Encode(), r.status, r.body)
	}
	for _, n := range list {
		names = append(names, n.Cluster+" "+n.ID)
	}
	return names, r.header
}

// TestListPages: pages have every node once that is there all the time, in order, while others come
// and go.
func TestListPages(t *testing.T) {
	f := newListed(t, 12)
	all, _ := f.page("/v1/nodes", nil)
	if len(all) != 8*12+1 {
		t.Fatalf("%d nodes", len(all))
	}
	var got []string
	gone, came := map[string]bool{}, map[string]bool{}
	for after, i := "", 0; ; i++ {
		list, header := f.page("/v1/nodes", url.Values{"limit": {"7"}, "after": {after}})
		if total := header.Get(reply.TotalHeader); total != strconv.Itoa(len(f.store.nodes)+1) {
			t.Fatalf("there are %s, not %d", total, len(f.store.nodes)+1)
		}
		got = append(got, list...)
		if after = header.Get(reply.NextHeader); after == "" {
			break
		}
		if len(list) != 7 || len(got) > 2*len(all) {
			t.Fatalf("page %d has %d nodes", i, len(list))
		}
		last := slices.IndexFunc(f.store.nodes, func(n window.Node) bool {
			return strings.HasSuffix(list[6], n.ID.String())
		})
		gone[list[6]] = true // the one that the cursor names
		f.store.nodes = slices.Delete(f.store.nodes, last, last+1)
		n := newListedNode(1000 + i)
		came[n.Cluster+" "+n.ID.String()] = true
		f.store.nodes = append(f.store.nodes, n)
	}
	if twice := slices.Compact(slices.Sorted(slices.Values(got))); len(twice) != len(got) {
		t.Errorf("of %d nodes %d differ", len(got), len(twice))
	}
	got = slices.DeleteFunc(got, func(n string) bool { return came[n] })
	if !slices.Equal(got, all) {
		t.Errorf("pages have\n%q\nand the list was\n%q", got, all)
	}
	if len(gone) < 10 {
		t.Errorf("only %d nodes went", len(gone))
	}
	var clusters []string
	for after := ""; ; {
		list, header := f.page("/v1/clusters", url.Values{"limit": {"1"}, "after": {after}})
		clusters = append(clusters, list...)
		if after = header.Get(reply.NextHeader); after == "" || len(clusters) > 3 ||
			header.Get(reply.TotalHeader) != "3" {
			break
		}
	}
	if want := []string{"c0 ", "c1 ", "old "}; !slices.Equal(clusters, want) {
		t.Errorf("clusters are %q", clusters)
	}
}

// TestListFilters: a list has the nodes that are meant, and says how many these are.
func TestListFilters(t *testing.T) {
	f := newListed(t, 3)
	for text, want := range map[string]int{
		"": 25, "cluster=c0": 12, "datacenter=dc1": 12, "rack=rack0": 13,
		"cluster=c1&datacenter=dc0&rack=rack1": 3, "state=up": 24, "state=down": 0,
		"state=moved":      1,
		"state=up&limit=5": 24, "name=10.0.0.3": 1, "name=10.0.0.3:7000": 1, "name=host17": 1,
		"name=hOST1": 1, "name=10.9.9.9": 1,
		"name=" + f.store.nodes[5].ID.String()[:13]: 1,
		"id=" + f.store.nodes[0].ID.String():        2,
	} {
		of, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		list, header := f.page("/v1/nodes", of)
		if header.Get(reply.TotalHeader) != strconv.Itoa(want) ||
			!of.Has("limit") && len(list) != want {
			t.Errorf("%s: %d nodes, of %s", text, len(list), header.Get(reply.TotalHeader))
		}
		if next := header.Get(reply.NextHeader); (next != "") != of.Has("limit") {
			t.Errorf("%s: the next page is after %q", text, next)
		}
	}
	if list, _ := f.page("/v1/clusters", url.Values{"cluster": {"c1"}}); len(list) != 1 {
		t.Errorf("clusters are %q", list)
	}
}

// TestListRefuses: what cannot be meant is refused, with what to do.
func TestListRefuses(t *testing.T) {
	f := newListed(t, 1)
	cursor := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, c := range []struct{ path, name, value, reason string }{
		{"/v1/nodes", "limit", "-1", "bad_limit"}, {"/v1/nodes", "limit", "many", "bad_limit"},
		{"/v1/clusters", "limit", "1e3", "bad_limit"},
		{"/v1/nodes", "state", "broken", "bad_state"},
		{"/v1/nodes", "after", "!", "bad_cursor"},
		{"/v1/nodes", "after", cursor("{"), "bad_cursor"},
		{"/v1/nodes", "after", cursor(`{"c":1}`), "bad_cursor"},
		{"/v1/nodes", "after", cursor(`{"n":"no id"}`), "bad_cursor"},
		{"/v1/clusters", "after", strings.Repeat("e", 1<<13), "bad_cursor"},
		{"/v1/nodes", "after", strings.Repeat("\x00", 50), "bad_cursor"},
		{"/v1/nodes", "region", "west", "unknown_parameter"},
	} {
		r, e := f.fetch(f.base + c.path + "?" + url.Values{c.name: {c.value}}.Encode())
		if r.status != http.StatusBadRequest || e.Reason != c.reason || e.Field != c.name {
			t.Errorf("%s %s=%.20q: %d %+v", c.path, c.name, c.value, r.status, e)
		}
	}
}

// TestUnknownNames: a name that nothing has is no empty list, wherever it may be said; what there
// is instead stands in the answer, and the nearest name.
func TestUnknownNames(t *testing.T) {
	f := newListed(t, 3)
	for asked, want := range map[string]string{
		"/v1/nodes?cluster=nope":   "404 unknown_cluster c0, c1, old",
		"/v1/nodes?cluster=C0":     "404 unknown_cluster did you mean c0?",
		"/v1/nodes?datacenter=dc9": "404 unknown_datacenter dc0, dc1",
		"/v1/nodes?rack=nope":      "404 unknown_rack rack0, rack1",
		"/v1/nodes?name=nope":      "404 unknown_node more",
		"/v1/nodes?name=hots1":     "404 unknown_node Host1",
		"/v1/nodes?state=bad": "400 bad_state up, leaving, joining, paused, late, " +
			"not_serving, down",
		"/v1/nodes?state=donw":                "400 bad_state did you mean down?",
		"/v1/nodes?kind=casandra":             "400 bad_kind did you mean cassandra?",
		"/v1/clusters?cluster=nope":           "404 unknown_cluster c0, c1, old",
		"/v1/discovery?cluster=nope":          "404 unknown_cluster c0, c1, old",
		"/v1/clusters/nope/metrics":           "404 unknown_cluster c0, c1, old",
		"/v1/datacenters/nope/metrics":        "404 unknown_datacenter dc0, dc1",
		"/v1/nodes?cluster=nope&state=down":   "404 unknown_cluster c0, c1, old",
		"/v1/nodes?datacenter=dc1&rack=rack9": "404 unknown_rack did you mean",
	} {
		r, e := f.fetch(f.base + asked)
		words := strings.SplitN(want, " ", 3)
		if strconv.Itoa(r.status) != words[0] || e.Reason != words[1] ||
			!strings.Contains(string(r.body), words[2]) {
			t.Errorf("%s: %d %s, want %s", asked, r.status, r.body, want)
		}
	}
}

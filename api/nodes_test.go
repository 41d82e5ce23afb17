package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
)

// silentNodes are nodes that were heard of an hour ago, each in a cluster of its own.
type silentNodes struct {
	read.Store
	nodes []window.Node
	at    int64
}

func (s *silentNodes) Nodes(context.Context, string) ([]window.Node, error) {
	return append([]window.Node(nil), s.nodes...), nil
}

func (s *silentNodes) lastSeen(context.Context, string, []uuid.UUID) (map[uuid.UUID]int64, error) {
	seen := map[uuid.UUID]int64{}
	for i := range s.nodes {
		seen[s.nodes[i].ID] = s.at
	}
	return seen, nil
}

// TestSilentNodesAreListed: all that lists nodes has those that are down, with what they said of
// themselves, whatever characters that has.
func TestSilentNodesAreListed(t *testing.T) {
	f := newAlone(t, 1)
	store := &silentNodes{at: f.now.Load() - time.Hour.Milliseconds()}
	for i := range 3 {
		n := window.Node{ID: uuid.UUID{byte(i), 1}, Cluster: string(rune('a' + i)), Interval: 5000}
		n.Facts = []frame.Fact{{Name: "address", Value: "10.0.0.1"},
			{Name: "a \"name\"", Value: "<ü>"}}
		store.nodes = append(store.nodes, n)
	}
	base, _ := f.serve(func(c *api.Config, d *api.Deps) {
		d.Reader = apitest.MustReader(t, *c, read.Sources{Store: store, LastSeen: store.lastSeen})
	})
	for _, path := range []string{"/v1/nodes", "/v1/clusters", "/v1/discovery",
		"/v1/discovery?by=cluster"} {
		var list []struct {
			State    string
			Down     int
			LastSeen time.Time `json:"last_seen"`
			Facts    map[string]string
		}
		r, _ := f.fetch(base + path)
		if err := json.Unmarshal(r.body, &list); err != nil || r.status != http.StatusOK ||
			len(list) != 3 {
			t.Errorf("%s: %d %d %v", path, r.status, len(list), err)
			continue
		}
		if n := list[1]; path == "/v1/nodes" &&
			(n.State != "down" || n.LastSeen.UnixMilli() != store.at ||
				n.Facts[`a "name"`] != "<ü>" || len(n.Facts) != 2) {
			t.Errorf("a node is %+v", n)
		}
		if path == "/v1/clusters" && list[1].Down != 1 {
			t.Errorf("a cluster is %+v", list[1])
		}
	}
	for query, want := range map[string]int{"cluster=b": 1, "id=" + store.nodes[2].ID.String(): 1,
		"cluster=a&id=" + store.nodes[0].ID.String(): 1,
		"cluster=a&id=" + store.nodes[1].ID.String(): 0,
		"id=b": 0} {
		var list []struct{ State, Cluster, ID string }
		r, _ := f.fetch(base + "/v1/nodes?" + query)
		if err := json.Unmarshal(r.body, &list); err != nil || list == nil || len(list) != want {
			t.Errorf("%s: %s %v", query, r.body, err)
		} else if want == 1 && !strings.Contains(query, list[0].ID) &&
			query != "cluster="+list[0].Cluster {
			t.Errorf("%s: %s", query, r.body)
		}
	}
}

// TestPausedNodes: a node whose agent says that it is paused is neither up nor down, and is counted
// apart, until nothing is heard of it any more.
func TestPausedNodes(t *testing.T) {
	f := newAlone(t, 1)
	store := &silentNodes{}
	for i, since := range []string{"2026-11-28T08:15:00Z", "", "perhaps"} {
		n := window.Node{ID: uuid.UUID{byte(i), 1}, Cluster: "a", Interval: 5000}
		n.Facts = []frame.Fact{{Name: "address", Value: "10.0.0.1"}}
		if since != "" {
			n.Facts = append(n.Facts, frame.Fact{Name: "paused_since", Value: since})
		}
		store.nodes = append(store.nodes, n)
	}
	base, _ := f.serve(func(c *api.Config, d *api.Deps) {
		d.Reader = apitest.MustReader(t, *c, read.Sources{Store: store, LastSeen: store.lastSeen})
	})
	type answer struct {
		State                         string
		Since                         string `json:"paused_since"`
		Nodes, Up, Late, Paused, Down int
	}
	ask := func(path string) (list []answer) {
		t.Helper()
		r, _ := f.fetch(base + path)
		if err := json.Unmarshal(r.body, &list); err != nil || r.status != http.StatusOK {
			t.Fatalf("%s: %d %s %v", path, r.status, r.body, err)
		}
		return list
	}
	for _, want := range []struct {
		age     time.Duration
		states  string
		since   string
		cluster answer
	}{
		{time.Second, "paused up up", "2026-11-28T08:15:00.000Z",
			answer{Nodes: 3, Up: 2, Paused: 1}},
		{30 * time.Second, "paused late late", "2026-11-28T08:15:00.000Z",
			answer{Nodes: 3, Late: 2, Paused: 1}},
		// last: what is down is remembered for a while
		{time.Hour, "down down down", "", answer{Nodes: 3, Down: 3}},
	} {
		age := want.age
		store.at = f.now.Load() - age.Milliseconds()
		var states []string
		nodes := ask("/v1/nodes")
		for _, n := range nodes {
			states = append(states, n.State)
		}
		if got := strings.Join(states, " "); got != want.states || nodes[0].Since != want.since {
			t.Errorf("after %s: %s, since %q", age, got, nodes[0].Since)
		}
		if got := ask("/v1/clusters"); len(got) != 1 || got[0] != want.cluster {
			t.Errorf("after %s: %+v", age, got)
		}
		if got := len(ask("/v1/nodes?state=paused")); got != want.cluster.Paused {
			t.Errorf("after %s %d are listed as paused", age, got)
		}
	}
}

// TestNodesThatDoNotServe: a node that runs and says that it does not serve is not up, and the
// answer says in a sentence what it does not do, until nothing is heard of it any more.
func TestNodesThatDoNotServe(t *testing.T) {
	f := newAlone(t, 1)
	store := &silentNodes{}
	for i, words := range []string{"", "joining", "no_clients", "leaving", "something new"} {
		n := window.Node{ID: uuid.UUID{byte(i), 1}, Cluster: "a", Interval: 5000}
		if words != "" {
			n.Facts = []frame.Fact{{Name: frame.FactNotServing, Value: words}}
		}
		store.nodes = append(store.nodes, n)
	}
	base, _ := f.serve(func(c *api.Config, d *api.Deps) {
		d.Reader = apitest.MustReader(t, *c, read.Sources{Store: store, LastSeen: store.lastSeen})
	})
	get := func(path string) string {
		t.Helper()
		r, _ := f.fetch(base + path)
		if r.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, r.status, r.body)
		}
		return string(r.body)
	}
	told := regexp.MustCompile(`"state":"(\w+)"(?:,"why":"([^"]*)")?`)
	ask := func(path string) (list []string) {
		for _, m := range told.FindAllStringSubmatch(get(path), -1) {
			list = append(list, strings.TrimSpace(m[1]+" "+m[2]))
		}
		return list
	}
	store.at = f.now.Load() - 1000
	got := strings.Join(ask("/v1/nodes"), "\n")
	want := regexp.MustCompile(`^up\njoining It is joining the ring: .*\n` +
		`not_serving Its native transport is off: .*\nleaving It is leaving the ring: .*\n` +
		`not_serving It does not serve, and calls that something new\.$`)
	if !want.MatchString(got) {
		t.Error(got)
	}
	if list := ask("/v1/nodes?state=not_serving"); len(list) != 2 {
		t.Error(list)
	}
	if got := get("/v1/clusters"); !strings.Contains(got, `"nodes":5,"up":1,"leaving":1,`+
		`"joining":1,"paused":0,"late":0,"not_serving":2,"down":0,`) {
		t.Error(got)
	}
	store.at = f.now.Load() - time.Hour.Milliseconds()
	if got := strings.Join(ask("/v1/nodes"), " "); got != "down down down down down" {
		t.Error("after an hour:", got)
	}
}

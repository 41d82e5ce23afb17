package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/recent"
)

// fleet is an account's nodes, each in a cluster of its own, which were heard of an hour ago.
type fleet struct {
	api.Store
	nodes []api.Node
	asked atomic.Int64
	at    int64
}

func newFleet(n int, at int64) *fleet {
	f := &fleet{at: at}
	for i := range n {
		node := api.Node{ID: uuid.UUID{byte(i), byte(i >> 8), 1}, Cluster: fmt.Sprint("c", i), Interval: 5000}
		node.Facts = []frame.Fact{{Name: "address", Value: fmt.Sprint("10.0.0.", i)}, {Name: "a \"name\"", Value: "<ü>"}}
		f.nodes = append(f.nodes, node)
	}
	return f
}

func (f *fleet) Nodes(context.Context, string) ([]api.Node, error) {
	return append([]api.Node(nil), f.nodes...), nil
}

func (f *fleet) lastSeen(_ context.Context, _ string, ids []uuid.UUID) (map[uuid.UUID]int64, error) {
	f.asked.Add(int64(len(ids)))
	seen := map[uuid.UUID]int64{}
	for _, id := range ids {
		seen[id] = f.at
	}
	return seen, nil
}

// TestManySilentNodes asks the store of 10,000 nodes that send nothing once for all who ask, and
// not again before it may have changed.
func TestManySilentNodes(t *testing.T) {
	const nodes = 10_000
	f := newAlone(t, 1)
	fleet := newFleet(nodes, f.now.Load()-time.Hour.Milliseconds())
	base, _ := f.serve(func(_ *api.Config, d *api.Deps) { d.Store, d.LastSeen = fleet, fleet.lastSeen })
	f.fetch(base + "/v1/nodes")
	var all sync.WaitGroup
	for _, path := range []string{"/v1/nodes", "/v1/clusters", "/v1/discovery", "/v1/discovery?by=cluster"} {
		for range 2 {
			all.Go(func() {
				r, _ := f.fetch(base + path)
				var list []struct{ State string }
				if err := json.Unmarshal(r.body, &list); err != nil || r.status != http.StatusOK || len(list) != nodes {
					t.Errorf("%s: %d %d %v", path, r.status, len(list), err)
				}
			})
		}
	}
	all.Wait()
	r, _ := f.fetch(base + "/v1/nodes")
	var list []struct {
		State    string
		LastSeen time.Time `json:"last_seen"`
		Facts    map[string]string
	}
	if err := json.Unmarshal(r.body, &list); err != nil {
		t.Fatal(err)
	}
	if n := list[17]; n.State != "down" || n.LastSeen.UnixMilli() != fleet.at || n.Facts[`a "name"`] != "<ü>" || len(n.Facts) != 2 {
		t.Errorf("a node is %+v", n)
	}
	if got := fleet.asked.Load(); got != nodes {
		t.Errorf("the store was asked for %d nodes by ten requests, there are %d", got, nodes)
	}
	before := fleet.asked.Load()
	f.now.Add(api.DefaultConfig().NodesTTL.Milliseconds())
	fleet.at = f.now.Load() - 1000
	r, _ = f.fetch(base + "/v1/nodes")
	if err := json.Unmarshal(r.body, &list); err != nil || list[17].State != "up" {
		t.Errorf("the nodes send again and are %+v, %v", list[17], err)
	}
	if got := fleet.asked.Load() - before; got != nodes {
		t.Errorf("later the store was asked for %d nodes", got)
	}
}

// TestSilentNodeReturns sees in Redis at once who sends again, while the store is not asked of the
// others for a minute.
func TestSilentNodeReturns(t *testing.T) {
	f := newAlone(t, 1)
	node := f.nodes[0]
	fleet := newFleet(5, f.now.Load()-time.Hour.Milliseconds())
	fleet.nodes = append(fleet.nodes, api.Node{ID: node.ID, Cluster: "fleet-0", Interval: 5000})
	f.start(engines.SharedRedis(t).Addr(), api.Deps{Store: fleet, LastSeen: fleet.lastSeen, StoreReady: f.store.Ready})
	states := func() map[string]string {
		var list []struct{ ID, State string }
		f.get("/v1/nodes", nil, &list)
		of := map[string]string{}
		for _, n := range list {
			of[n.ID] = n.State
		}
		return of
	}
	if of := states(); len(of) != 6 || of[node.ID.String()] != "down" {
		t.Fatal(of)
	}
	f.now.Add(30_000)
	if err := f.writer.Handle(t.Context(), []recent.Record{{Account: f.account("acme"), Value: mustStep(node, f.now.Load())}}); err != nil {
		t.Fatal(err)
	}
	of := states()
	up := 0
	for _, state := range of {
		if state == "up" {
			up++
		}
	}
	if up != 1 || of[node.ID.String()] != "up" {
		t.Error(of)
	}
	if got := fleet.asked.Load(); got != 6 {
		t.Errorf("the store was asked for %d nodes, it has 6", got)
	}
	f.now.Add(31_000)
	if states(); fleet.asked.Load() <= 6 {
		t.Error("the store is not asked again")
	}
}

func mustStep(n *frametest.Node, at int64) []byte {
	n.Step()
	return n.Frame(at)
}

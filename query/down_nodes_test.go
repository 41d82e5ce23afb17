package query_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
)

// fleet is an account's nodes, each in a cluster of its own, which were heard of an hour ago.
type fleet struct {
	read.Store
	nodes []window.Node
	asked atomic.Int64
	at    int64
}

func newFleet(n int, at int64) *fleet {
	f := &fleet{at: at}
	for i := range n {
		id := uuid.UUID{byte(i), byte(i >> 8), 1}
		f.nodes = append(f.nodes, window.Node{ID: id, Cluster: fmt.Sprint("c", i), Interval: 5000})
	}
	return f
}

func (f *fleet) Nodes(context.Context, string) ([]window.Node, error) {
	return append([]window.Node(nil), f.nodes...), nil
}

func (f *fleet) lastSeen(
	_ context.Context, _ string, ids []uuid.UUID,
) (map[uuid.UUID]int64, error) {
	f.asked.Add(int64(len(ids)))
	seen := map[uuid.UUID]int64{}
	for _, id := range ids {
		seen[id] = f.at
	}
	return seen, nil
}

func (f *fleet) sources() read.Sources { return read.Sources{Store: f, LastSeen: f.lastSeen} }

// states returns what /v1/nodes says of all nodes, and when they were heard of.
func (f *fixture) states(r *read.Reader) (states map[uuid.UUID]string, seen map[uuid.UUID]int64) {
	f.Helper()
	ctx, end := r.Shared.Scope(f.Context(), f.account())
	defer end()
	nodes, err := r.Nodes(ctx, f.principal(), f.config.NodesTTL)
	if err != nil {
		f.Error(err)
	}
	seen, _, err = r.LastSeen(ctx, f.account(), nodes)
	if err != nil {
		f.Error(err)
	}
	states = map[uuid.UUID]string{}
	for _, n := range nodes {
		states[n.ID] = read.StateOf(f.now.Load()-seen[n.ID], n.Interval)
	}
	return states, seen
}

// TestManySilentNodes asks the store of 10,000 nodes that send nothing once for all who ask, and
// not again before it may have changed.
func TestManySilentNodes(t *testing.T) {
	const nodes = 10_000
	f := newFixture(t)
	fleet := newFleet(nodes, f.now.Load()-time.Hour.Milliseconds())
	r := f.reader(fleet.sources())
	f.states(r)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if states, _ := f.states(r); len(states) != nodes {
				t.Errorf("%d nodes", len(states))
			}
		})
	}
	all.Wait()
	states, seen := f.states(r)
	if id := fleet.nodes[17].ID; states[id] != read.StateDown || seen[id] != fleet.at {
		t.Errorf("a node is %s and was heard of at %d", states[id], seen[id])
	}
	if got := fleet.asked.Load(); got != nodes {
		t.Errorf("the store was asked for %d nodes by ten readings, there are %d", got, nodes)
	}
	before := fleet.asked.Load()
	f.now.Add(f.config.NodesTTL.Milliseconds())
	fleet.at = f.now.Load() - 1000
	if states, _ := f.states(r); states[fleet.nodes[17].ID] != read.StateUp {
		t.Errorf("the nodes send again and are %s", states[fleet.nodes[17].ID])
	}
	if got := fleet.asked.Load() - before; got != nodes {
		t.Errorf("later the store was asked for %d nodes", got)
	}
}

// TestSilentNodeReturns sees in Redis at once who sends again, while the store is not asked of the
// others for a minute.
func TestSilentNodeReturns(t *testing.T) {
	f := newFixture(t)
	node := frametest.New("fleet-0", 1, 1)
	fleet := newFleet(5, f.now.Load()-time.Hour.Milliseconds())
	fleet.nodes = append(fleet.nodes, window.Node{ID: node.ID, Cluster: "fleet-0", Interval: 5000})
	r := f.reader(f.withRecent(fleet.sources()))
	if of, _ := f.states(r); len(of) != 6 || of[node.ID] != read.StateDown {
		t.Fatal(of)
	}
	f.now.Add(30_000)
	node.Step()
	f.write(node.Frame(f.now.Load()))
	of, _ := f.states(r)
	up := 0
	for _, state := range of {
		if state == read.StateUp {
			up++
		}
	}
	if up != 1 || of[node.ID] != read.StateUp {
		t.Error(of)
	}
	if got := fleet.asked.Load(); got != 6 {
		t.Errorf("the store was asked for %d nodes, it has 6", got)
	}
	f.now.Add(31_000)
	if f.states(r); fleet.asked.Load() <= 6 {
		t.Error("the store is not asked again")
	}
}

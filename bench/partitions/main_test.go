package main

import (
	"testing"
	"time"
)

// TestLook: all partitions have an owner, nobody carries more than whole partitions make it, and a
// rebalance moves no more than it must.
func TestLook(t *testing.T) {
	o := options{nodes: 20_000, largest: 500, interval: 20 * time.Second, seed: 1}
	fleet, err := newFleet(o)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, c := range fleet {
		total += len(c.nodes)
	}
	if total != o.nodes || len(fleet[0].nodes) != o.largest {
		t.Fatalf("%d nodes, %d in the first cluster", total, len(fleet[0].nodes))
	}
	const partitions, processes = 64, 8
	f, err := look(fleet, partitions, processes, o)
	if err != nil {
		t.Fatal(err)
	}
	mean := o.nodes / partitions
	if f.largestPartition < o.largest || f.largestPartition > mean+4*o.largest {
		t.Errorf("the largest partition has %d nodes, and the mean is %d", f.largestPartition, mean)
	}
	share := o.nodes / processes
	if f.largestProcess < share || f.largestProcess > 2*share {
		t.Errorf("the largest process carries %d nodes, and the mean is %d", f.largestProcess,
			share)
	}
	// A ninth process takes a ninth of the partitions, about.
	if f.joins.nodes == 0 || f.joins.nodes > share*3/2 || f.joins.frames != f.joins.nodes*16 {
		t.Errorf("when one joins %+v move", f.joins)
	}
	if f.dies.nodes == 0 || f.dies.nodes > f.largestProcess {
		t.Errorf("when one dies %+v move, and it carried at most %d", f.dies, f.largestProcess)
	}
	if f.hoursMost < int(f.hours) || f.hoursMost > 10+5*int(f.hours) {
		t.Errorf("%d hours in a second, %.1f in the mean", f.hoursMost, f.hours)
	}
}

// TestGroup: each partition has one owner, before and after members come and go.
func TestGroup(t *testing.T) {
	g := &group{partitions: 16, owned: map[string][]int32{"a": nil, "b": nil, "c": nil}}
	for _, change := range []func(){
		func() {}, func() { g.owned["d"] = nil }, func() { delete(g.owned, "a") },
	} {
		change()
		if err := g.balance(); err != nil {
			t.Fatal(err)
		}
		seen := map[int32]bool{}
		for id, list := range g.owned {
			if least := 16 / len(g.owned); len(list) < least || len(list) > least+1 {
				t.Errorf("%s owns %d partitions of 16, of %d members", id, len(list), len(g.owned))
			}
			for _, p := range list {
				if seen[p] {
					t.Errorf("partition %d has two owners", p)
				}
				seen[p] = true
			}
		}
		if len(seen) != 16 {
			t.Errorf("%d partitions have an owner", len(seen))
		}
	}
}

// Command ring measures what reading many keys at once costs, in the ways there are: a query per
// key, IN, grouped by replica, with a row cache, with a second replica raced.
//
// Real nodes on loopback, three and then six, hold a table of items three times. A lookup asks for
// 50 different items, popular ones more often, as a shop's pages do. Each way answers the same
// lookups, in short rounds, one way after another again and again, so that a machine whose speed
// changes is the same for all.
//
// Load is open: lookups begin at random moments of a given rate whether or not those before have
// ended, and latency counts from the moment a lookup should have begun. A closed loop, in which a
// client asks again when it has its answer, slows down with what it measures, and hides just the
// latencies this is about. Capacity is the rate up to which the p95 of a round stays within a
// limit: each way's rate goes up after a round that stayed within it and down after one that did
// not, in ever smaller steps, and the rate that separates these rounds best is the capacity.
//
// Client and nodes share the machine's cores, so a capacity is what a way costs in CPU altogether,
// the client's and the nodes'; with a machine for each node the client's part weighs less.
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
)

type options struct {
	items, itemBytes, keys int
	skew                   float64
	cacheShare             float64 // of the data that fits the row cache

	sides []string
	hosts []int // numbers of nodes

	warm, round, settle time.Duration
	searches            int // rounds of the search for capacity, each side
	rounds              int // at one rate, each side
	share               float64
	limit               time.Duration // of p95; half of it, too

	heap string
	seed uint64
}

func main() {
	var o options
	flag.IntVar(&o.items, "items", 60_000, "items in the table")
	flag.IntVar(&o.itemBytes, "item-bytes", 400, "bytes of an item's description")
	flag.IntVar(&o.keys, "keys", 50, "items that a lookup asks for")
	flag.Float64Var(&o.skew, "skew", 1.0,
		"exponent of the items' popularity: the n-th is asked for 1/n^skew as often as the first")
	flag.Float64Var(&o.cacheShare, "cache-share", 0.3,
		"how much of the data the row cache can hold")
	bench.List(&o.sides, "sides", "",
		"only these, separated by commas: "+strings.Join(sideNames(), ", "))
	bench.Numbers(&o.hosts, "hosts", []int{3, 6}, "nodes, one cluster after another")
	flag.DurationVar(&o.warm, "warm", 10*time.Second,
		"how long each side runs before anything counts")
	flag.DurationVar(&o.round, "round", 2*time.Second, "length of a round")
	flag.DurationVar(&o.settle, "settle", 10*time.Second,
		"how long at most a paused node gets to be whole again")
	flag.IntVar(&o.searches, "searches", 10, "rounds in search of the capacity, each side")
	flag.IntVar(&o.rounds, "rounds", 3,
		"rounds at one rate, each side, all being well and with a paused replica")
	flag.Float64Var(&o.share, "share", 0.5,
		"that one rate, as a share of the capacity of the better plain way")
	flag.DurationVar(&o.limit, "limit", 125*time.Millisecond,
		"what p95 may be at the capacity; half of it is looked for, too")
	bench.Heap(&o.heap, "512M")
	bench.Seed(&o.seed)
	bench.Main("bench-ring", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	})
}

func run(ctx context.Context, o options, r *bench.Result) error {
	began := time.Now()
	var found []*finding
	for _, hosts := range o.hosts {
		if hosts > 254 {
			return fmt.Errorf("-hosts: %d are too many nodes: give some from 1 to 254, as in 3,6",
				hosts)
		}
		f, err := runOn(ctx, o, hosts)
		if err != nil {
			return err
		}
		found = append(found, f)
	}
	addTo(r, o, found, time.Since(began))
	return nil
}

// runOn measures on a cluster of its own.
func runOn(ctx context.Context, o options, hosts int) (*finding, error) {
	c, err := startCluster(ctx, o, hosts)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	f := &finding{hosts: hosts}
	return f, f.fill(ctx, c, o)
}

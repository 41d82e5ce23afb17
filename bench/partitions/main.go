// Command partitions counts what each partition and each process carries of a large fleet. It
// simulates: nothing runs but the line's own choices of partitions (stream.PartitionOf), of owners
// (the balancer of our consumers) and of when an hour is made (store.Config.HourAt).
//
//	clusters of many sizes ─► partitions ─► processes, one joins, one dies
//	                                            └─► windows, hours, frames read again
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

type options struct {
	nodes, largest        int
	partitions, processes []int
	interval              time.Duration
	seed                  uint64
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 100_000, "nodes of the fleet")
	flag.IntVar(&o.largest, "largest", 1_000, "nodes of the largest cluster; the least has 3")
	bench.Numbers(&o.partitions, "partitions", []int{16, 64, 256},
		"partitions of the topic, in turn")
	bench.Numbers(&o.processes, "processes", []int{4, 16}, "processes of a role, in turn")
	flag.DurationVar(&o.interval, "interval", 20*time.Second, "how often a node sends a frame")
	bench.Seed(&o.seed)
	bench.Main("bench-partitions", func(_ context.Context, r *bench.Result) error {
		return run(o, r)
	})
}

func run(o options, r *bench.Result) error {
	fleet, err := newFleet(o)
	if err != nil {
		return err
	}
	fmt.Printf("%d nodes in %d clusters, of 3 to %d nodes\n\n", o.nodes, len(fleet), o.largest)
	r.Notes = "A simulation: the partitioner, the balancer and the spread of hours are the " +
		"line's own. " +
		"largest_… is the one that carries most; windows_per_s spreads the closing of a " +
		"process's " +
		"windows over five minutes; hours_per_s is the mean of the hour and hours_most of " +
		"its fullest " +
		"second; joins and dies: the nodes whose partition moves when a process does, " +
		"and the most " +
		"frames that are read again then, all of the open windows."
	r.Add("nodes", o.nodes)
	r.Add("clusters", len(fleet))
	fmt.Println("| partitions | largest partition | processes | largest process | windows/s | " +
		"hours/s | " +
		"most in a second | one joins: nodes | frames again | one dies: nodes | frames again |")
	fmt.Println("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, p := range o.partitions {
		for _, n := range o.processes {
			f, err := look(fleet, p, n, o)
			if err != nil {
				return err
			}
			fmt.Printf("| %d | %d | %d | %d | %.0f | %.1f | %d | %d | %d | %d | %d |\n", p,
				f.largestPartition,
				n, f.largestProcess, f.windows, f.hours, f.hoursMost, f.joins.nodes, f.joins.frames,
				f.dies.nodes, f.dies.frames)
			key := fmt.Sprintf("%d_%d_", p, n)
			r.Add(key+"largest_partition", f.largestPartition)
			r.Add(key+"largest_process", f.largestProcess)
			r.Add(key+"windows_per_s", f.windows)
			r.Add(key+"hours_per_s", f.hours)
			r.Add(key+"hours_most", f.hoursMost)
			r.Add(key+"joins_nodes", f.joins.nodes)
			r.Add(key+"joins_frames", f.joins.frames)
			r.Add(key+"dies_nodes", f.dies.nodes)
			r.Add(key+"dies_frames", f.dies.frames)
		}
	}
	fmt.Println()
	return nil
}

// cluster is one with its nodes.
type cluster struct {
	name  string
	nodes []uuid.UUID
}

// newFleet draws clusters, as often of 3 to 30 nodes as of 30 to 300, until all nodes are in one.
func newFleet(o options) ([]cluster, error) {
	const least = 3
	if o.nodes < least || o.largest < least || o.largest > o.nodes {
		return nil, fmt.Errorf("-nodes %d and -largest %d: use %d or more, and a largest that "+
			"the nodes fill",
			o.nodes, o.largest, least)
	}
	r := rand.New(rand.NewPCG(o.seed, 1))
	var fleet []cluster
	for left := o.nodes; left > 0; {
		size := o.largest // the first one is the largest
		if len(fleet) > 0 {
			size = int(least * math.Pow(float64(o.largest)/least, r.Float64()))
		}
		c := cluster{name: fmt.Sprintf("cluster-%d", len(fleet)),
			nodes: make([]uuid.UUID, min(size, left))}
		for i := range c.nodes {
			for k := range c.nodes[i] {
				c.nodes[i][k] = byte(r.Uint32())
			}
		}
		left -= len(c.nodes)
		fleet = append(fleet, c)
	}
	return fleet, nil
}

// finding is what was found with so many partitions and processes.
type finding struct {
	largestPartition, largestProcess int     // nodes
	windows, hours                   float64 // a second, of the largest process
	hoursMost                        int     // in its fullest second
	joins, dies                      move
}

// move is what a rebalance moves.
type move struct{ nodes, frames int }

func look(fleet []cluster, partitions, processes int, o options) (finding, error) {
	var f finding
	nodes := make([]int, partitions)
	of := make([]int32, len(fleet))
	for i, c := range fleet {
		of[i] = stream.PartitionOf("main", c.name, partitions)
		nodes[of[i]] += len(c.nodes)
	}
	for _, n := range nodes {
		f.largestPartition = max(f.largestPartition, n)
	}
	g := &group{partitions: partitions, owned: map[string][]int32{}}
	for i := range processes {
		g.owned[fmt.Sprintf("process-%03d", i)] = nil
	}
	if err := g.balance(); err != nil {
		return f, err
	}
	var largest string
	for id, list := range g.owned {
		carried := 0
		for _, p := range list {
			carried += nodes[p]
		}
		if carried > f.largestProcess || carried == f.largestProcess && id < largest {
			f.largestProcess, largest = carried, id
		}
	}
	f.windows = float64(f.largestProcess) / windowLength.Seconds()
	f.hours = float64(f.largestProcess) / time.Hour.Seconds()
	f.hoursMost = fullest(fleet, of, g.owners(), largest)

	before := g.owners()
	g.owned["process-new"] = nil
	if err := g.balance(); err != nil {
		return f, err
	}
	after := g.owners()
	f.joins = moved(before, after, nodes, o.interval)
	delete(g.owned, largest) // the worst that can happen
	if err := g.balance(); err != nil {
		return f, err
	}
	f.dies = moved(after, g.owners(), nodes, o.interval)
	return f, nil
}

const windowLength = 5 * time.Minute

// fullest is how many hours a process makes in its fullest second.
func fullest(fleet []cluster, of []int32, owners []string, process string) (most int) {
	config, end := store.DefaultConfig(), time.Unix(0, 0)
	seconds := map[int64]int{}
	for i, c := range fleet {
		if owners[of[i]] != process {
			continue
		}
		for _, node := range c.nodes {
			at := config.HourAt(node, end).Unix()
			seconds[at]++
			most = max(most, seconds[at])
		}
	}
	return most
}

// moved counts the nodes whose partition has another owner, and the frames of the windows that are
// open at most: five minutes, and the grace in which none is closed.
func moved(before, after []string, nodes []int, interval time.Duration) (m move) {
	for p, owner := range after {
		if before[p] != owner {
			m.nodes += nodes[p]
		}
	}
	open := windowLength + store.DefaultConfig().Grace
	m.frames = int(float64(m.nodes) * open.Seconds() / interval.Seconds())
	return m
}

package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/window/rollup"
)

const (
	tickMillis  = 20_000
	trendMillis = 60_000
	hourMillis  = 3600_000
)

// The accounts of what is asked for.
const (
	shortAccount = "short"
	trendAccount = "trend"
	fleetAccount = "fleet"
)

// set is a data set that all sides hold, from whole hour to whole hour.
type set struct {
	Account  string
	Nodes    int
	Hours    float64
	Tables   int
	Interval int64 // ms between a node's frames
	Few      bool  // only the metrics that the questions ask for
	Seed     uint64

	// What follows is known when it is written.

	Start, End int64 // ms
	// by side: ours counts a histogram as one, theirs each of its series
	Samples map[string]int64
	LoadS   float64
}

func (s *set) String() string {
	few := ""
	if s.Few {
		few = ", with few metrics"
	}
	return fmt.Sprintf("%d nodes × %g h at %g s%s", s.Nodes, s.Hours, float64(s.Interval)/1000, few)
}

// span is how long the data set is.
func (s *set) span() time.Duration { return time.Duration(s.End-s.Start) * time.Millisecond }

// batchMillis is how much of a set is made at once. Of whole nodes an hour of 30 would be
// gigabytes, and what comes an hour after the newest is too late for a Prometheus.
const batchMillis = hourMillis / 4

// fewMetrics are those that questions ask for.
var fewMetrics = []string{requests, writes, heap, pending, sstables}

// shapes reads the recordings as the set has them.
func (s *set) shapes(folder string) (idle, busy *fleet.Shape, err error) {
	if idle, busy, err = fleet.ReadBoth(folder, s.Tables, s.Interval); err != nil {
		return nil, nil, err
	}
	if s.Few {
		for _, shape := range []*fleet.Shape{idle, busy} {
			shape.Only(func(metric string) bool { return slices.Contains(fewMetrics, metric) })
		}
	}
	return idle, busy, nil
}

// place puts a set that is to be written into time: it ends half an hour ago or more, so that all
// of it is settled.
func (s *set) place(now time.Time) {
	s.End = rollup.Hour.Start(now.Add(-30 * time.Minute).UnixMilli())
	s.Start = s.End - int64(s.Hours*hourMillis)/hourMillis*hourMillis
	s.Samples = map[string]int64{}
}

// wanted are the sets that the options name.
func (o *options) wanted() []*set {
	list := []*set{{Account: shortAccount, Nodes: o.nodes, Hours: o.hours, Tables: o.tables,
		Interval: o.interval.Milliseconds(), Few: o.few, Seed: o.seed}}
	if o.trendDays > 0 {
		list = append(list, &set{Account: trendAccount, Nodes: o.trendNodes,
			Hours: o.trendDays * 24, Tables: o.tables, Interval: trendMillis, Few: true,
			Seed: o.seed})
	}
	return list
}

// clustersOf is in how many clusters a fleet that is compared is: in each is an idle node and a
// busy one.
func clustersOf(nodes int) int { return max(1, min(4, nodes/2)) }

// player plays the set's nodes from its start on.
func (s *set) player(idle, busy *fleet.Shape) *fleet.Player {
	return fleet.NewPlayer(s.Account, idle, busy, s.Seed, s.Nodes, s.Start, func(i int) string {
		return fmt.Sprintf("%s%d", s.Account, i*clustersOf(s.Nodes)/s.Nodes)
	})
}

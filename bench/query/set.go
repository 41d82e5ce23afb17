package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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

// set is a data set that all sides hold, from whole hour to whole hour. It is written once and
// may be kept: its questions are about its last hours, whenever they are asked.
type set struct {
	Account  string
	Nodes    int
	Hours    float64
	Tables   int
	Interval int64 // ms between a node's frames
	Few      bool  // only the metrics that the questions ask for
	Seed     uint64

	// What follows is known when it is written.

	Start, End      int64 // ms
	Keyspace, Table string
	// by side: ours counts a histogram as one, theirs each of its series
	Samples map[string]int64
	LoadS   float64
}

// same reports whether two sets are asked for with the same words.
func (s *set) same(o *set) bool {
	return s.Account == o.Account && s.Nodes == o.Nodes && s.Hours == o.Hours &&
		s.Tables == o.Tables &&
		s.Interval == o.Interval && s.Few == o.Few && s.Seed == o.Seed
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

// batchMillis is how much of a set is made at once: an hour where nodes have few series, as peers
// take long runs of a series faster; of whole nodes an hour of 30 would be gigabytes.
func (s *set) batchMillis() int64 {
	if s.Few {
		return hourMillis
	}
	return hourMillis / 4
}

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

// place puts a set that is to be written into time: it ends half an hour ago or more, so that what
// comes live begins after it.
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

// kept is what stands in a folder of -keep.
type kept struct {
	Sides []string
	Sets  []*set
}

const keptFile = "data.json"

// readKept returns what a folder keeps of what is wanted; nil if it is empty. A folder with other
// data is an error: it is not written over.
func readKept(dir string, o *options) (*kept, error) {
	b, err := os.ReadFile(filepath.Join(dir, keptFile))
	if os.IsNotExist(err) {
		if list, _ := os.ReadDir(dir); len(list) > 0 {
			return nil, fmt.Errorf("%s has no whole data set: it was not written to its end; "+
				"remove it, or give another folder to -keep", dir)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k := &kept{}
	if err := json.Unmarshal(b, k); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, keptFile), err)
	}
	for _, side := range o.sides {
		if !slices.Contains(k.Sides, side) {
			return nil, fmt.Errorf("%s has no data of %s: give another folder to -keep, or "+
				"-sides %s", dir, side, k.Sides)
		}
	}
	var found []*set
	for _, w := range o.wanted() {
		i := slices.IndexFunc(k.Sets, w.same)
		if i < 0 {
			return nil, fmt.Errorf("%s does not have %s: it has %s; give another folder to -keep",
				dir, w, k.Sets)
		}
		found = append(found, k.Sets[i])
	}
	k.Sets = found
	return k, nil
}

// write says that a folder is whole.
func (k *kept) write(dir string) error {
	b, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, keptFile), append(b, '\n'), 0o600)
}

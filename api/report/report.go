// Package report says what a cluster was like over a day: its worst nodes, what left its healthy
// range and for how long, how full its disks become, its busiest and slowest tables, what is
// uneven, which alerts fired, whom they woke and what changed.
//
// It asks PromQL of a Source, some 110 queries whatever the cluster's size, most of them filters
// whose answers are empty while all is well. Over a day the steps are five minutes, which rollups
// serve. Begin with Report, and with Handler for the endpoint. Of our packages it imports
// query/catalog, and what handlers of api stand on.
//
// What it promises: figures are what PromQL answers, but that rates are over the time that
// something was heard of. Nothing begins before that. Report.Lacks says what could not be asked.
//
// What bites: a length of time counts steps, of five minutes for nodes and an hour for tables. What
// was shorter than a step may be missing, or count as one.
package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// Number is a figure; NaN, for what is not known, is null in JSON.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	*n = Number(v)
	return err
}

// Known reports whether there is a figure.
func (n Number) Known() bool { return !math.IsNaN(float64(n)) }

// Report is what a cluster was like. Lists are sorted, what matters most first.
type Report struct {
	// whose cluster it is, where a process reports of several
	Account string    `json:"account,omitempty"`
	Cluster string    `json:"cluster"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	// Since is when the cluster was heard of first within that time. All rates are over the time
	// that something was heard of.
	Since time.Time `json:"since"`

	Nodes    []Node    `json:"nodes"` // who had not left at the end, the worst first
	Breaches []Breach  `json:"breaches"`
	Disks    []Disk    `json:"disks"`
	Tables   []Table   `json:"tables"` // all, by name
	Balance  []Balance `json:"balance"`
	// AlertsRecorded says whether there are alerts of any cluster in that time at all: without
	// rules nobody records them.
	AlertsRecorded bool    `json:"alerts_recorded"`
	Alerts         []Alert `json:"alerts"`
	// ToldKnown says whether it is known what receivers were told; else Woken is empty.
	ToldKnown bool     `json:"told_known"`
	Woken     []Woken  `json:"woken"`
	Changes   []Change `json:"changes"`
	Plots     []Plot   `json:"plots"`

	Queries int `json:"queries"`
	// Lacks says in words what could not be asked.
	Lacks []string `json:"lacks"`
	// cassandra: a node ran Cassandra at any time.
	cassandra bool
	zone      string // what Config.Zone is called
}

// Node is a node of the cluster.
type Node struct {
	ID         string `json:"id"`
	Address    string `json:"address"`
	Called     string `json:"name,omitempty"` // its address, and its host name if that is known
	Datacenter string `json:"datacenter"`
	Rack       string `json:"rack"`
	Kind       string `json:"kind"`    // what software it runs
	Version    string `json:"version"` // of that, as the node says now
	Up         bool   `json:"up"`      // at the end
	Paused     bool   `json:"paused"`  // its agent, at the end: then it is up and nothing is known
	// watched says that it is read from outside, so that up says whether it answered.
	watched bool
	// BreachedSeconds adds up for how long its values were outside of their healthy ranges,
	// Breached is how many values were.
	BreachedSeconds float64 `json:"breached_seconds"`
	Breached        int     `json:"breached"`
}

// cassandra is the kind of nodes that sections about tables are about.
const cassandra = "cassandra"

// Name is how people call the node.
func (n *Node) Name() string {
	return cmp.Or(n.Called, n.Address, n.ID)
}

// Breach is a value that was outside of its healthy range.
type Breach struct {
	Entry       string         `json:"entry"` // the catalogue's name
	Type        string         `json:"type"`
	Description string         `json:"description"`
	Unit        string         `json:"unit"`
	Healthy     *catalog.Range `json:"healthy"`
	// id; empty: of a table, or of the cluster
	Node     string    `json:"node,omitempty"`
	Address  string    `json:"address,omitempty"` // how people call the node
	Keyspace string    `json:"keyspace,omitempty"`
	Table    string    `json:"table,omitempty"`
	Seconds  float64   `json:"seconds"` // how long, by steps
	Worst    Number    `json:"worst"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

// Disk is a file system that holds directories of Cassandra's.
type Disk struct {
	Node    string `json:"node"`
	Address string `json:"address"`
	Mount   string `json:"mount"`
	Device  string `json:"device"`
	Volume  string `json:"volume,omitempty"` // where relabelling gives one
	Size    Number `json:"size_bytes"`
	Free    Number `json:"free_bytes"`
	Used    Number `json:"used_percent"`
	// Growth is what is added in a day, by a line through the last week; negative where the disk
	// empties. It is not known before six hours.
	Growth Number `json:"growth_bytes_per_day"`
	// Full is in how many days the disk is full at that rate; not known where it does not grow.
	Full Number `json:"full_in_days"`
}

// Table is what a table was like in all of the time, its rates over the time that it was heard of.
// What is not known is NaN.
type Table struct {
	Keyspace  string `json:"keyspace"`
	Table     string `json:"table"`
	Reads     Number `json:"reads_per_second"` // on all replicas
	Writes    Number `json:"writes_per_second"`
	ReadP99   Number `json:"read_p99_microseconds"`
	WriteP99  Number `json:"write_p99_microseconds"`
	Tombs     Number `json:"tombstones_per_read_p99"`
	Partition Number `json:"largest_partition_bytes"`
	Disk      Number `json:"disk_bytes"`
}

// Name is keyspace.table.
func (t *Table) Name() string { return t.Keyspace + "." + t.Table }

// System reports whether the table is Cassandra's own.
func (t *Table) System() bool {
	return t.Keyspace == "system" || strings.HasPrefix(t.Keyspace, "system_")
}

// Top returns the n tables, Cassandra's own left out, that have the most of something; where it is
// unknown or nothing they are not there.
func (r *Report) Top(n int, figure func(*Table) float64) []Table {
	list := slices.Clone(r.Tables)
	list = slices.DeleteFunc(list, func(t Table) bool { return t.System() || !(figure(&t) > 0) })
	slices.SortStableFunc(list, func(a, b Table) int {
		return cmp.Compare(figure(&b), figure(&a))
	})
	return list[:min(n, len(list))]
}

// rate adds up what is known of a table's reads and writes.
func (t *Table) rate() float64 {
	sum := 0.0
	for _, n := range []Number{t.Reads, t.Writes} {
		if n.Known() {
			sum += float64(n)
		}
	}
	return sum
}

// Balance says how evenly something is spread over the nodes.
type Balance struct {
	Entry  string `json:"entry"`
	Unit   string `json:"unit"`
	Median Number `json:"median"`
	// The nodes with the most and the least, by address.
	Most     string `json:"most"`
	MostHas  Number `json:"most_has"`
	Least    string `json:"least"`
	LeastHas Number `json:"least_has"`
	// a node has half as much again as the median, or less than half of it
	Uneven    bool `json:"uneven"`
	NodeCount int  `json:"nodes"`
}

// What a node may have more or less than the median.
const (
	unevenMore = 1.5
	unevenLess = 0.5
)

// distance is how far the node is from the median that is furthest, as a factor.
func (b *Balance) distance() float64 {
	if b.Median <= 0 {
		return 0
	}
	return max(float64(b.MostHas/b.Median), float64(b.Median/max(b.LeastHas, b.Median/1000)))
}

// Alert is an alert that fired.
type Alert struct {
	Name     string            `json:"name"`
	Severity string            `json:"severity,omitempty"`
	Node     string            `json:"node,omitempty"` // how people call it
	Labels   map[string]string `json:"labels"`
	Seconds  float64           `json:"seconds"`
	First    time.Time         `json:"first"`
	Last     time.Time         `json:"last"`
	// Advice is what the numbers beside it suggest, if it still fires and they suggest something.
	Advice string `json:"advice,omitempty"`
}

// Change is something that became another.
type Change struct {
	At time.Time `json:"at"` // to five minutes
	// Kind is restart, down, up, joined, left, decommissioned, replaced, moved, forgotten,
	// removed, agent, version, schema, mode, table_created or table_dropped.
	Kind string `json:"kind"`
	Node string `json:"node,omitempty"` // how people call it
	Text string `json:"text"`           // a sentence
}

// Woken is an alert that receivers were told of, or that fired and nobody was told of.
type Woken struct {
	Alert string `json:"alert"` // its name
	// Fired counts its alerts of the day, Brief those of them that were over within briefTime, and
	// Unhurt those while no request of a user failed, timed out or was refused.
	Fired  int `json:"fired"`
	Brief  int `json:"brief"`
	Unhurt int `json:"unhurt"`
	// Told counts messages that a receiver took, Night those of them at night, and Failed those
	// that none took.
	Told   int `json:"told"`
	Night  int `json:"night"`
	Failed int `json:"failed"`
}

// Plot is a value of all nodes over the time.
type Plot struct {
	Entry       string `json:"entry"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Unit        string `json:"unit"`
	// Max is the end of the healthy range; nil if there is none.
	Max *float64 `json:"healthy_max,omitempty"`
	// At are the instants; the others have a value for each, or NaN: of all nodes the least, the
	// median and the most, and the values of the node that has the most on average, of those that
	// have not left.
	At     []int64  `json:"at"`
	Least  []Number `json:"least"`
	Median []Number `json:"median"`
	Most   []Number `json:"most"`
	Top    []Number `json:"top"`
	// Sum is what all nodes had together, on average over the time that they were heard of.
	Sum Number `json:"sum"`
	// TopNode is the node of Top.
	TopNode string `json:"top_node"`
}

// Package reading is what one look at a target found: the form in which every reader of the role
// watch hands over what it read, whatever software it asked. Begin with Reading. Of our packages it
// imports frame.
//
//	watch/kafka, watch/redis, watch/scrape ──► Reading ──► watch/encoder ──► frames
//
// What it promises: nothing in it depends on a kind of software. An entity type is a Table, its
// metrics are columns, as they will be in frames.
package reading

import (
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// The kinds of software that nodes run, as the label kind of ringwatch_node_info says it.
const (
	Cassandra = frame.KindCassandra
	Kafka     = frame.KindKafka
	Redis     = frame.KindRedis
	Other     = frame.KindOther
)

// Target is who is read: for readers of its frames a node.
type Target struct {
	Kind                      string // one of the constants above
	Cluster, Datacenter, Rack string // where it is; the cluster is not empty
	Job, Instance             string // what Prometheus calls it
	Interval                  time.Duration
	// Labelled says that its series have the labels job and instance already; else they get them.
	Labelled bool
}

// ID returns the id of the target's node.
func (t *Target) ID() uuid.UUID { return frame.TargetID(t.Cluster, t.Job, t.Instance) }

// Reading is what one look at a target found. Nobody changes it once it is handed over. Its label
// values may share memory with those of the reading before, which makes comparing them cheap.
type Reading struct {
	// Facts say what the target is, such as its address and version, by ascending name. The facts
	// kind, job and instance are added by who makes the frame.
	Facts  []frame.Fact
	Tables []Table
}

// Table has all entities of one type. Types and metric names are unique in a reading.
type Table struct {
	Type    string     // [a-z][a-z0-9_]*
	Labels  []string   // label names, the same in each reading
	Rows    [][]string // label values of each entity; no two rows are equal
	Columns []Column
}

// Column is one metric of all entities of a table, in the order of its rows. Exactly one of Ints,
// Doubles and Histograms is set, by the kind.
type Column struct {
	Name     string
	Kind     frame.Kind
	Unit     string       // base unit, or empty
	Exponent int          // an integer stands for itself × 10^Exponent
	Bounds   frame.Bounds // of histograms
	HasSum   bool         // of histograms

	Ints       []int64     // counters (not negative) and gauges; NoInt: the entity has no value
	Doubles    []float64   // gauge_double; NaN: no value
	Histograms []Histogram // nil Counts: no value
}

// NoInt stands for no value among integers.
const NoInt = math.MinInt64

// Histogram is the state of one histogram: counts of each bucket since the start, not cumulative
// over buckets, one more than there are bounds; and the sum × 10^-Exponent.
type Histogram struct {
	Counts []int64
	Sum    int64
}

// Series returns how many series the reading has: entities × metrics.
func (r *Reading) Series() (n int) {
	for i := range r.Tables {
		n += len(r.Tables[i].Rows) * len(r.Tables[i].Columns)
	}
	return n
}

// Limit cuts the reading to at most so many series and returns how many it left out. Tables in
// front keep theirs: who reads puts what matters most first.
func (r *Reading) Limit(most int) (left int) {
	for i := range r.Tables {
		t := &r.Tables[i]
		if len(t.Columns) == 0 {
			continue
		}
		rows := min(len(t.Rows), most/len(t.Columns))
		left += (len(t.Rows) - rows) * len(t.Columns)
		most -= rows * len(t.Columns)
		t.cut(rows)
	}
	return left
}

// cut keeps the first rows.
func (t *Table) cut(rows int) {
	if rows >= len(t.Rows) {
		return
	}
	t.Rows = t.Rows[:rows]
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case c.Ints != nil:
			c.Ints = c.Ints[:rows]
		case c.Doubles != nil:
			c.Doubles = c.Doubles[:rows]
		default:
			c.Histograms = c.Histograms[:rows]
		}
	}
}

// UnitOf returns the unit that a metric's name says.
func UnitOf(name string) string {
	for _, suffix := range []string{"_total", "_sum", "_count"} {
		if rest, found := strings.CutSuffix(name, suffix); found {
			if suffix == "_count" {
				return ""
			}
			name = rest
			break
		}
	}
	for _, unit := range []string{"seconds", "bytes", "ratio"} {
		if strings.HasSuffix(name, "_"+unit) {
			return unit
		}
	}
	return ""
}

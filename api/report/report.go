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
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// Point is a value at an instant, in milliseconds since 1970.
type Point struct {
	At    int64
	Value float64
}

// Series is a series of an answer, without histograms.
type Series struct {
	Labels map[string]string
	Points []Point // at least one
}

// Source answers PromQL.
type Source interface {
	Query(ctx context.Context, promql string, at time.Time) ([]Series, error)
	// QueryRange answers at from, from+step … until to.
	QueryRange(ctx context.Context, promql string, from, to time.Time,
		step time.Duration) ([]Series, error)
}

// Config says what a report is of.
type Config struct {
	Cluster string
	From    time.Time
	To      time.Time // at most 31 days later
	Catalog *catalog.Catalog
	// Left are the nodes that have left the cluster, whenever that was.
	Left []Left
	// Progress is told before each query how many were asked, and of how many; nil: nobody is.
	Progress func(asked, of int)
	// Advise says what the numbers beside alerts suggest; nil: nobody does.
	Advise Advise
	// Told returns the messages to receivers within a time that are about the cluster. They are not
	// known where nobody is told. nil: they are not known, either.
	Told func(ctx context.Context, from, to time.Time) (list []Told, known bool, err error)
	// Zone is where the people sleep who are told; nil: where this process runs.
	Zone *time.Location
}

// Left is a node that has left the cluster.
type Left struct {
	Node    string // id
	Address string // as the node said it at last
	At      time.Time
	// Why is decommissioned, replaced, moved, forgotten or removed, as in the list of nodes.
	Why string
	By  string // the id of the node in its place, its new cluster, or the key that forgot it
}

// Advise says in words what the numbers beside alerts suggest, which fire at an instant: of some of
// them, by their labels. name is how people call a node.
type Advise func(ctx context.Context, alerts []map[string]string, at time.Time,
	name func(id string) string) []Advised

// Advised is what is suggested of an alert.
type Advised struct {
	Alert map[string]string // its labels
	Text  string
}

// Step is the resolution of what is followed over the day.
const Step = 5 * time.Minute

// ErrNoNodes says that the cluster had no node in that time.
var ErrNoNodes = errors.New("the cluster had no nodes in that time")

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

// maker is a report that is being made.
type maker struct {
	Config
	src    Source
	scope  catalog.Scope
	report *Report
	nodes  map[string]*Node // by id, those that have left among them
	gone   map[string]*Left // by id, those that had left at the end
	heard  heard
	total  int // queries that are planned
}

// Make asks everything and returns the report. The error is ErrNoNodes, the context's, or says why
// not even the nodes could be asked for.
func Make(ctx context.Context, src Source, c Config) (*Report, error) {
	if span := c.To.Sub(c.From); span < Step || span > 31*24*time.Hour {
		return nil, fmt.Errorf(
			"a report covers %s to 31 days, not %s: choose other times",
			Step,
			span,
		)
	}
	c.Zone = cmp.Or(c.Zone, time.Local)
	m := &maker{Config: c, src: src, scope: catalog.Scope{Cluster: c.Cluster},
		nodes: map[string]*Node{}, gone: map[string]*Left{},
		heard: heard{from: c.From, to: c.To},
		report: &Report{Cluster: c.Cluster, From: c.From.UTC(), To: c.To.UTC(),
			Nodes: []Node{}, Breaches: []Breach{}, Disks: []Disk{},
			Tables: []Table{}, Balance: []Balance{}, Alerts: []Alert{}, Woken: []Woken{},
			Changes: []Change{}, Plots: []Plot{}, Lacks: []string{}}}
	values := m.ranged()
	m.total = fixedQueries + len(values)
	if err := m.findNodes(ctx); err != nil {
		return nil, err
	}
	for _, part := range []func(context.Context){
		m.hearTables,
		func(ctx context.Context) { m.breaches(ctx, values) },
		m.disks, m.tables, m.balance, m.alerts, m.woken, m.changes, m.plots,
	} {
		if part(ctx); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	m.finish()
	return m.report, nil
}

// finish sorts what more than one part has filled.
func (m *maker) finish() {
	for id, n := range m.nodes {
		if m.gone[id] == nil {
			m.report.Nodes = append(m.report.Nodes, *n)
		}
	}
	slices.SortFunc(m.report.Nodes, func(a, b Node) int {
		return firstOf(
			compareFalling(a.BreachedSeconds, b.BreachedSeconds),
			compareFalling(float64(a.Breached), float64(b.Breached)),
			compareText(a.Name(), b.Name()),
		)
	})
	slices.SortStableFunc(m.report.Changes, func(a, b Change) int {
		return firstOf(a.At.Compare(b.At), compareText(a.Kind, b.Kind), compareText(a.Text, b.Text))
	})
}

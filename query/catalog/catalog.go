// Package catalog is the list of what operators ask for by name, such as n::cpuUtilization,
// without writing PromQL.
//
// An entry has a name, a description and one or more values, each with PromQL, a unit and the
// range in which it is healthy. The shipped file is catalog.yaml; an account may have a file of
// its own, whose entries stand beside the shipped ones. One expression serves a node, a datacenter
// and a cluster: it has placeholders for the matchers and for the labels that are kept. Start with
// Catalog; Value.Expr fills the placeholders in.
//
// What it promises: every expression of a Catalog parses and has the scope among the matchers of
// each selector, so that it can mean nothing else. Names and aliases are unique. Units are those
// of Units.
//
// What bites: nothing here knows whether a node has the metrics that are named.
//
// It imports none of our packages.
package catalog

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Of is what an entry is about.
type Of string

// What entries are about, with the beginning of their names.
const (
	Node     Of = "node"     // n::NAME; k::NAME of a Kafka, r::NAME of a Redis
	Keyspace Of = "keyspace" // ks::KEYSPACE::NAME
	Table    Of = "table"    // cf::KEYSPACE::TABLE::NAME
)

// form is how names begin in a file, by their first part; Instaclustr's monitoring API has the
// first parts.
var form = map[string]struct {
	of     Of
	begin  string
	places int // how many names stand between the first part and the last
}{
	"n": {Node, "n::", 0}, "k": {Node, "k::", 0}, "r": {Node, "r::", 0},
	"ks": {Keyspace, "ks::{keyspace}::", 1}, "cf": {Table, "cf::{keyspace}::{table}::", 2},
}

// formOf returns the form of a name, by its first part.
func formOf(name string) (of Of, begin string, places int) {
	first, _, found := strings.Cut(name, "::")
	if !found {
		return "", "", 0
	}
	f := form[first]
	return f.of, f.begin, f.places
}

// Catalog is a set of entries. It does not change, so many goroutines may use it.
type Catalog struct {
	Groups []Group
	names  map[string]*Entry // by folded name and alias
}

// Group is some entries that belong together.
type Group struct {
	Name    string  `yaml:"name" json:"name"`   // one word
	Title   string  `yaml:"title" json:"title"` // for people
	Entries []Entry `yaml:"entries" json:"entries"`
}

// Entry is one thing that operators ask for.
type Entry struct {
	// as in the file, for instance cf::{keyspace}::{table}::reads
	Name        string   `json:"name"`
	Of          Of       `json:"of"`
	Group       string   `json:"-"`
	Description string   `json:"description"`
	Aliases     []string `json:"aliases,omitempty"` // other names, in the same form
	Values      []Value  `json:"values"`            // at least one
	// Own says that the entry is of the account's own file.
	Own bool `json:"own,omitempty"`
}

// Short returns the name without what it is of: cpuUtilization.
func (e *Entry) Short() string { return e.Name[strings.LastIndex(e.Name, "::")+2:] }

// Value is one number of an entry.
type Value struct {
	Type    string `json:"type"` // what the number is of the entry: value, count, 99thPercentile
	Unit    string `json:"unit"` // one of Units
	PromQL  string `json:"promql"`
	Healthy *Range `json:"healthy,omitempty"` // nil: nobody can say
	// Deviation says that it makes sense to compare a node with its peers, or a table with its own
	// past.
	Deviation bool `json:"deviation,omitempty"`
}

// Range is where a value is healthy, both ends included. A nil end is open.
type Range struct {
	Min *float64 `yaml:"min" json:"min,omitempty"`
	Max *float64 `yaml:"max" json:"max,omitempty"`
}

// Holds reports whether a value is healthy. NaN is: it says that nothing was measured.
func (r *Range) Holds(v float64) bool {
	if r == nil || math.IsNaN(v) {
		return true
	}
	return (r.Min == nil || v >= *r.Min) && (r.Max == nil || v <= *r.Max)
}

// Unit is what numbers are of.
type Unit struct {
	Name   string
	Symbol string // as answers have it, in the notation of Instaclustr's monitoring API
	// Scale and Base say what one is of a base unit: a microsecond 1e-6 seconds.
	Scale float64
	Base  string // seconds, bytes, or empty
	After string // what people write behind a number, such as /s
}

// Units are the units that there are.
var Units = []Unit{
	{Name: "count", Symbol: "1", Scale: 1},
	{Name: "per_second", Symbol: "1/s", Scale: 1, After: "/s"},
	{Name: "percent", Symbol: "1", Scale: 1, After: " %"},
	{Name: "ratio", Symbol: "1", Scale: 1},
	{Name: "bytes", Symbol: "B", Scale: 1, Base: "bytes"},
	{Name: "bytes_per_second", Symbol: "B/s", Scale: 1, Base: "bytes", After: "/s"},
	{Name: "seconds", Symbol: "s", Scale: 1, Base: "seconds"},
	{Name: "microseconds", Symbol: "us", Scale: 1e-6, Base: "seconds"},
	{Name: "microseconds_per_operation", Symbol: "us/1", Scale: 1e-6, Base: "seconds"},
}

// UnitOf returns a unit by its name; the zero Unit if there is none.
func UnitOf(name string) Unit {
	i := slices.IndexFunc(Units, func(u Unit) bool { return u.Name == name })
	if i < 0 {
		return Unit{}
	}
	return Units[i]
}

// All returns the entries in the order of the files.
func (c *Catalog) All() []*Entry {
	var list []*Entry
	for i := range c.Groups {
		for j := range c.Groups[i].Entries {
			list = append(list, &c.Groups[i].Entries[j])
		}
	}
	return list
}

// New makes a catalogue of groups that were checked where they come from, as /v1/catalog has
// them. The error names entries that share a name.
func New(groups []Group) (*Catalog, error) {
	c := &Catalog{Groups: groups}
	return c, c.index()
}

// index fills names. The error names the two entries that share one.
func (c *Catalog) index() error {
	c.names = map[string]*Entry{}
	for _, e := range c.All() {
		for _, name := range append([]string{e.Name}, e.Aliases...) {
			key := strings.ToLower(name)
			if other := c.names[key]; other != nil {
				if other == e {
					return fmt.Errorf("entry %s: the name %s is used twice: choose another",
						e.Name, name)
				}
				return fmt.Errorf("entry %s: the name %s is entry %s's already: choose another",
					e.Name, name, other.Name)
			}
			c.names[key] = e
		}
	}
	return nil
}

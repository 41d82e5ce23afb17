package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/query/nearest"
)

// Anything stands for all keyspaces or all tables in a name that is asked for.
const Anything = "*"

// maxNear is how many names an UnknownError offers.
const maxNear = 5

// Asked is what a name means.
type Asked struct {
	*Entry
	Keyspace, Table string  // empty: all, or the entry is of none
	Picked          []Value // those of the entry that the name asks for
}

// UnknownError says that a name is no entry's.
type UnknownError struct {
	Name string
	Near []string // names that are like it, the nearest first
}

// Error implements error.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("the catalogue has no %.200q", e.Name)
	if len(e.Near) > 0 {
		return text + ": did you mean " + strings.Join(e.Near, ", ") + "?"
	}
	return text + ": GET /v1/catalog lists all names"
}

// IsName reports whether a text has the form of a catalogue's name. No metric's name begins so.
func IsName(text string) bool {
	of, _, _ := formOf(text)
	return of != ""
}

// Lookup finds what a name means: n::NAME, k::NAME, r::NAME, ks::KEYSPACE::NAME or
// cf::KEYSPACE::TABLE::NAME, where * is every keyspace or table, and ::TYPE behind it picks one
// value. Letters' case counts only in keyspaces and tables. The error is an *UnknownError.
func (c *Catalog) Lookup(name string) (Asked, error) {
	a := Asked{}
	parts := strings.Split(name, "::")
	_, prefix, places := formOf(name)
	if prefix == "" || len(parts) < places+2 || len(parts) > places+3 {
		return a, &UnknownError{Name: name, Near: c.near(name)}
	}
	given := []*string{&a.Keyspace, &a.Table}
	for i := range places {
		place := parts[i+1]
		if place == "" {
			return a, &UnknownError{Name: name, Near: c.near(name)}
		}
		if place != Anything && place != "{keyspace}" && place != "{table}" {
			*given[i] = place
		}
	}
	a.Entry = c.names[strings.ToLower(prefix+parts[places+1])]
	if a.Entry == nil {
		return a, &UnknownError{Name: name, Near: c.near(name)}
	}
	a.Picked = a.Values
	if len(parts) == places+3 {
		i := slices.IndexFunc(
			a.Values,
			func(v Value) bool { return strings.EqualFold(v.Type, parts[places+2]) },
		)
		if i < 0 {
			e := &UnknownError{Name: name}
			base := strings.Join(parts[:places+2], "::")
			for _, v := range a.Values {
				e.Near = append(e.Near, base+"::"+v.Type)
			}
			return a, e
		}
		a.Picked = a.Values[i : i+1]
	}
	return a, nil
}

// near returns names that are like a text: that have it or are in it, or differ in few letters.
func (c *Catalog) near(text string) []string {
	short := strings.ToLower(text)
	if i := strings.LastIndex(short, "::"); i >= 0 {
		short = short[i+2:]
	}
	type found struct {
		name     string
		distance int
	}
	var list []found
	for _, e := range c.All() {
		other := strings.ToLower(e.Short())
		d := nearest.Distance(short, other)
		if nearest.Like(d, other) {
			if !strings.HasPrefix(text, e.Name[:strings.Index(e.Name, "::")]) {
				d++ // the same of something else
			}
			list = append(list, found{e.Name, d})
		}
	}
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, f := range list[:min(len(list), maxNear)] {
		names = append(names, f.name)
	}
	return names
}

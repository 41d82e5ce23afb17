package catalog

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

//go:embed catalog.yaml
var shipped []byte

// maxEntries is how many entries an account's own file may have.
const maxEntries = 500

// Shipped returns the catalogue that comes with the program.
func Shipped() (*Catalog, error) { return Load("catalog.yaml", shipped) }

// file is a catalogue as it is written.
type file struct {
	Groups []struct {
		Name    string      `yaml:"name"`
		Title   string      `yaml:"title"`
		Entries []fileEntry `yaml:"entries"`
	} `yaml:"groups"`
}

type fileEntry struct {
	Name        string      `yaml:"name"`
	Aliases     []string    `yaml:"aliases"`
	Description string      `yaml:"description"`
	Single      fileValue   `yaml:",inline"`
	Values      []fileValue `yaml:"values"`
}

type fileValue struct {
	Type      string `yaml:"type"`
	Unit      string `yaml:"unit"`
	PromQL    string `yaml:"promql"`
	Healthy   *Range `yaml:"healthy"`
	Deviation bool   `yaml:"deviation"`
}

// Load reads a catalogue. The error says everything that is wrong at once, each with the file's
// name and the entry's.
func Load(name string, text []byte) (*Catalog, error) {
	var f file
	if err := Decode(name, text, &f); err != nil {
		return nil, err
	}
	c := &Catalog{}
	var wrong []error
	seen := map[string]bool{}
	n := 0
	for i := range f.Groups {
		g := Group{Name: f.Groups[i].Name, Title: f.Groups[i].Title}
		if !word.MatchString(g.Name) || seen[g.Name] {
			wrong = append(
				wrong,
				fmt.Errorf(
					"%s: group %q: name the group with one word of letters that no other group has",
					name,
					g.Name,
				),
			)
		}
		seen[g.Name] = true
		for j := range f.Groups[i].Entries {
			n++
			e, err := f.Groups[i].Entries[j].entry(g.Name)
			if err != nil {
				what := f.Groups[i].Entries[j].Name
				if what == "" {
					what = fmt.Sprintf("number %d of group %s", j+1, g.Name)
				}
				wrong = append(wrong, fmt.Errorf("%s: entry %s: %w", name, what, err))
				continue
			}
			g.Entries = append(g.Entries, e)
		}
		c.Groups = append(c.Groups, g)
	}
	if n > maxEntries {
		wrong = append(
			wrong,
			fmt.Errorf("%s has %d entries, and %d are allowed: leave some out", name, n,
				maxEntries),
		)
	}
	if err := c.index(); err != nil {
		wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return c, nil
}

// LoadFile reads a catalogue from a file.
func LoadFile(path string) (*Catalog, error) { return ReadFile(path, "the catalogue", Load) }

// With returns the catalogue with an account's own entries behind it; file is named in errors.
func (c *Catalog) With(own *Catalog, file string) (*Catalog, error) {
	joined := &Catalog{}
	for _, g := range c.Groups {
		g.Entries = slices.Clone(g.Entries)
		joined.Groups = append(joined.Groups, g)
	}
	for _, g := range own.Groups {
		entries := slices.Clone(g.Entries)
		for i := range entries {
			entries[i].Own = true
		}
		at := slices.IndexFunc(joined.Groups, func(of Group) bool { return of.Name == g.Name })
		if at < 0 {
			joined.Groups = append(
				joined.Groups,
				Group{Name: g.Name, Title: g.Title, Entries: entries},
			)
			continue
		}
		joined.Groups[at].Entries = append(joined.Groups[at].Entries, entries...)
	}
	if err := joined.index(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return joined, nil
}

var (
	word = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	// shortName is what stands behind a name's last :: and a value's type.
	shortName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_]{0,63}$`)
)

// entry checks an entry.
func (f *fileEntry) entry(group string) (Entry, error) {
	e := Entry{
		Name:        f.Name,
		Group:       group,
		Description: strings.TrimSpace(f.Description),
		Aliases:     f.Aliases,
	}
	var wrong []error
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	of, begin, _ := formOf(f.Name)
	if short, is := strings.CutPrefix(f.Name, begin); of != "" && is &&
		shortName.MatchString(short) {
		e.Of = of
	}
	if e.Of == "" {
		return e, errors.New(
			"the name must have the form n::NAME, k::NAME, r::NAME, ks::{keyspace}::NAME or " +
				"cf::{keyspace}::{table}::NAME",
		)
	}
	for _, alias := range f.Aliases {
		if short, is := strings.CutPrefix(alias, begin); !is || !shortName.MatchString(short) {
			fail("the alias %q must have the form %sNAME", alias, begin)
		}
	}
	if e.Description == "" {
		fail("the description is missing: say in a sentence what it is")
	}
	values := f.Values
	single := f.Single
	switch {
	case len(values) == 0:
		values = []fileValue{single}
	case single != (fileValue{}):
		fail(
			"values: stands beside type, unit, promql, healthy or deviation: put these into values",
		)
	}
	types := map[string]bool{}
	for _, v := range values {
		if types[v.Type] {
			fail("the type %q is used twice: choose another", v.Type)
		}
		types[v.Type] = true
		if err := v.check(e.Of); err != nil {
			fail("type %q: %w", v.Type, err)
		}
		e.Values = append(
			e.Values,
			Value{
				Type:      v.Type,
				Unit:      v.Unit,
				PromQL:    strings.TrimSpace(v.PromQL),
				Healthy:   v.Healthy,
				Deviation: v.Deviation,
			},
		)
	}
	return e, errors.Join(wrong...)
}

// check finds what is wrong with a value.
func (v *fileValue) check(of Of) error {
	var wrong []error
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if !shortName.MatchString(v.Type) {
		fail("a type is a word such as value, count or 99thPercentile")
	}
	if UnitOf(v.Unit).Name == "" {
		var known []string
		for _, u := range Units {
			known = append(known, u.Name)
		}
		fail("unknown unit %q: use one of %s", v.Unit, strings.Join(known, ", "))
	}
	if r := v.Healthy; r != nil {
		for _, end := range []*float64{r.Min, r.Max} {
			if end != nil && (math.IsNaN(*end) || math.IsInf(*end, 0)) {
				fail("healthy: %v is not a number: leave min or max out if there is none", *end)
			}
		}
		switch {
		case r.Min == nil && r.Max == nil:
			fail("healthy has neither min nor max: set one, or leave healthy out")
		case r.Min != nil && r.Max != nil && *r.Min > *r.Max:
			fail("healthy: min %v is above max %v", *r.Min, *r.Max)
		case v.Unit == "percent" && (r.Max != nil && *r.Max > 100 || r.Min != nil && *r.Min < 0):
			fail("healthy: percentages lie between 0 and 100")
		}
	}
	if err := checkPromQL(v.PromQL, of); err != nil {
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// checkPromQL finds what is wrong with an expression and its placeholders.
func checkPromQL(text string, of Of) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("promql is missing: write the expression")
	}
	if !strings.Contains(text, "$by") {
		return errors.New("promql has no by ($by), so its values would belong to nobody: add it")
	}
	const probe = "probe"
	s := Scope{Cluster: probe, Keyspace: probe, Table: probe}
	v := Value{PromQL: text}
	expr := v.Expr(s, Labels(of, NodeLabels...), DefaultWindow)
	if _, err := Parse(expr, probe, "no $scope"); err != nil {
		return fmt.Errorf("promql: %w", err)
	}
	return nil
}

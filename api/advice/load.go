package advice

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// shipped has a file for each of rules.
//
//go:embed *.yaml
var shipped embed.FS

// What a file may have: each query is one that somebody waits for.
const (
	maxAlerts  = 200
	maxCases   = 10
	maxQueries = 4
)

type file struct {
	Alerts []struct {
		Alert string `yaml:"alert"`
		None  string `yaml:"none"`
		Cases []Case `yaml:"cases"`
	} `yaml:"alerts"`
}

// Shipped returns the advice that comes with the program.
func Shipped() (*Rules, error) {
	all := &Rules{alerts: map[string][]Case{}, None: map[string]string{}}
	files, err := shipped.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := shipped.ReadFile(f.Name())
		if err != nil {
			return nil, err
		}
		rules, err := Load(f.Name(), text)
		if err != nil {
			return nil, err
		}
		all = all.With(rules)
	}
	return all, nil
}

// Load reads advice. The error says everything that is wrong at once, each with the file's name,
// the alert's and the case's.
func Load(name string, text []byte) (*Rules, error) {
	var f file
	if err := catalog.Decode(name, text, &f); err != nil {
		return nil, err
	}
	r := &Rules{alerts: map[string][]Case{}, None: map[string]string{}}
	var wrong []error
	bad := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%s: %w", name, fmt.Errorf(format, args...)))
	}
	if len(f.Alerts) > maxAlerts {
		bad("there are %d alerts, and %d are allowed: leave some out", len(f.Alerts), maxAlerts)
	}
	for _, alert := range f.Alerts {
		if _, twice := r.alerts[alert.Alert]; twice {
			bad("alert %s is there twice: put its cases together", alert.Alert)
		}
		r.alerts[alert.Alert] = alert.Cases
		if alert.None != "" {
			r.None[alert.Alert] = alert.None
		}
		switch {
		case alert.Alert == "":
			bad("an alert has no name: write alert: and its name")
		case (alert.None == "") == (len(alert.Cases) == 0):
			bad("alert %s: write cases, or none with the reason", alert.Alert)
		case len(alert.Cases) > maxCases:
			bad("alert %s has %d cases, and %d are allowed: leave some out", alert.Alert,
				len(alert.Cases), maxCases)
		}
		names := map[string]bool{}
		for i := range alert.Cases {
			c := &alert.Cases[i]
			if names[c.Name] {
				bad("alert %s: case %s is there twice: choose another name", alert.Alert, c.Name)
			}
			names[c.Name] = true
			for _, err := range c.check() {
				bad("alert %s: case %s: %w", alert.Alert, c.Name, err)
			}
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return r, nil
}

// LoadFile is Load for a file.
func LoadFile(path string) (*Rules, error) {
	return catalog.ReadFile(path, "the file of advice", Load)
}

// With returns the advice with an account's own: one alert stands for that of its name.
func (r *Rules) With(own *Rules) *Rules {
	joined := &Rules{alerts: maps.Clone(r.alerts), None: maps.Clone(r.None)}
	for name, cases := range own.alerts {
		joined.alerts[name] = cases
		delete(joined.None, name)
	}
	maps.Copy(joined.None, own.None)
	return joined
}

// Cases returns an alert's, in their order.
func (r *Rules) Cases(alert string) []Case { return r.alerts[alert] }

// Alerts returns the names of all alerts that are spoken of or left out with a reason.
func (r *Rules) Alerts() []string { return slices.Sorted(maps.Keys(r.alerts)) }

var (
	word      = regexp.MustCompile(`^[a-z][a-z_]{0,63}$`)
	eventKind = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
)

// check returns what is wrong with a case.
func (c *Case) check() (wrong []error) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if !word.MatchString(c.Name) {
		bad("name it with one word of small letters")
	}
	switch n := len(c.Queries); {
	case n == 0 && c.Event == "":
		bad("it asks for nothing: write queries, or an event")
	case n > maxQueries:
		bad("it has %d queries, and %d are allowed: leave some out", n, maxQueries)
	}
	for name, promql := range c.Queries {
		if !word.MatchString(name) || name == "alert" || name == "event" {
			bad("query %q: name it with one word of small letters, other than alert and event",
				name)
		}
		if err := checkPromQL(promql); err != nil {
			bad("query %s: %w", name, err)
		}
	}
	if c.Event != "" && !eventKind.MatchString(c.Event) {
		bad("event: %q is no kind of an event", c.Event)
	}
	if c.Text == "" {
		bad("text is missing: write two sentences")
	}
	for _, m := range blank.FindAllStringSubmatch(c.Text, -1) {
		what, label, unit := m[1], m[2], m[3]
		_, asked := c.Queries[what]
		switch {
		case what == "alert" && label != "", what == "event" && label != "" && c.Event != "":
		case !asked:
			bad("text: nothing is called %s: use a query's name, or a label of alert or event",
				m[0])
		}
		if unit != "" && units[unit] == nil && catalog.UnitOf(unit).Name == "" {
			bad("text: %s has an unknown unit: use one such as bytes, seconds, share or ago", m[0])
		}
	}
	return wrong
}

// checkPromQL finds what is wrong with an expression and its placeholders.
func checkPromQL(promql string) error {
	// As part of a regular expression too hostile is right.
	const probe, hostile = "probe", "\\'\"`"
	tree, err := catalog.Parse(probed(promql, probe), probe,
		"none of $cluster, $node, $process, $keyspace and $table")
	if err != nil {
		return err
	}
	quoted := strconv.Quote(hostile)
	other, err := parser.NewParser(parser.Options{}).ParseExpr(probed(promql, hostile))
	if err != nil || strings.ReplaceAll(other.String(), quoted[1:len(quoted)-1],
		probe) != tree.String() {
		return errors.New("a label of an alert would be read as PromQL: write placeholders of " +
			"labels within double quotes")
	}
	return nil
}

// probed returns an expression with the value for each label.
func probed(promql, value string) string {
	alert := map[string]string{}
	for _, name := range variable.FindAllString(promql, -1) {
		alert[name[1:]] = value
	}
	for _, labels := range places {
		for _, label := range labels {
			alert[label] = value
		}
	}
	text, _ := placed(promql, alert)
	return text
}

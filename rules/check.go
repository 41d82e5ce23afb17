package rules

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/expression"
)

// ErrLint is wrapped by findings that no rule manager refuses, such as a rule that stands there
// twice.
var ErrLint = errors.New("lint error")

// RuleFile is the text of a rule file and its name in messages.
type RuleFile struct {
	Name string
	Text []byte
}

// Checked is what Check found out about one file.
type Checked struct {
	File   string
	Rules  []CheckedRule // none if the file is no rule file
	Errors []error       // why the file must not be used
	Lint   []error       // what is odd in it; each wraps ErrLint
}

// CheckedRule is one rule of a file that is right as such.
type CheckedRule struct {
	Group    string
	Name     string // of the alert or of the recorded series
	Alert    bool
	Form     Form          // 0 if it has none, which is among the file's errors
	Cluster  string        // the one cluster that it is evaluated for, if it names one
	Lookback time.Duration // how far back its data must reach
}

// checkParser returns the parser that Check uses, with the options of the one that answers queries.
func checkParser() parser.Parser {
	return parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
}

// Check checks an account's files together, as promtool does but for names that no frame can have
// (labelNames), and says of each rule where it is
// evaluated and how far it looks back. A series that is recorded in one of the files may be used by
// rules of another.
func Check(files []RuleFile) []Checked {
	parse := checkParser()
	checked := make([]Checked, len(files))
	groups := make([][]rulefmt.RuleGroup, len(files))
	var recordings []Recording
	for i, f := range files {
		checked[i].File = f.Name
		groups[i], checked[i].Errors = readGroups(f.Name, f.Text, parse,
			slog.New(slog.DiscardHandler))
		for _, g := range groups[i] {
			for _, r := range g.Rules {
				if r.Record == "" {
					continue
				}
				if expr, err := parse.ParseExpr(r.Expr); err == nil { // rulefmt has parsed it
					recordings = append(recordings, Recording{r.Record, expr})
				}
			}
		}
	}
	recorded := RecordedBy(recordings)
	for i := range checked {
		checked[i].look(groups[i], &places{file: files[i].Name, text: files[i].Text}, parse,
			recorded)
	}
	return checked
}

// look looks at each rule of a file that parses.
func (c *Checked) look(
	groups []rulefmt.RuleGroup, where *places, parse parser.Parser, recorded Recorded,
) {
	type key struct{ name, labels string }
	seen := map[key]int{}
	for i, g := range groups {
		for j, r := range g.Rules {
			k := CheckedRule{Group: g.Name, Name: r.Record, Alert: r.Alert != ""}
			if k.Alert {
				k.Name = r.Alert
			}
			wrong := func(err error) {
				c.Errors = append(c.Errors, where.of(i, j, g.Name, &r, err))
			}
			expr, err := parse.ParseExpr(r.Expr)
			if err != nil { // rulefmt has parsed it
				wrong(err)
				continue
			}
			if k.Form, err = FormOf(expr, recorded); err != nil {
				wrong(err)
			}
			if k.Lookback, err = Lookback(expr); err != nil {
				wrong(err)
			}
			if err := expression.NewLabelGrowth(expr, 0, 1,
				expression.DefaultMaxLabelBytes).Check(); err !=
				nil {
				wrong(err)
			}
			k.Cluster = PinnedTo(expr)
			c.Rules = append(c.Rules, k)

			set := maps.Clone(g.Labels)
			if set == nil {
				set = map[string]string{}
			}
			maps.Copy(set, r.Labels)
			same := key{k.Name, labels.FromMap(set).String()}
			if seen[same]++; seen[same] == 2 {
				c.Lint = append(c.Lint, where.of(i, j, g.Name, &r,
					fmt.Errorf("%w: it is defined twice with the labels %s; one may overwrite "+
						"the other", ErrLint, same.labels)))
			}
		}
	}
}

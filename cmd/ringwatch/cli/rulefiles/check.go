// Package rulefiles has the commands that work with files of rules: check, test, apply, list and
// relabel.
package rulefiles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/rules/ruletest"
)

// ErrRules has been told in detail already.
var ErrRules = errors.New("correct what failed above")

// RulesCheckCmd is ringwatch rules check.
type RulesCheckCmd struct {
	Files     []string `arg:"" optional:"" name:"file" help:"Rule files of one account, as a Prometheus reads them; without any, those that Ringwatch ships."`
	Lint      string   `help:"What to look for beside errors: all, duplicate-rules or none." enum:"all,duplicate-rules,none" default:"duplicate-rules"`
	LintFatal bool     `help:"Exit with 3 if lint finds something and there are no errors."`
	JSON      bool     `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (*RulesCheckCmd) Help() string {
	return "Checks rule files as promtool check rules does. FORM says where a rule is evaluated: " +
		"cluster means by the process that has the cluster, account means by one process, over " +
		"the account's recorded series. " +
		"A rule that mixes clusters in another way is an error. Files that use each other's " +
		"recorded series are checked together. It needs no server. It exits with 1 if a file is " +
		"wrong.\n\n" +
		"Example: ringwatch rules check rules/*.yaml"
}

// Run implements the command.
func (c *RulesCheckCmd) Run() error { return c.RunTo(os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *RulesCheckCmd) RunTo(out io.Writer) error {
	read, names := os.ReadFile, c.Files
	if len(names) == 0 {
		read, names = rules.Shipped.ReadFile, rules.ShippedFiles
	}
	var files []rules.RuleFile
	for _, name := range names {
		text, err := read(name)
		if err != nil {
			return exit.Usage(err)
		}
		files = append(files, rules.RuleFile{Name: name, Text: text})
	}
	checked := rules.Check(files)
	wrong, odd := false, false
	for i := range checked {
		if c.Lint == "none" {
			checked[i].Lint = nil
		}
		wrong = wrong || len(checked[i].Errors) > 0
		odd = odd || len(checked[i].Lint) > 0
	}
	show := showChecked
	if c.JSON {
		show = showCheckedJSON
	}
	if err := show(screen.Writer{Writer: out}, checked); err != nil {
		return err
	}
	switch {
	case wrong:
		return ErrRules
	case odd && c.LintFatal:
		return exit.WithCode(ErrRules, exit.Odd)
	}
	return nil
}

// showChecked writes what promtool says of each file, and a table of its rules.
func showChecked(out io.Writer, checked []rules.Checked) error {
	for _, f := range checked {
		fmt.Fprintf(out, "Checking %s\n", f.File)
		if len(f.Errors)+len(f.Lint) > 0 {
			fmt.Fprintln(out, "  FAILED:")
		} else {
			fmt.Fprintf(out, "  SUCCESS: %d rules found\n", len(f.Rules))
		}
		for _, err := range append(f.Errors, f.Lint...) {
			fmt.Fprintln(out, err)
		}
		if len(f.Rules) == 0 {
			fmt.Fprintln(out)
			continue
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "\nGROUP\tRULE\tFORM\tLOOKS BACK")
		for _, r := range f.Rules {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Group, r.Name, formText(r), lookbackText(r))
		}
		fmt.Fprintln(w)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// lookbackText is how far a rule looks back, and whether that is further than memory goes.
func lookbackText(r rules.CheckedRule) string {
	text := model.Duration(r.Lookback).String()
	if r.Lookback > rules.DefaultConfig().MaxLookback {
		text += ", from the store"
	}
	return text
}

// formText is a rule's form, with the one cluster that it is for.
func formText(r rules.CheckedRule) string {
	switch {
	case r.Form == 0:
		return "none"
	case r.Cluster != "" && r.Form == rules.PerCluster:
		return "cluster " + r.Cluster
	}
	return r.Form.String()
}

func showCheckedJSON(out io.Writer, checked []rules.Checked) error {
	type rule struct {
		Group    string  `json:"group"`
		Name     string  `json:"name"`
		Kind     string  `json:"kind"`
		Form     string  `json:"form"`
		Lookback float64 `json:"lookback_seconds"`
	}
	type file struct {
		File   string   `json:"file"`
		Rules  []rule   `json:"rules"`
		Errors []string `json:"errors,omitempty"`
		Lint   []string `json:"lint,omitempty"`
	}
	texts := func(errs []error) (list []string) {
		for _, err := range errs {
			list = append(list, err.Error())
		}
		return list
	}
	list := []file{}
	for _, f := range checked {
		one := file{File: f.File, Rules: []rule{}, Errors: texts(f.Errors), Lint: texts(f.Lint)}
		for _, r := range f.Rules {
			kind := "recording"
			if r.Alert {
				kind = "alerting"
			}
			one.Rules = append(one.Rules, rule{r.Group, r.Name, kind, formText(r),
				r.Lookback.Seconds()})
		}
		list = append(list, one)
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(list)
}

// RulesTestCmd is ringwatch rules test.
type RulesTestCmd struct {
	Files []string `arg:"" optional:"" name:"file" help:"Files of tests in promtool's format; without any, those of the rules that Ringwatch ships."`
	Only  string   `name:"run" help:"Run only the tests whose name matches this regular expression." placeholder:"REGEXP"`
}

// Help implements kong.HelpProvider.
func (*RulesTestCmd) Help() string {
	return "Runs the files of promtool test rules as they are. It needs no server. It exits with " +
		"1 if a test fails.\n\n" +
		"Example: ringwatch rules test rules/*_test.yaml\n\nExample: ringwatch rules test " +
		"--run NodeDown"
}

// Run implements the command.
func (c *RulesTestCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *RulesTestCmd) RunTo(ctx context.Context, out io.Writer) error {
	var o ruletest.Options
	if c.Only != "" {
		only, err := regexp.Compile(c.Only)
		if err != nil {
			return exit.Usage(fmt.Errorf("--run %q is not a regular expression: %w", c.Only, err))
		}
		o.Only = only.MatchString
	}
	names := c.Files
	if len(names) == 0 {
		for _, file := range rules.ShippedFiles {
			names = append(names, strings.TrimSuffix(file, ".yaml")+"_test.yaml")
		}
		o.ReadFile = rules.Shipped.ReadFile
		o.Glob = func(pattern string) ([]string, error) {
			return []string{path.Clean(pattern)}, nil
		}
	}
	failed := false
	for _, name := range names {
		r := o.Run(ctx, name)
		if err := r.Print(screen.Writer{Writer: out}); err != nil {
			return err
		}
		failed = failed || len(r.Failures) > 0
	}
	if failed {
		return ErrRules
	}
	return ctx.Err()
}

// Package ruletest runs unit tests of rule files in the format of promtool, on the packages that
// promtool is made of. A file that promtool passes passes here, and the other way round.
//
// What bites: rules are evaluated every evaluation_interval from the test's start on, so an alert
// is what the evaluation at or before eval_time left. Only firing alerts are compared, with all
// their labels and annotations.
package ruletest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Options say where files come from and which tests run. The zero value reads the file system and
// runs all.
type Options struct {
	ReadFile func(name string) ([]byte, error)      // os.ReadFile if nil
	Glob     func(pattern string) ([]string, error) // filepath.Glob if nil
	Only     func(test string) bool                 // by the test's name; all if nil
}

// Result is what came of one file. It passed if there are no Failures.
type Result struct {
	File     string
	Tests    int
	Warnings []string
	Failures []error
}

// Print writes the result as promtool does.
func (r *Result) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Unit Testing:  %s\n", r.File)
	for _, text := range r.Warnings {
		fmt.Fprintf(&b, "  WARNING: %s\n", text)
	}
	if len(r.Failures) == 0 {
		b.WriteString("  SUCCESS\n")
	} else {
		b.WriteString("  FAILED:\n")
	}
	for _, err := range r.Failures {
		fmt.Fprintf(&b, "%s\n\n", err)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Run runs the tests of one file. What is wrong with the file is among the failures.
func (o Options) Run(ctx context.Context, name string) Result {
	r := Result{File: name}
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	if o.Glob == nil {
		o.Glob = filepath.Glob
	}
	f, err := o.read(name, &r)
	if err != nil {
		r.Failures = append(r.Failures, err)
		return r
	}
	for i := range f.Tests {
		t := &f.Tests[i]
		if t.label = t.Name; t.label == "" {
			t.label = fmt.Sprintf("unnamed#%d", i)
		}
		if o.Only != nil && !o.Only(t.Name) {
			continue
		}
		r.Tests++
		r.Failures = append(r.Failures, o.runTest(ctx, f, t)...)
		if err := ctx.Err(); err != nil {
			r.Failures = append(r.Failures, err)
			break
		}
	}
	return r
}

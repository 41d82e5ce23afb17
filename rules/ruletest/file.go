package ruletest

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	// promtool reads its tests with v2, where values: 0x10 are ten zeros. goccy reads it as 16,
	// refuses fuzzy_compare: yes, and takes keys twice where one is merged.
	"go.yaml.in/yaml/v2"
)

// file is a file of unit tests. The names are promtool's.
type file struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	GroupEvalOrder     []string       `yaml:"group_eval_order"`
	FuzzyCompare       bool           `yaml:"fuzzy_compare"`
	Tests              []test         `yaml:"tests"`

	order map[string]int // of groups by name
}

// test is one test: series, and what is expected of the rules over them.
type test struct {
	Name           string            `yaml:"name"`
	Interval       model.Duration    `yaml:"interval"` // between the values of a series
	InputSeries    []inputSeries     `yaml:"input_series"`
	Exprs          []exprCase        `yaml:"promql_expr_test"`
	Alerts         []alertCase       `yaml:"alert_rule_test"`
	ExternalLabels map[string]string `yaml:"external_labels"`
	ExternalURL    string            `yaml:"external_url"`
	Start          instant           `yaml:"start_timestamp"`

	label string // its name in messages
}

type inputSeries struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type exprCase struct {
	Expr    string         `yaml:"expr"`
	At      model.Duration `yaml:"eval_time"`
	Samples []struct {
		Labels    string  `yaml:"labels"`
		Value     float64 `yaml:"value"`
		Histogram string  `yaml:"histogram"` // where it stands, Value means nothing
	} `yaml:"exp_samples"`
}

type alertCase struct {
	At     model.Duration `yaml:"eval_time"`
	Name   string         `yaml:"alertname"`
	Alerts []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

// instant is a time in RFC 3339 or in seconds since 1970.
type instant struct{ time.Time }

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *instant) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		whole, part := math.Modf(s)
		t.Time = time.Unix(int64(whole), int64(math.Round(part*1000))*1e6).UTC()
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return fmt.Errorf("start_timestamp %q is neither RFC 3339 nor seconds since 1970", text)
	}
	t.Time = at
	return nil
}

// start is when the test's first values are.
func (t *test) start() time.Time {
	if t.Start.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return t.Start.Time
}

// end is the last time for which something is expected.
func (t *test) end() time.Time {
	var last model.Duration
	for _, c := range t.Alerts {
		last = max(last, c.At)
	}
	for _, c := range t.Exprs {
		last = max(last, c.At)
	}
	return t.start().Add(time.Duration(last))
}

// load is the series in the language of promqltest.
func (t *test) load() string {
	var b strings.Builder
	fmt.Fprintf(&b, "load %s\n", t.Interval)
	for _, s := range t.InputSeries {
		fmt.Fprintf(&b, "  %s %s\n", s.Series, s.Values)
	}
	return b.String()
}

// read reads a file, fills in defaults and finds its rule files.
func (o Options) read(name string, r *Result) (*file, error) {
	text, err := o.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f := &file{EvaluationInterval: model.Duration(time.Minute), order: map[string]int{}}
	if err := yaml.UnmarshalStrict(text, f); err != nil {
		return nil, err
	}
	if f.EvaluationInterval <= 0 {
		return nil, errors.New("evaluation_interval is 0: leave it out for 1m, or write a duration")
	}
	for i, group := range f.GroupEvalOrder {
		if _, twice := f.order[group]; twice {
			return nil, fmt.Errorf("group name repeated in evaluation order: %s", group)
		}
		f.order[group] = i
	}
	var found []string
	for _, pattern := range f.RuleFiles {
		if pattern != "" && !filepath.IsAbs(pattern) {
			pattern = filepath.Join(filepath.Dir(name), pattern)
		}
		names, err := o.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("rule_files: %q: %w", pattern, err)
		}
		if len(names) == 0 {
			r.Warnings = append(r.Warnings, "no file match pattern "+pattern)
		}
		found = append(found, names...)
	}
	f.RuleFiles = found
	for i := range f.Tests {
		t := &f.Tests[i]
		if t.Interval == 0 {
			t.Interval = f.EvaluationInterval
		}
		for _, c := range t.Alerts {
			if c.Name == "" {
				return nil, fmt.Errorf("an item under alert_rule_test misses required attribute "+
					"alertname at eval_time %v (test %q)", c.At, t.Name)
			}
		}
	}
	return f, nil
}

package ruletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	promrules "github.com/prometheus/prometheus/rules"
)

// alert is a firing alert, got or expected.
type alert struct{ labels, annotations labels.Labels }

func compareAlerts(a, b alert) int {
	return cmp.Or(labels.Compare(a.labels, b.labels), labels.Compare(a.annotations, b.annotations))
}

// checkAlerts compares the alerts that fire now with those expected.
func (r *running) checkAlerts(c *alertCase) error {
	var got, want []alert
	for _, g := range r.groups {
		for _, rule := range g.Rules() {
			a, ok := rule.(*promrules.AlertingRule)
			if !ok || a.Name() != c.Name {
				continue
			}
			for _, active := range a.ActiveAlerts() {
				if active.State == promrules.StateFiring {
					got = append(got, alert{active.Labels.Copy(), active.Annotations.Copy()})
				}
			}
		}
	}
	for _, e := range c.Alerts {
		l := labels.NewBuilder(labels.FromMap(e.Labels)).Set(labels.AlertName, c.Name).Labels()
		want = append(want, alert{l, labels.FromMap(e.Annotations)})
	}
	missing, extra := difference(want, got, compareAlerts,
		func(a, b alert) bool { return compareAlerts(a, b) == 0 })
	if len(missing)+len(extra) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "    name: %s,\n    alertname: %s, time: %s,", r.label, c.Name, c.At)
	for _, m := range missing {
		if i := slices.IndexFunc(extra, func(e alert) bool {
			return labels.Equal(e.labels, m.labels)
		}); i >= 0 {
			fmt.Fprintf(&b, "\n        differs: %s", m.labels)
			writeDifference(&b, m.annotations, extra[i].annotations)
			extra = slices.Delete(extra, i, i+1)
			continue
		}
		fmt.Fprintf(&b, "\n        missing: %s\n                 %s", m.labels, m.annotations)
	}
	for _, e := range extra {
		fmt.Fprintf(&b, "\n        unexpected: %s\n                    %s", e.labels, e.annotations)
	}
	return errors.New(b.String())
}

// writeDifference writes the labels in which two sets differ.
func writeDifference(b *strings.Builder, want, got labels.Labels) {
	names := map[string]bool{}
	for _, set := range []labels.Labels{want, got} {
		set.Range(func(l labels.Label) {
			if names[l.Name] || want.Get(l.Name) == got.Get(l.Name) {
				return
			}
			names[l.Name] = true
			fmt.Fprintf(b, "\n            %s\n                exp: %q\n                got: %q",
				l.Name, want.Get(l.Name), got.Get(l.Name))
		})
	}
}

// sample is an element of an expression's result, got or expected.
type sample struct {
	labels    labels.Labels
	value     float64
	histogram string // in the language of promqltest
}

func (s sample) String() string {
	if s.histogram != "" {
		return s.labels.String() + " " + s.histogram
	}
	return s.labels.String() + " " + strconv.FormatFloat(s.value, 'g', -1, 64)
}

// checkExpr evaluates an expression and compares its result.
func (r *running) checkExpr(ctx context.Context, c *exprCase) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("    name: %s,\n    expr: %q, time: %s,"+format,
			append([]any{r.label, c.Expr, c.At.String()}, args...)...)
	}
	got, err := r.ask(ctx, c.Expr, r.start().Add(time.Duration(c.At)))
	if err != nil {
		return fail(" err: %w", err)
	}
	var want []sample
	for _, s := range c.Samples {
		l, err := r.parser.ParseMetric(s.Labels)
		if err != nil {
			return fail(" err: labels %q: %w", s.Labels, err)
		}
		e := sample{labels: l, value: s.Value}
		if s.Histogram != "" {
			h, err := r.histogram(s.Histogram)
			if err != nil {
				return fail(" err: histogram %q: %w", s.Histogram, err)
			}
			e.value, e.histogram = 0, promqltest.HistogramTestExpression(h)
		}
		want = append(want, e)
	}
	byLabels := func(a, b sample) int { return labels.Compare(a.labels, b.labels) }
	missing, extra := difference(want, got, byLabels, r.equal)
	if len(missing)+len(extra) == 0 {
		return nil
	}
	return fail("\n        exp: %s\n        got: %s", list(missing), list(extra))
}

// list joins samples for a message: only those that differ are in it.
func list(samples []sample) string {
	if len(samples) == 0 {
		return "nil"
	}
	texts := make([]string, len(samples))
	for i, s := range samples {
		texts[i] = s.String()
	}
	return strings.Join(texts, ", ")
}

// equal compares as promtool does: exactly, or with fuzzy_compare to the last bit but one.
func (r *running) equal(a, b sample) bool {
	if !labels.Equal(a.labels, b.labels) || a.histogram != b.histogram {
		return false
	}
	x, y := a.value, b.value
	return x == y || r.file.FuzzyCompare &&
		(math.Nextafter(x, math.Inf(-1)) == y || math.Nextafter(x, math.Inf(1)) == y)
}

// histogram reads one histogram in the language of promqltest.
func (r *running) histogram(text string) (*histogram.FloatHistogram, error) {
	_, values, err := r.parser.ParseSeriesDesc("{} " + text)
	switch {
	case err != nil:
		return nil, err
	case len(values) != 1:
		return nil, fmt.Errorf("the test has %d values, want one", len(values))
	case values[0].Histogram == nil:
		return nil, errors.New("the test has a number, want a histogram")
	}
	return values[0].Histogram, nil
}

// ask evaluates an expression at an instant.
func (r *running) ask(ctx context.Context, expr string, at time.Time) ([]sample, error) {
	q, err := r.engine.NewInstantQuery(ctx, r.suite.Queryable(), nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result := q.Exec(ctx)
	if result.Err != nil {
		return nil, result.Err
	}
	switch v := result.Value.(type) {
	case promql.Scalar:
		return []sample{{value: v.V}}, nil
	case promql.Vector:
		list := make([]sample, len(v))
		for i, e := range v {
			list[i] = sample{e.Metric.Copy(), e.F, promqltest.HistogramTestExpression(e.H)}
		}
		return list, nil
	}
	return nil, errors.New("rule result is not a vector or scalar")
}

// difference sorts both lists and returns what is only in one of them.
func difference[T any](
	want, got []T, order func(a, b T) int, equal func(a, b T) bool,
) (missing, extra []T) {
	slices.SortStableFunc(want, order)
	slices.SortStableFunc(got, order)
	for len(want) > 0 || len(got) > 0 {
		switch {
		case len(got) == 0 || len(want) > 0 && order(want[0], got[0]) < 0:
			missing, want = append(missing, want[0]), want[1:]
		case len(want) == 0 || order(want[0], got[0]) > 0:
			extra, got = append(extra, got[0]), got[1:]
		case equal(want[0], got[0]):
			want, got = want[1:], got[1:]
		default:
			missing, extra = append(missing, want[0]), append(extra, got[0])
			want, got = want[1:], got[1:]
		}
	}
	return missing, extra
}

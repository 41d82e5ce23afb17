package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/rules"
)

// maySelectNothing are series that a healthy node or process need not have, with the reason.
var maySelectNothing = map[string]string{
	`ringwatch_node_info{kind=~"kafka|redis|other"}`: "nodes of other software are taken away, " +
		"and there is none here",
	`strategy="NetworkTopologyStrategy"`: "the line's keyspaces have the other strategy; make " +
		"drills has such a keyspace",
	"cassandra_peer_down":                                  "no node takes another for down",
	"cassandra_hints_peer_not_stored_total":                "no node was away for too long",
	"node:cassandra_hints_given_up_timestamp_seconds:max":  "neither has anybody recorded that",
	"cassandra_repair_last_full_success_timestamp_seconds": "nothing was repaired",
	"cassandra_node_native_connections_max":                "connections have no bound by default",
	"ringwatch_agent_trouble_info": "it is there while the agent has trouble, and has a " +
		"sentence then",
}

// shippedExprs returns the shipped expressions by group and rule, and the recorded ones by name.
func shippedExprs(t *testing.T) (byGroup map[string]map[string]string, recorded map[string]string) {
	t.Helper()
	byGroup, recorded = map[string]map[string]string{}, map[string]string{}
	for _, file := range rules.ShippedFiles {
		text, err := rules.Shipped.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		groups, errs := rulefmt.Parse(text, false, model.UTF8Validation,
			parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, g := range groups.Groups {
			byGroup[g.Name] = map[string]string{}
			for _, r := range g.Rules {
				byGroup[g.Name][r.Record+r.Alert+" "+r.Labels["severity"]] = r.Expr
				if r.Record != "" {
					recorded[r.Record] = r.Expr
				}
			}
		}
	}
	return byGroup, recorded
}

// Bare takes comparisons off an expression, so that it has a value whatever that is, and writes
// recorded series out, but for one that looks at its own past. What an and or unless takes away is
// returned beside it.
func bare(t *testing.T, expr parser.Expr, recorded map[string]string) (text parser.Expr,
	also []parser.Expr) {
	in := func(e parser.Expr) parser.Expr {
		e, more := bare(t, e, recorded)
		also = append(also, more...)
		return e
	}
	switch e := expr.(type) {
	case *parser.ParenExpr:
		e.Expr = in(e.Expr)
	case *parser.AggregateExpr:
		e.Expr = in(e.Expr)
	case *parser.Call:
		for i, arg := range e.Args {
			if arg.Type() == parser.ValueTypeVector {
				e.Args[i] = in(arg)
			}
		}
	case *parser.VectorSelector:
		if of := recorded[e.Name]; of != "" && !strings.Contains(of, e.Name) {
			inner, err := parser.NewParser(parser.Options{}).ParseExpr(of)
			if err != nil {
				t.Fatal(err)
			}
			return &parser.ParenExpr{Expr: in(inner)}, also
		}
	case *parser.BinaryExpr:
		e.LHS = in(e.LHS)
		if e.Op == parser.LAND || e.Op == parser.LUNLESS || e.Op.IsComparisonOperator() {
			if e.RHS.Type() == parser.ValueTypeVector {
				also = append(also, in(e.RHS))
			}
			return e.LHS, also
		}
		e.RHS = in(e.RHS)
	}
	return expr, also
}

// testShippedRules asks each shipped expression, without its comparison, of the live node; and
// looks for each series of the processes' own rules on /metrics.
func (w *whole) testShippedRules(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	busy := make(chan error, 1)
	go func() { busy <- w.keepBusy(ctx) }()
	defer func() {
		cancel()
		if err := <-busy; err != nil {
			t.Error(err)
		}
	}()
	byGroup, recorded := shippedExprs(t)
	waiting, ofProcesses := map[string]string{}, map[string]string{}
	for group, list := range byGroup {
		if software, _, _ := strings.Cut(group, "-"); software != "cassandra" &&
			software != "ringwatch" {
			continue // of what is read from outside, and nothing is here
		}
		for name, text := range list {
			if !strings.HasPrefix(group, "cassandra") && group != "ringwatch-agents" {
				ofProcesses[name] = text
				continue
			}
			if strings.HasPrefix(name, "volume:") {
				// PromQL does not see the label volume: testRelabel asks for what is recorded
				continue
			}
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
			if err != nil {
				t.Fatal(err)
			}
			first, also := bare(t, expr, recorded)
			for i, e := range append([]parser.Expr{first}, also...) {
				waiting[fmt.Sprintf("%s, part %d", name, i)] = e.String()
			}
		}
	}
	asked := len(waiting)
	empty := map[string]bool{}
	eventually(t, "the shipped rules", func(ctx context.Context) error {
		for _, name := range slices.Sorted(maps.Keys(waiting)) {
			shows, err := w.shows(ctx, "/api/v1/query?query="+url.QueryEscape(waiting[name]))
			if err != nil {
				return fmt.Errorf("%s: %s: %w", name, waiting[name], err)
			}
			if shows {
				delete(waiting, name)
			}
		}
		for name, text := range waiting {
			selects := slices.Collect(maps.Keys(maySelectNothing))
			if slices.ContainsFunc(selects, func(s string) bool {
				return strings.Contains(text, s)
			}) {
				empty[name] = true
				continue
			}
			return fmt.Errorf("%d expressions have no value: %q", len(waiting), waiting)
		}
		return nil
	})
	t.Logf("%d expressions of agents' series, %d of which have no value, as they may: %v", asked,
		len(waiting), slices.Sorted(maps.Keys(empty)))
	w.testProcessRules(t, ofProcesses)
}

// testProcessRules looks for the series of the rules about processes. A label that a rule names
// must be there too.
func (w *whole) testProcessRules(t *testing.T, list map[string]string) {
	resp, err := http.Get(w.API + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	read := expfmt.NewTextParser(model.UTF8Validation)
	families, err := read.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, text := range list {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
			s, ok := n.(*parser.VectorSelector)
			if !ok || s.Name == "up" || strings.Contains(s.Name, "ringwatch_process_up") {
				return nil // it is in the stream only: testSelf asks for it
			}
			family := families[strings.TrimSuffix(strings.TrimSuffix(s.Name, "_bucket"), "_count")]
			if family == nil || len(family.Metric) == 0 {
				t.Errorf("%s: /metrics has no %s", name, s.Name)
				return nil
			}
			seen++
			labels := map[string]bool{"__name__": true, "le": true}
			for _, m := range family.Metric {
				for _, l := range m.Label {
					labels[l.GetName()] = true
				}
			}
			for _, m := range s.LabelMatchers {
				if !labels[m.Name] {
					t.Errorf("%s: %s has no label %s", name, s.Name, m.Name)
				}
			}
			for _, parent := range path {
				if a, ok := parent.(*parser.AggregateExpr); ok {
					for _, l := range a.Grouping {
						if !labels[l] {
							t.Errorf("%s: %s has no label %s to aggregate", name, s.Name, l)
						}
					}
				}
			}
			return nil
		})
	}
	t.Logf("%d rules about processes find %d series", len(list), seen)
}

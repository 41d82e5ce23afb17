package catalog_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/catalog"
)

func mustShipped(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestShipped(t *testing.T) {
	c := mustShipped(t)
	n := map[catalog.Of]int{}
	for _, e := range c.All() {
		n[e.Of]++
		if !strings.HasSuffix(e.Description, ".") {
			t.Errorf("%s: the description is no sentence: %q", e.Name, e.Description)
		}
		for i := range e.Values {
			v := &e.Values[i]
			for _, scope := range []catalog.Scope{{}, {Node: "7"},
				{Cluster: `a"b\`, Datacenter: "d"}, {Keyspace: "k", Table: "t"}} {
				for _, keep := range [][]string{{"cluster"}, {"cluster", "datacenter"},
					catalog.NodeLabels} {
					expr := v.Expr(scope, catalog.Labels(e.Of, keep...), 5*time.Minute)
					if _, err := parser.NewParser(parser.Options{}).ParseExpr(expr); err != nil {
						t.Errorf("%s %s: %v: %s", e.Name, v.Type, err, expr)
					}
				}
			}
		}
	}
	if total := len(c.All()); total < 60 || n[catalog.Keyspace] == 0 || n[catalog.Table] == 0 {
		t.Errorf("there are %v entries", n)
	}
	t.Logf("%v entries", n)
	for _, name := range []string{"n::reads", "n::writes", "n::compactions", "n::cpuUtilization",
		"n::diskUtilization",
		"k::underReplicatedPartitions", "k::underreplicatedpartitions", "k::activeControllerCount",
		"k::offlinePartitions", "k::leaderCount", "r::clusterUnassignedSlotsCount",
		"r::clusterSlotsNotOkCount", "n::osLoad", "n::clientRequestRead", "n::clientRequestWrite",
		"n::cpuutilization",
		"cf::shop::orders::reads"} {
		if _, err := c.Lookup(name); err != nil {
			t.Error(err)
		}
	}
}

// TestMetricsAreTheAgents: every name is one that agents or the role watch send or that package
// query makes.
func TestMetricsAreTheAgents(t *testing.T) {
	known := map[string]bool{"up": true, "ringwatch_node_last_seen_timestamp_seconds": true,
		"cassandra_hints_succeeded_total": true, "cassandra_hints_failed_total": true,
		"cassandra_hints_timed_out_total": true}
	text, err := os.ReadFile("../../agent/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|").FindAllStringSubmatch(
		string(text), -1) {
		known[m[1]] = true
	}
	for _, file := range []string{"kafka.txt", "redis.txt"} {
		text, err := os.ReadFile("../../dictionary/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?m)^([a-z0-9_]+) [a-z_]+ ").FindAllStringSubmatch(
			string(text), -1) {
			known[m[1]] = true
		}
	}
	for _, e := range mustShipped(t).All() {
		for i := range e.Values {
			expr := e.Values[i].Expr(catalog.Scope{}, catalog.NodeLabels, time.Minute)
			tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
			if err != nil {
				t.Fatal(err)
			}
			parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
				if s, is := n.(*parser.VectorSelector); is && !known[s.Name] {
					t.Errorf("%s: agent/METRICS.md and dictionary have no %s", e.Name, s.Name)
				}
				return nil
			})
		}
	}
}

func TestLookup(t *testing.T) {
	c := mustShipped(t)
	a, err := c.Lookup("cf::shop::Orders::READLATENCY::99thpercentile")
	if err != nil || a.Keyspace != "shop" || a.Table != "Orders" || len(a.Picked) != 1 ||
		a.Picked[0].Type != "99thPercentile" {
		t.Errorf("%+v %v", a, err)
	}
	if a, err = c.Lookup("ks::*::reads"); err != nil || a.Keyspace != "" ||
		a.Of != catalog.Keyspace {
		t.Errorf("%+v %v", a, err)
	}
	if a, err = c.Lookup("n::osload"); err != nil || len(a.Picked) != 3 {
		t.Errorf("%+v %v", a, err)
	}
	if a, err = c.Lookup("n::cassandraReads"); err != nil || a.Name != "n::reads" {
		t.Errorf("%+v %v", a, err)
	}
	for name, near := range map[string]string{
		"n::cpuUtilisation":                    "n::cpuUtilization",
		"n::read":                              "n::reads",
		"n::clientRequestReed":                 "n::clientRequestRead",
		"n::clientRequestRead::75thPercentile": "n::clientRequestRead::95thPercentile",
		"cf::shop::reads":                      "cf::{keyspace}::{table}::reads",
		"n::readLatency":                       "cf::{keyspace}::{table}::readLatency",
		"n::zzzzzz":                            "",
		"n::underReplicatedPartitions":         "k::underReplicatedPartitions",
		"k::usedMemory":                        "r::usedMemory",
		"q::usedMemory":                        "r::usedMemory",
		"n::":                                  "",
		"cf::::t::reads":                       "cf::{keyspace}::{table}::reads",
		"n::" + strings.Repeat("x", 1<<16):     "",
	} {
		_, err := c.Lookup(name)
		unknown, is := errors.AsType[*catalog.UnknownError](err)
		if !is {
			t.Errorf("%.40s: %v", name, err)
			continue
		}
		if near != "" && !slices.Contains(unknown.Near, near) {
			t.Errorf("%s is like %q, not %s", name, unknown.Near, near)
		}
		if near == "" && len(err.Error()) > 400 {
			t.Errorf("%.400s", err)
		}
	}
}

const own = `
groups:
  - name: shop
    title: The shop
    entries:
      - name: n::orders
        description: Orders.
        type: count
        unit: per_second
        promql: sum by ($by) (rate(shop_orders_total{$scope}[$range]))
        healthy: {min: 1}
`

func TestOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	mine, err := catalog.LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	shipped := mustShipped(t)
	joined, err := shipped.With(mine, path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := joined.Lookup("n::orders")
	if err != nil || !a.Own || a.Values[0].Healthy.Holds(0) ||
		!a.Values[0].Healthy.Holds(math.NaN()) ||
		!a.Values[0].Healthy.Holds(1) {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := shipped.Lookup("n::orders"); err == nil {
		t.Error("the shipped catalogue has the account's entry")
	}
}

// TestWrong: each mistake is said with the file, the entry and the remedy.
func TestWrong(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(own, old, new, 1) }
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key": {replace("unit:", "units:"), "own.yaml: [9:9] unknown field"},
		"no YAML":        {"groups: [", "own.yaml: "},
		"a name of no form": {replace("n::orders", "orders"), "entry orders: the name must " +
			"have the form n::NAME"},
		"no description": {replace("Orders.", ""), "entry n::orders: the description is " +
			"missing"},
		"an unknown unit": {replace("per_second", "parsecs"),
			`type "count": unknown unit "parsecs": use one of count,`},
		"no PromQL": {replace("rate(", "rate(("), "entry n::orders: type \"count\": " +
			"promql: "},
		"no scope": {replace("$scope", `cluster="other"`),
			"has no $scope"},
		"no labels": {replace("sum by ($by)", "sum"), "promql has no by ($by)"},
		"a scalar": {replace("sum by ($by) (rate(shop_orders_total{$scope}[$range]))",
			"scalar(sum by ($by) (x{$scope}))"), "promql: it is a scalar"},
		"an empty range":       {replace("{min: 1}", "{}"), "healthy has neither min nor max"},
		"a range turned round": {replace("{min: 1}", "{min: 2, max: 1}"), "min 2 is above max 1"},
		"an infinite range": {replace("{min: 1}", "{max: .inf}"),
			"healthy: +Inf is not a number"},
		"a percentage of 120": {replace("{min: 1}", "{max: 120}\n        # ") + "      - {name: " +
			"n::p, description: P., type: a, unit: percent, promql: 'sum by ($by) (a{$scope})', " +
			"healthy: {max: 120}}\n", "percentages lie between 0 and 100"},
		"two shapes": {replace("        type", "        values: [{type: a, unit: "+
			"count, promql: 'sum by ($by) (a{$scope})'}]\n        type"), "values: stands beside"},
		"too large": {own + "#" + strings.Repeat("x", 256<<10), "bytes, and 262144 " +
			"are allowed"},
	} {
		_, err := catalog.Load("own.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "own.yaml") {
			t.Errorf("%s: %v", name, err)
		}
	}
	mine, err := catalog.Load("own.yaml", []byte(replace("n::orders", "n::READS")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mustShipped(t).With(mine, "own.yaml"); err == nil ||
		err.Error() != "own.yaml: entry n::READS: the name n::READS is entry n::reads's already: "+
			"choose another" {
		t.Error(err)
	}
}

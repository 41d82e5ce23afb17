package rules_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/rules"
)

// clusterData returns series of one cluster in the language of promqltest. Values are integers, so
// that sums do not depend on their order.
func clusterData(cluster string, first int) string {
	var b strings.Builder
	for i, node := range []string{"1", "2", "3"} {
		of := fmt.Sprintf(`cluster="%s", datacenter="dc%d", node="%s%s"`, cluster, i%2,
			cluster, node)
		fmt.Fprintf(&b, "  a{%s} %d+%dx20\n", of, first+i, i)
		fmt.Fprintf(&b, "  b_total{%s, table=\"x\"} 0+%dx20\n", of, 60*first*(i+1))
		fmt.Fprintf(&b, "  b_total{%s, table=\"y\"} 0+%dx20\n", of, 60*(first+i))
		fmt.Fprintf(&b,
			"  h{%s} {{schema:-53 sum:0 count:0 custom_values:[1 2 4] buckets:[0 0 0]}}+"+
				"{{schema:-53 sum:9 count:6 custom_values:[1 2 4] buckets:[1 2 3]}}x20\n", of)
	}
	if cluster == "east" { // what only one cluster has
		fmt.Fprintf(&b, "  c{cluster=\"east\", node=\"east1\"} 3x20\n")
	}
	return b.String()
}

// expressions draws PromQL text. Much of it mixes clusters, and some does not parse.
func expressions() *rapid.Generator[string] {
	pick := func(of ...string) *rapid.Generator[string] { return rapid.SampledFrom(of) }
	pin := pick("", "", "", `{cluster="east"}`, `{cluster="west"}`, `{datacenter="dc1"}`)
	group := pick("by (cluster)", "by (cluster, node)", "by (cluster, datacenter)",
		"without (node)",
		"without (node, table)", "by (node)", "", "without (cluster)", "by (datacenter)")
	match := pick("", "", "on (cluster, node)", "on (cluster)", "ignoring (table)", "on (node)",
		"on ()",
		"ignoring (cluster)", "on (cluster) group_left ()", "on (cluster, node) group_left ()",
		"ignoring (table) group_left ()", "on () group_left ()", "on (cluster) group_right ()")
	var vector func(depth int) *rapid.Generator[string]
	vector = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			of := 0
			if depth > 0 {
				of = rapid.IntRange(0, 11).Draw(t, "kind")
			}
			inner := func() string { return vector(depth-1).Draw(t, "inner") }
			p := pin.Draw(t, "pin")
			switch of {
			case 1, 2:
				return fmt.Sprintf("%s %s (%s)", pick("sum", "count", "max", "avg", "group").Draw(t,
					"op"),
					group.Draw(t, "group"), inner())
			case 3:
				// Of equal values topk takes any, and so does limitk.
				return fmt.Sprintf("%s %s (2, a%s)", pick("topk", "bottomk").Draw(t, "op"),
					group.Draw(t, "group"), p)
			case 4:
				label := pick("value", "cluster").Draw(t, "label")
				return fmt.Sprintf(`count_values %s ("%s", %s)`, group.Draw(t, "group"),
					label, inner())
			case 5, 6:
				op := pick("+", "-", "*", ">", "== bool", ">= bool").Draw(t, "op")
				return fmt.Sprintf("(%s) %s %s (%s)", inner(), op, match.Draw(t, "match"), inner())
			case 7:
				op := pick("and", "or", "unless").Draw(t, "op")
				on := strings.TrimSuffix(match.Draw(t, "match"), " group_left ()")
				return fmt.Sprintf("(%s) %s %s (%s)", inner(), op, on, inner())
			case 8:
				label := pick("x", "cluster", "node").Draw(t, "label")
				return fmt.Sprintf(`label_replace(%s, "%s", "$1", "%s", "(.*)")`, inner(), label,
					pick("node", "datacenter").Draw(t, "from"))
			case 9:
				return fmt.Sprintf("%s(%s)", pick("absent", "abs", "-", "vector(1) + ",
					"sort").Draw(t, "f"),
					inner())
			case 10:
				return fmt.Sprintf("(%s) %s %s", inner(), pick("+", ">", "* on () group_left ()",
					"and on ()", "unless on ()", "or").Draw(t, "op"),
					pick("3", "time()", "vector(2)", "hour() > 30",
						"scalar(c)", `scalar(c{cluster="east"})`, "scalar(vector(4))").Draw(t,
						"number"))
			case 11:
				return fmt.Sprintf("%s((%s)[3m:1m])",
					pick("max_over_time", "sum_over_time", "absent_over_time").
						Draw(t, "f"), inner())
			}
			return pick("a"+p, "b_total"+p, "c"+p, "rate(b_total"+p+"[5m])",
				"histogram_count(h"+p+")",
				"sum_over_time(a"+p+"[3m] offset 1m)", "vector(7)").Draw(t, "leaf")
		})
	}
	return vector(3)
}

var noContext = context.Background()

// evaluate returns the values by label set.
func evaluate(engine *promql.Engine, s storage.Queryable, expr string) (map[string]float64, error) {
	q, err := engine.NewInstantQuery(noContext, s, nil, expr, time.Unix(600, 0))
	if err != nil {
		return nil, err
	}
	defer q.Close()
	v, err := q.Exec(noContext).Vector()
	got := map[string]float64{}
	for _, e := range v {
		got[e.Metric.String()] = e.F
	}
	return got, err
}

// TestPerClusterEqualsAll evaluates drawn expressions over each of two clusters and over both. What
// FormOf calls PerCluster has the same elements.
func TestPerClusterEqualsAll(t *testing.T) {
	east, west := clusterData("east", 3), clusterData("west", 5)
	both := promqltest.LoadedStorage(t, "load 1m\n"+east+west)
	each := map[string]storage.Queryable{
		"east": promqltest.LoadedStorage(t, "load 1m\n"+east),
		"west": promqltest.LoadedStorage(t, "load 1m\n"+west),
	}
	engine := promqltest.NewTestEngine(t, false, 0, 100_000)
	parse := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	compared, full, refused := 0, 0, 0
	check := func(t *rapid.T, text string) {
		expr, err := parse.ParseExpr(text)
		if err != nil {
			return // many drawn texts are none
		}
		form, err := rules.FormOf(expr, nil)
		if err != nil {
			if !errors.Is(err, rules.ErrMixesClusters) {
				t.Fatalf("%s: %v", text, err)
			}
			refused++
			return
		}
		if form != rules.PerCluster {
			return
		}
		want, err := evaluate(engine, both, text)
		if err != nil {
			return // the cluster with the cause of it fails as well
		}
		got := map[string]float64{}
		for cluster, s := range each {
			if pin := rules.PinnedTo(expr); pin != "" && pin != cluster {
				continue
			}
			part, err := evaluate(engine, s, text)
			if err != nil {
				t.Fatalf("%s: cluster %s fails alone: %v", text, cluster, err)
			}
			for l := range part {
				if _, twice := got[l]; twice {
					t.Fatalf("%s: %s comes from two clusters", text, l)
				}
			}
			maps.Copy(got, part)
		}
		same := func(x, y float64) bool {
			return math.Abs(x-y) <= 1e-9*math.Abs(x) || x == y || x != x && y != y
		}
		if !maps.EqualFunc(got, want, same) {
			t.Fatalf("%s\nby cluster %v\nover all   %v", text, got, want)
		}
		compared++
		if len(got) > 0 {
			full++
		}
	}
	draw := rapid.SliceOfN(expressions(), 100, 100) // rapid's 100 checks alone are too few
	rapid.Check(t, func(t *rapid.T) {
		for _, text := range draw.Draw(t, "expressions") {
			check(t, text)
		}
	})
	t.Logf("%d compared, %d of them with a result, %d refused", compared, full, refused)
	if full == 0 || refused == 0 {
		t.Error("the generator misses one side")
	}
}

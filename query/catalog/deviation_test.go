package catalog_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// deviations evaluates a rule of the shipped catalogue on samples.
func deviations(
	t *testing.T,
	load, entry string,
	at time.Duration,
	label string,
) map[string]float64 {
	t.Helper()
	groups, err := mustShipped(t).Deviations()
	if err != nil {
		t.Fatal(err)
	}
	store := promqltest.LoadedStorage(t, load)
	defer store.Close()
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000)
	for _, r := range slices.Concat(groups[0].Rules, groups[1].Rules) {
		if r.Labels["entry"] != entry {
			continue
		}
		q, err := engine.NewInstantQuery(t.Context(), store, nil, r.Expr, time.Unix(0, 0).Add(at))
		if err != nil {
			t.Fatal(err)
		}
		v, err := q.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatalf("%v: %s", err, r.Expr)
		}
		list := map[string]float64{}
		for _, s := range v {
			list[s.Metric.Get(label)] = s.F
		}
		return list
	}
	t.Fatalf("no rule is of %s", entry)
	return nil
}

func TestNodesAgainstPeers(t *testing.T) {
	// loaded are nodes with their values, those of the second datacenter in capitals.
	loaded := func(values map[string]string) string {
		text := "load 1m\n"
		for node, v := range values {
			dc := "one"
			if node < "a" {
				dc = "two"
			}
			text += fmt.Sprintf("  cassandra_compaction_pending_tasks{cluster=\"c\",datacenter=%q,"+
				"rack=\"r\",node=%q} %sx10\n", dc, node, v)
		}
		return text
	}
	of := func(values map[string]string) map[string]float64 {
		t.Helper()
		return deviations(t, loaded(values), "n::compactions", 5*time.Minute, "node")
	}
	got := of(map[string]string{"a": "10", "b": "12", "c": "11", "d": "9", "e": "60", "F": "1",
		"G": "500"})
	// The median is 11, the distances from it are 1, 1, 0, 2 and 49, and their median is 1.
	if len(got) != 5 || math.Abs(got["e"]-49/1.4826) > 0.01 || math.Abs(got["a"]+1/1.4826) > 0.01 {
		t.Errorf("%v: the datacenter of two nodes has none", got)
	}
	// Where all are the same a tenth of the median is the spread.
	got = of(map[string]string{"a": "100", "b": "100", "c": "100", "d": "105"})
	if math.Abs(got["d"]-0.5) > 0.01 || got["a"] != 0 {
		t.Errorf("%v", got)
	}
	// Of nothing but zeros nothing can be said.
	if got = of(map[string]string{"a": "0", "b": "0", "c": "0", "d": "5"}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestTablesAgainstTheirPast(t *testing.T) {
	const week = 7 * 24 * time.Hour
	of := func(table, values string) string {
		return `  cassandra_table_live_sstables{cluster="c",datacenter="d",rack="r",node="n",keyspace="k",table="` + table + `"} ` + values + "\n"
	}
	// A sample an hour: four weeks of 10, then what is now. All series begin at 0, before the four
	// weeks: the storage takes them in any order, and refuses what is much older than its first.
	got := deviations(
		t,
		"load 1h\n"+of(
			"same",
			"10x700",
		)+of(
			"grown",
			"10x671 40x20",
		)+of(
			"young",
			"7 _x599 7x100",
		), /* three days old */
		"cf::{keyspace}::{table}::sstables",
		4*week+2*time.Hour,
		"table",
	)
	if len(got) != 2 || got["same"] != 0 || math.Abs(got["grown"]-30) > 0.01 {
		t.Errorf("%v", got)
	}
	if got := deviations(t, "load 1h\n"+of("new", "_x673 7x100"),
		"cf::{keyspace}::{table}::sstables",
		4*week+2*time.Hour, "table"); len(
		got,
	) != 0 {
		t.Errorf("a table without a past: %v", got)
	}
}

// TestDeviations: each rule parses, and its name is one that Prometheus takes.
func TestDeviations(t *testing.T) {
	groups, err := mustShipped(t).Deviations()
	if err != nil {
		t.Fatal(err)
	}
	list := slices.Concat(groups[0].Rules, groups[1].Rules)
	for i, r := range list {
		if strings.HasPrefix(r.Record, "table:") != (i >= len(groups[0].Rules)) {
			t.Errorf("%s is in the wrong group", r.Record)
		}
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr); err != nil {
			t.Errorf("%s: %v: %s", r.Record, err, r.Expr)
		}
		if !strings.HasPrefix(r.Record, "node:") && !strings.HasPrefix(r.Record, "table:") ||
			!strings.HasSuffix(r.Record, ":deviation") || strings.Count(r.Record, ":") != 2 {
			t.Errorf("%s", r.Record)
		}
	}
	if len(list) < 40 {
		t.Errorf("%d rules", len(list))
	}
	t.Logf("%d rules, for instance %s", len(list), list[0].Expr)
}

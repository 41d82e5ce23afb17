package activity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/api/activity"
)

// fleet answers as PromQL does of a fleet whose nodes all say the same.
type fleet struct {
	*testing.T
	nodes int
	asked []string
	// fails is a part of the expressions that cannot be answered.
	fails string
	// of a node, by the name of a metric
	series map[string][]activity.Series
}

func (f *fleet) question() activity.Question {
	return activity.Question{At: time.Unix(1000, 0), Query: f.query,
		Called: func(id string) string { return "name-" + id }}
}

var (
	metricNames = regexp.MustCompile(`cassandra_[a-z_]+`)
	nodeMatcher = regexp.MustCompile(`node=~"([^"]*)"`)
)

func (f *fleet) query(_ context.Context, promql string) (list []activity.Series, lacks []string,
	err error) {
	f.asked = append(f.asked, promql)
	if f.fails != "" && strings.Contains(promql, f.fails) {
		return nil, []string{"a reason"}, errors.New("too much")
	}
	only := map[string]bool{}
	if m := nodeMatcher.FindStringSubmatch(promql); m != nil {
		for id := range strings.SplitSeq(m[1], "|") {
			only[id] = true
		}
	}
	for n := range f.nodes {
		id := fmt.Sprintf("%05d", n)
		if len(only) > 0 && !only[id] {
			continue
		}
		count := 0
		for _, name := range metricNames.FindAllString(promql, -1) {
			for _, s := range f.series[name] {
				labels := map[string]string{"__name__": name, "cluster": "c", "node": id}
				for k, v := range s.Labels {
					labels[k] = v
				}
				count++
				list = append(list, activity.Series{Labels: labels, Value: s.Value})
			}
		}
		if strings.HasPrefix(promql, "count by (cluster, node)") {
			list = append(list[:len(list)-count], activity.Series{Labels: map[string]string{
				"cluster": "c", "node": id}, Value: float64(count)})
		}
	}
	return list, nil, nil
}

// manyTasks are so many tasks of a node.
func manyTasks(n int) map[string][]activity.Series {
	of := map[string][]activity.Series{}
	for i := range n {
		labels := map[string]string{"task": "compaction", "slot": strconv.Itoa(i)}
		for name, v := range map[string]float64{"done_bytes": 5, "size_bytes": math.NaN(),
			"done_ratio": math.Inf(1), "started_timestamp_seconds": 1e300,
			"remaining_seconds": 1e300} {
			of["cassandra_task_"+name] = append(of["cassandra_task_"+name],
				activity.Series{Labels: labels, Value: v})
		}
	}
	return of
}

// TestTasksAreBounded: a fleet of 10,000 nodes with 64 tasks each gets an answer that says how many
// it leaves out, as does one whose nodes have more than an agent tells of.
func TestTasksAreBounded(t *testing.T) {
	for _, c := range []struct{ nodes, tasks, queries, there int }{
		{0, 0, 1, 0}, {3, 0, 1, 0}, {3, 64, 3, 192}, {78, 64, 3, 4992}, {79, 64, 3, 4992},
		{10_000, 64, 3, 4992}, {10_000, 1, 3, 150}, {3, 6000, 3, 0}, {1, 5000, 3, 5000},
	} {
		f := &fleet{T: t, nodes: c.nodes, series: manyTasks(c.tasks)}
		list, err := activity.Tasks(t.Context(), f.question())
		if err != nil {
			t.Fatal(err)
		}
		if len(f.asked) != c.queries || len(list.Tasks) != c.there ||
			list.LeftOut != c.nodes*c.tasks-c.there {
			t.Errorf("%+v: %d queries, %d tasks, %d left out", c, len(f.asked), len(list.Tasks),
				list.LeftOut)
		}
		for _, q := range f.asked {
			if len(q) > 7000 { // api.selectors allows 8 KiB
				t.Errorf("%+v: an expression of %d bytes", c, len(q))
			}
		}
		text, err := json.Marshal(list)
		if err != nil || len(text) > 2<<20 {
			t.Errorf("%+v: %d bytes, %v", c, len(text), err)
		}
	}
}

// TestUncountedIsBounded: what a node says of metrics that are not those by which tasks and
// sessions are counted does not make an answer longer.
func TestUncountedIsBounded(t *testing.T) {
	f := &fleet{T: t, nodes: 1, series: map[string][]activity.Series{}}
	for i := range 7000 {
		one := []activity.Series{{Labels: map[string]string{"slot": strconv.Itoa(i)}, Value: 1}}
		const session = "cassandra_repair_session_"
		for counted, name := range map[string]string{
			"cassandra_task_done_ratio":           "cassandra_task_size_bytes",
			session + "started_timestamp_seconds": session + "done_ratio",
		} {
			if f.series[name] = append(f.series[name], one...); i == 0 {
				f.series[counted] = one
			}
		}
	}
	tasks, err := activity.Tasks(t.Context(), f.question())
	if err != nil || len(tasks.Tasks) != 5000 || tasks.LeftOut != 2000 {
		t.Errorf("%d %d %v", len(tasks.Tasks), tasks.LeftOut, err)
	}
	repairs, err := activity.Repairs(t.Context(), f.question())
	if err != nil || len(repairs.Sessions) != 1000 || repairs.SessionsLeftOut != 6000 {
		t.Errorf("%d %d %v", len(repairs.Sessions), repairs.SessionsLeftOut, err)
	}
}

// TestWhatCannotBeAsked: what an answer can do without is named, and no answer is an error.
func TestWhatCannotBeAsked(t *testing.T) {
	f := &fleet{T: t, nodes: 2, series: manyTasks(1), fails: "rate("}
	list, err := activity.Tasks(t.Context(), f.question())
	if err != nil || len(list.Tasks) != 2 || list.Tasks[0].BytesPerSecond != nil ||
		strings.Join(list.Partial.Partial, "; ") != "a reason; rates cannot be said: too much" {
		t.Errorf("%+v %v", list, err)
	}
	f.fails = "count"
	if _, err := activity.Tasks(t.Context(), f.question()); err == nil {
		t.Error("no error")
	}
	f.fails = "cassandra_driver_connections"
	if _, err := activity.Clients(t.Context(), f.question()); err == nil {
		t.Error("no error")
	}
	f.fails = "cassandra_repair_due"
	if _, err := activity.Repairs(t.Context(), f.question()); err == nil {
		t.Error("no error")
	}
	f.fails, f.series = "cassandra_table_", map[string][]activity.Series{
		"cassandra_repair_gc_grace_seconds": {{Labels: map[string]string{"table": "t"}, Value: 1}}}
	repairs, err := activity.Repairs(t.Context(), f.question())
	if err != nil || len(repairs.Tables) != 1 || len(repairs.Partial.Partial) != 2 {
		t.Errorf("%+v %v", repairs, err)
	}
}

// TestNeverRepaired: of a table without data, or of which no repair is known, nothing is said to be
// repaired. An incremental repair is one.
func TestNeverRepaired(t *testing.T) {
	f := &fleet{T: t, nodes: 1, series: map[string][]activity.Series{}}
	for _, of := range []struct {
		table, name string
		value       float64
	}{
		{"empty", "repair_gc_grace_seconds", 1}, {"empty", "table_repaired_bytes", 0},
		{"empty", "table_unrepaired_bytes", 0},
		{"never", "repair_gc_grace_seconds", 1}, {"never", "table_repaired_bytes", 0},
		{"never", "table_unrepaired_bytes", 10},
		{"forgotten", "repair_gc_grace_seconds", 1}, {"forgotten", "table_repaired_bytes", 10},
		{"forgotten", "table_unrepaired_bytes", 0},
		{"incremental", "repair_last_incremental_success_timestamp_seconds", 1e9},
		{"incremental", "table_repaired_bytes", 30}, {"incremental", "table_unrepaired_bytes", 10},
	} {
		f.series["cassandra_"+of.name] = append(f.series["cassandra_"+of.name], activity.Series{
			Labels: map[string]string{"table": of.table}, Value: of.value})
	}
	list, err := activity.Repairs(t.Context(), f.question())
	if err != nil || len(list.Tables) != 4 {
		t.Fatalf("%+v %v", list, err)
	}
	for i := range list.Tables {
		got := &list.Tables[i]
		want := map[string]*float64{"never": new(0.), "incremental": new(.75)}[got.Table]
		if (got.RepairedRatio == nil) != (want == nil) ||
			want != nil && *got.RepairedRatio != *want ||
			got.Never() != (got.Table != "incremental") {
			t.Errorf("%+v", got)
		}
	}
}

// TestClientsAndRepairsAreBounded: a few queries, and what is left out is said.
func TestClientsAndRepairsAreBounded(t *testing.T) {
	f := &fleet{T: t, nodes: 1, series: map[string][]activity.Series{}}
	for i := range 1300 {
		labels := map[string]string{"driver_name": strconv.Itoa(i)}
		f.series["cassandra_driver_connections"] = append(f.series["cassandra_driver_connections"],
			activity.Series{Labels: labels, Value: float64(i + 1)})
		f.series["cassandra_driver_addresses_info"] = append(
			f.series["cassandra_driver_addresses_info"], activity.Series{Labels: labels, Value: 1})
	}
	clients, err := activity.Clients(t.Context(), f.question())
	if err != nil || len(clients.Clients) != 1000 || clients.LeftOut != 300 ||
		!clients.AddressesLeftOut || clients.Clients[0].Driver != "1299" || len(f.asked) != 3 {
		t.Errorf("%d %d %v, %d queries, %v", len(clients.Clients), clients.LeftOut,
			clients.AddressesLeftOut, len(f.asked), err)
	}
	f.series["cassandra_driver_connections"] = f.series["cassandra_driver_connections"][:10]
	f.asked = nil
	clients, err = activity.Clients(t.Context(), f.question())
	if err != nil || len(clients.Clients) != 10 || !clients.AddressesLeftOut ||
		len(f.asked) != 3 { // few clients, and 1,300 lists of addresses
		t.Errorf("%d %v, %d queries, %v", len(clients.Clients), clients.AddressesLeftOut,
			len(f.asked), err)
	}
	many := activity.Series{Labels: map[string]string{"driver_name": "9",
		"value": strings.Repeat("10.0.0.1:1,", 20_000) + "…"}, Value: 1}
	f.series["cassandra_driver_addresses_info"] = []activity.Series{many}
	f.asked = nil
	clients, err = activity.Clients(t.Context(), f.question())
	if err != nil || len(clients.Clients[0].Addresses) != 10_000 || !clients.AddressesLeftOut ||
		len(f.asked) != 4 {
		t.Errorf("%v, %d queries", err, len(f.asked))
	}
	// 200 lists as long as a frame may have them, of which the answer has room for a third of one.
	many.Labels["value"] = strings.Repeat("a,", 1<<15)
	f.series["cassandra_driver_addresses_info"] = slices.Repeat([]activity.Series{many}, 200)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	clients, err = activity.Clients(t.Context(), f.question())
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || took > 20 ||
		len(clients.Clients[0].Addresses) != 10_000 || !clients.AddressesLeftOut {
		t.Errorf("%v, %d MB", err, took)
	}

	f = &fleet{T: t, nodes: 1, series: map[string][]activity.Series{}}
	for i := range 6000 {
		f.series["cassandra_repair_due_timestamp_seconds"] = append(
			f.series["cassandra_repair_due_timestamp_seconds"], activity.Series{
				Labels: map[string]string{"table": strconv.Itoa(i)}, Value: float64(9000 - i)})
		f.series["cassandra_repair_session_started_timestamp_seconds"] = append(
			f.series["cassandra_repair_session_started_timestamp_seconds"], activity.Series{
				Labels: map[string]string{"slot": strconv.Itoa(i)}, Value: 1})
	}
	repairs, err := activity.Repairs(t.Context(), f.question())
	if err != nil || len(repairs.Tables) != 5000 || repairs.LeftOut != 1000 ||
		repairs.Tables[0].Table != "5999" || repairs.SessionsLeftOut != 6000 || len(f.asked) != 4 {
		t.Errorf("%d %d %d, %d queries, %v", len(repairs.Tables), repairs.LeftOut,
			repairs.SessionsLeftOut, len(f.asked), err)
	}
}

package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/querytest"
)

// health returns what the API says of an account's rules, by name: health and last error.
func (w *town) health(account string) map[string]string {
	w.Helper()
	m := map[string]string{}
	for _, g := range w.board().Groups(account, Filter{}) {
		for _, r := range g.Rules {
			m[r.Name] = strings.TrimSpace(r.Health + " " + r.LastError)
		}
	}
	return m
}

// wantHealth compares; "ok" is wanted of rules that are not named.
func (w *town) wantHealth(account string, rules int, bad map[string]string) {
	w.Helper()
	got := w.health(account)
	if len(got) != rules {
		w.Errorf("%s has the rules %v", account, got)
	}
	for name, text := range got {
		if want := bad[name]; want == "" && text != "ok" || want != "" &&
			!(strings.HasPrefix(text, "err cluster north: ") && strings.Contains(text, want)) {
			w.Errorf("%s: %s is %q, want %q", account, name, text, want)
		}
	}
}

// recordedOf returns how many samples were recorded under a name, and until when.
func (w *town) recordedOf(account, name string) (n int, newest int64) {
	w.Helper()
	of := &line{t: w.T}
	for _, s := range w.published {
		if s.of() == account {
			of.published = append(of.published, s)
		}
	}
	for series, values := range of.recorded() {
		if strings.Contains(series, fmt.Sprintf("__name__=%q", name)) {
			for at := range values {
				n++
				newest = max(newest, at)
			}
		}
	}
	return n, newest
}

const faultyRules = `
groups:
- name: faulty
  rules:
  - {record: "a:fine", expr: max by (cluster) (node_load1)}
  - {record: "b:dear", expr: 'count_over_time(node_load1[30m:1s])'}
  - {record: "c:many", expr: node_load1 * on (cluster) node_cpu_seconds_total}
  - {record: "d:twice", expr: 'label_replace(max by (cluster, node) (node_load1), "node", "one", "", "")'}
  - {record: "e:histogram", expr: 'sum by (cluster) (rate(cassandra_table_read_latency_seconds[1m]))'}
  - {alert: Twins, expr: "max by (cluster, node) (node_load1) > 0", for: 1m, labels: {node: one}}
  - {alert: Load, expr: node_load1 > 3}
  - {record: "z:fine", expr: "max by (cluster) (a:fine)"}
`

// TestFaultyRules: each way to fail is said of the rule that fails. The others of its group go on,
// and so do other accounts.
func TestFaultyRules(t *testing.T) {
	w := newTown(t, 0, faultyRules)
	w.set = func(c *Config, _ *Deps) { c.MaxSamples = 500 }
	for i := range 3 {
		w.add("acme", "north", uint64(i+1))
	}
	w.add("zeta", "south", 9).load = 5
	w.nodes[0].load = 5
	w.pass(5*time.Minute, nil)
	w.wantHealth("acme", 8, map[string]string{
		"b:dear": "too many samples", "c:many": "found duplicate series for the match group",
		"d:twice": "same labelset", "e:histogram": "record a number of it",
		"Twins": "same labelset",
	})
	w.wantTold(0, "Load 0 firing", "Load 3 firing", "Twins firing") // zeta has one node
	for _, account := range []string{"acme", "zeta"} {
		for _, name := range []string{"a:fine", "z:fine"} {
			if _, newest := w.recordedOf(account, name); newest < w.at-20_000 {
				t.Errorf("%s: %s was recorded until %d, and it is %d", account, name, newest, w.at)
			}
		}
	}
	if n, _ := w.recordedOf("acme", "e:histogram"); n > 0 {
		t.Error("a histogram was recorded")
	}
}

// TestSlowRule: a rule that takes for ever is ended and says so. One whose end the engine would not
// look for is refused.
func TestSlowRule(t *testing.T) {
	const rules = `
groups:
- name: loops
  interval: 1m
  rules:
  - {record: "a:fine", expr: node_load1}
  - {record: "b:loop", expr: '%s'}
  - {alert: Load, expr: node_load1 > 3}
`
	loop := "node_load1"
	for range 4 {
		loop = "sum_over_time((" + loop + ")[10m:100ms])"
	}
	w := newTown(t, 3, fmt.Sprintf(rules, loop))
	w.set = func(c *Config, _ *Deps) { c.Timeout = 100 * time.Millisecond }
	w.nodes[0].load = 5
	w.pass(12*time.Minute, nil)
	if text := w.health(querytest.Account)["b:loop"]; !strings.Contains(text, "timed out") {
		t.Errorf("it is %q", text)
	}
	w.wantTold(0, "Load 0 firing")

	c := DefaultConfig()
	c.Shipped, c.Files = false,
		[]string{write(t, fmt.Sprintf(rules, "max_over_time(node_load1[1h:1ms])"))}
	if _, err := New(c, Deps{}); err == nil || !strings.Contains(err.Error(), "3600000 steps") {
		t.Errorf("%v", err)
	}
}

// TestNoMemory: what one account's rules select is more than there is for it. Those rules say so,
// and others of the account, and other accounts, go on. No node is down because of it.
func TestNoMemory(t *testing.T) {
	w := newTown(t, 0, `
groups:
- name: all
  rules:
  - {record: "a:tables", expr: 'max by (cluster) (max_over_time(cassandra_table_live_disk_space_bytes[50m]))'}
  - {alert: Down, expr: up == 0}
  - {alert: Load, expr: node_load1 > 3}
`)
	budget, err := memory.NewBudget("rules", 2<<20, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	w.set = func(_ *Config, d *Deps) { d.Budget = budget }
	for i := range 4 {
		w.add("acme", "north", uint64(i+1))
	}
	w.pass(3*time.Minute, nil)
	w.wantHealth("acme", 3, nil)
	many := w.nodes[3] // it has as many tables as take all there is
	for t := range 400 {
		e := many.Entities[1][0]
		e.Labels = []string{"shop", fmt.Sprintf("t%d", t)}
		many.Entities[1] = append(many.Entities[1], e)
	}
	many.Restart(w.at)
	w.add("zeta", "south", 100).load = 5
	w.nodes[0].load = 5
	w.pass(5*time.Minute, nil)
	w.wantHealth("acme", 3, map[string]string{"a:tables": "no memory for"})
	w.wantTold(0, "Load 0 firing", "Load 4 firing")
	if _, newest := w.recordedOf("zeta", "a:tables"); newest < w.at-20_000 {
		t.Errorf("zeta's was recorded until %d, and it is %d", newest, w.at)
	}
	w.role.Revoke(0)
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes are not given back", n)
	}
}

// TestMemoryOfManyClusters: an account's clusters take of its share what they need. What each
// leaves free for reading frames is the same for all of them.
func TestMemoryOfManyClusters(t *testing.T) {
	w := newTown(t, 0, `
groups:
- name: all
  rules:
  - {alert: Load, expr: node_load1 > 3}
`)
	budget, err := memory.NewBudget("rules", 16<<20, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	w.set = func(_ *Config, d *Deps) { d.Budget = budget }
	const clusters = 24
	for i := range clusters {
		w.add("acme", fmt.Sprint("c", i), uint64(i+1))
	}
	w.pass(3*time.Minute, nil)
	w.wantHealth("acme", 1, nil)
	w.nodes[clusters-1].load = 5
	w.pass(2*time.Minute, nil)
	w.wantTold(0, fmt.Sprintf("Load %d firing", clusters-1))
	if n := budget.Used(); n > budget.Share()/2 {
		t.Errorf("%d nodes hold %d bytes", clusters, n)
	}
}

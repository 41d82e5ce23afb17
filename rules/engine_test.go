package rules

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/memory"
)

// TestEngineTakesOfTheShare: what the engine takes while it evaluates is the account's. A rule
// whose subquery makes more of few series than there is says so, the others and other accounts go
// on, and what was taken is given back.
func TestEngineTakesOfTheShare(t *testing.T) {
	w := newTown(t, 0, `
groups:
- name: all
  rules:
  - {record: "a:fine", expr: 'count(max_over_time(max by (table, cluster) (cassandra_table_live_disk_space_bytes)[5m:100ms])) by (cluster)'}
  - {record: "a:coarse", expr: 'count(max_over_time(max by (table, cluster) (cassandra_table_live_disk_space_bytes)[5m:1m])) by (cluster)'}
  - {record: "a:count", expr: 'histogram_count(sum by (cluster) (rate(cassandra_table_read_latency_seconds[2m])))'}
  - {record: "a:sum", expr: 'histogram_sum(sum by (cluster) (rate(cassandra_table_read_latency_seconds[2m])))'}
`)
	budget, err := memory.NewBudget("rules", 16<<20, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	w.set = func(_ *Config, d *Deps) { d.Budget = budget }
	for i := range 2 {
		w.add("acme", "north", uint64(i+1))
		w.add("zeta", "south", uint64(i+100))
	}
	w.pass(3*time.Minute, nil)
	w.wantHealth("acme", 4, nil)
	w.wantHealth("zeta", 4, nil)
	many := w.nodes[0]
	for t := range 400 {
		e := many.Entities[1][0]
		e.Labels = []string{"shop", fmt.Sprintf("t%d", t)}
		many.Entities[1] = append(many.Entities[1], e)
	}
	many.Restart(w.at)
	w.pass(3*time.Minute, nil)
	held := budget.Used()
	w.pass(3*time.Minute, func() {
		if used := budget.Used(); used > held+held/4 {
			t.Errorf("%d bytes are taken between evaluations, and %d were before", used, held)
		}
	})
	w.wantHealth("acme", 4, map[string]string{"a:fine": "no memory to evaluate"})
	w.wantHealth("zeta", 4, nil)
	for _, c := range []struct{ account, name string }{{"acme", "a:coarse"}, {"acme", "a:sum"},
		{"zeta", "a:fine"}} {
		if _, newest := w.recordedOf(c.account, c.name); newest < w.at-20_000 {
			t.Errorf("%s of %s was recorded until %d, and it is %d", c.name, c.account,
				newest, w.at)
		}
	}
	w.role.Revoke(0)
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes are not given back", n)
	}
}

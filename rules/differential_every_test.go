package rules

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/querytest"
)

// differentialEvery is rules over all clusters, of what the rules of differential record.
// ManyFire leaves the alert of a group with query_offset out: an evaluation that is late sees a
// sample of it that came meanwhile and is of an instant before.
const differentialEvery = `
groups:
- name: accounts
  interval: 15s
  rules:
  - {record: "all:reads:rate1m", expr: sum(cluster:reads:rate1m)}
  - {record: "all:nodes:count", expr: count(node:reads:rate1m)}
  - {record: "all:read_latency:max", expr: max(cluster:read_latency:p99_2m)}
  - {record: "all:reads:avg3m", expr: 'sum without (cluster) (avg_over_time(cluster:reads:rate1m[3m]))'}
  - {record: "all:reads:share", expr: cluster:reads:rate1m / on () group_left () sum(cluster:reads:rate1m)}
  - {record: "all:reads:top", expr: 'topk(2, node:reads:rate1m)'}
  - {record: "all:pending:max", expr: max(node:pending:max)}
  - {record: "all:texts:count", expr: count by (value) (cluster:texts:count)}
  - {record: "all:alerts:count", expr: 'count by (alertname, alertstate) (ALERTS)'}
  - {record: "all:reads:trend", expr: 'deriv(all:reads:rate1m[2m])'}
  - {record: "all:reads:of_all", expr: 'cluster:reads:rate1m / on () group_left () all:reads:rate1m'}
  - {record: "all:subquery:max", expr: 'max(max_over_time(sum by (cluster) (table:reads:increase5m)[3m:30s]))'}
- name: accounts' alerts
  interval: 20s
  labels: {team: storage}
  rules:
  - alert: ReadsAnywhere
    expr: max(node:reads:rate1m) > 0.5
    for: 40s
    annotations:
      summary: '{{ $value | printf "%.4f" }} of {{ with query "sum(cluster:reads:rate1m)" }}{{ . | first | value }}{{ end }}'
  - alert: Uneven
    expr: topk(1, node:reads:rate1m) > 1.5 * scalar(avg(node:reads:rate1m))
    keep_firing_for: 1m
  - {alert: ManyFire, expr: 'sum(count by (cluster) (ALERTS{alertname!="Pending", alertstate="firing"})) > 8', for: 1m}
  - {alert: NoReads, expr: absent(cluster:reads:rate1m)}
- name: accounts, late
  interval: 30s
  query_offset: 1m
  limit: 3
  rules:
  - {record: "all:late:sum", expr: sum(cluster:reads:rate1m)}
  - {record: "all:late:difference", expr: max(cluster:requests:mean5m) - max(cluster:requests:mean5m offset 2m)}
  - {record: "all:late:limited", expr: 'topk(4, node:reads:rate1m)'}
`

// TestDifferentialOverAllClusters is TestDifferential with a role over all clusters behind that of
// single ones.
func TestDifferentialOverAllClusters(t *testing.T) {
	for _, calm := range []bool{true, false} {
		t.Run(fmt.Sprintf("calm %v", calm), func(t *testing.T) {
			fleet := fleetOf(20261123, calm)
			t.Chdir(t.TempDir()) // the instants of evaluation depend on the files' names
			files := []string{"clusters.yaml", "accounts.yaml"}
			for i, text := range []string{differential, differentialEvery} {
				if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l, every := newLine(t), newLine(t)
			var queue []sent
			l.set = func(c *Config, d *Deps) {
				c.Delay = 0
				d.Forward = func(_ context.Context, account string, b []byte) error {
					l.mu.Lock()
					defer l.mu.Unlock()
					h, _, err := frame.Parse(b)
					queue = append(queue, sent{h.At, frame.EveryCluster, b, account})
					return err
				}
			}
			every.set = func(c *Config, d *Deps) { c.Delay, d.Every = 0, true }
			r, overAll := l.role(files...), every.role(files...)
			p, err := overAll.partition(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := overAll.cluster(p, querytest.Account, frame.EveryCluster); err != nil {
				t.Fatal(err)
			}
			every.deliver(overAll, fleet.From)
			forwarded := func(now int64) {
				list := queue
				queue = nil
				every.deliver(overAll, now, list...)
			}
			run(l, r, fleet, func(now int64, r *Rules) *Rules {
				// It waits for what it knows to come; nobody knows what a cluster will begin to
				// record.
				if now < fleet.From+5*60_000 || now%20_000 == 0 {
					forwarded(now)
				} else {
					every.deliver(overAll, now)
				}
				return r
			})
			forwarded(fleet.End())
			of := newTheirs(t, fleet, &r.config, files...)
			of.until(fleet.From, fleet.End())
			both := newLine(t)
			both.published = slices.Concat(l.published, every.published)
			both.alerts = slices.Concat(l.alerts, every.alerts)
			compare(t, both, of)
			if n := len(every.recorded()); n < 20 || len(every.alerts) < 20 {
				t.Errorf("over all clusters there are %d series and %d notifications", n,
					len(every.alerts))
			}
		})
	}
}

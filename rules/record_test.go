package rules

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// TestRecordedLabelsAreRead: the frame of what a group records says the label sets that the rules
// made: with the cluster's name, with another, or without any, and with the names of a node's
// place.
func TestRecordedLabelsAreRead(t *testing.T) {
	for _, cluster := range []string{"prod", frame.EveryCluster} {
		r := &recorder{id: frame.RecorderID("acme", cluster, "g"), started: 1}
		r.begin(frame.WindowOf(1_790_000_000_000) + 1000)
		want := map[string]float64{}
		for i, text := range []map[string]string{
			{"cluster": "prod"}, {"cluster": "prod", "node": "n1", "rack": "r1",
				"datacenter": "d1"},
			{"cluster": "other", "le": "0.5", "quantile": "0.9"}, {"recorded_cluster": "x"}, {},
			{"cluster": "prod", "recorded_recorded_node": "x", "table": "t"},
		} {
			for _, name := range []string{"a:b", "c"} {
				l := labels.NewBuilder(labels.FromMap(text)).Set(labels.MetricName, name).Labels()
				r.samples[name] = append(r.samples[name], sample{l, float64(i)})
				want[l.String()] = float64(i)
			}
		}
		only := labels.FromStrings(labels.MetricName, "alone", "cluster", "prod")
		r.samples["alone"] = append(r.samples["alone"], sample{only, 7},
			sample{labels.FromStrings(labels.MetricName, "alone", "cluster", "gone"), math.NaN()})
		want[only.String()] = 7
		role, err := New(DefaultConfig(), Deps{Metrics: prometheus.NewRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		c, err := role.newCluster("acme", cluster, 0)
		if err != nil {
			t.Fatal(err)
		}
		g := c.groups[slices.IndexFunc(c.groups, func(g *group) bool {
			return g.Interval() > time.Second
		})]
		b, _, err := r.finish(c, g)
		if err != nil {
			t.Fatal(err)
		}
		w, _, err := building.Window(window.Node{Account: "acme", ID: r.id}, [][]byte{b})
		if err != nil {
			t.Fatal(err)
		}
		list := selecting.Select(w, 0, math.MaxInt64)
		if len(list) != len(want) || w.Node.Cluster != cluster {
			t.Errorf("%d series of %q are read, not %d", len(list), w.Node.Cluster, len(want))
		}
		for _, s := range list {
			if v, is := want[s.Labels.String()]; !is || s.Doubles[0] != v {
				t.Errorf("in %s: %s is %v", cluster, s.Labels, s.Doubles)
			}
		}
	}
}

// TestAlertsSeriesHaveTheAlertsLabels: the series of an alert have the labels that the alert has,
// in memory, where other rules read them, and in the stream. A label whose template gives an empty
// text is none of them, whatever the other labels' templates give, also after a restart.
func TestAlertsSeriesHaveTheAlertsLabels(t *testing.T) {
	w := newTown(t, 2, `
groups:
- name: all
  rules:
  - alert: Load
    expr: node_load1 > 3
    labels: {sev: '{{ if gt $value 5.0 }}crit{{ end }}', by: '{{ .Labels.cluster }}', plain: '}}'}
  - {record: "without:sev", expr: 'count by (cluster) (ALERTS{alertname="Load", sev=""})'}
  - {record: "with:sev", expr: 'count by (cluster) (ALERTS{sev!="", sev!="crit"})'}
- name: of a group
  labels: {sev: '{{ if gt $value 5.0 }}crit{{ end }}'}
  rules:
  - {alert: Waits, expr: node_load1 > 3, for: 1h, labels: {none: ''}}
`)
	w.nodes[0].load, w.nodes[1].load = 4, 9
	check := func(crit int) {
		t.Helper()
		newest, got := map[string]float64{}, map[string]int{}
		for series, values := range w.recorded() {
			at := slices.Max(slices.Collect(maps.Keys(values)))
			if at < w.at-time.Minute.Milliseconds() {
				continue
			}
			newest[series] = values[at]
			l, err := parser.NewParser(parser.Options{}).ParseMetric(series)
			if err != nil {
				t.Fatal(err)
			}
			if name := l.Get(labels.MetricName); alertSeries(name) {
				got[labels.NewBuilder(l).Del(labels.MetricName, "alertstate").Labels().String()]++
			}
		}
		list := w.board().Alerts(querytest.Account, nil)
		if len(list) != 4 || len(got) != 4 {
			t.Errorf("%d alerts, and series of %d: %v", len(list), len(got), got)
		}
		sev := 0
		for _, a := range list {
			l := labels.FromMap(a.Labels)
			if got[l.String()] != 2 {
				t.Errorf("the alert %s has %d series; there are %v", l, got[l.String()], got)
			}
			if l.Get("sev") == "crit" {
				sev++
			}
		}
		if sev != crit {
			t.Errorf("%d alerts have the label sev, not %d", sev, crit)
		}
		if v := newest[`{__name__="without:sev", cluster="north"}`]; v != float64(2-crit/2) {
			t.Errorf("a rule counts %v alerts without the label: %v", v, newest)
		}
		if v, is := newest[`{__name__="with:sev", cluster="north"}`]; is {
			t.Errorf("a rule counts %v alerts with another label", v)
		}
	}
	w.pass(4*time.Minute, nil)
	check(2)
	w.begin()
	w.nodes[1].load = 4 // crit ends
	w.pass(4*time.Minute, nil)
	check(0)
}

package rules

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
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
		c := role.newCluster("acme", cluster, 0)
		if err := c.load(); err != nil {
			t.Fatal(err)
		}
		c.current = c.groups[slices.IndexFunc(c.groups, func(g *group) bool {
			return g.Interval() > time.Second
		})]
		b, _, err := r.finish(c, c.current)
		if err != nil {
			t.Fatal(err)
		}
		w, _, err := window.Build(window.Node{Account: "acme", ID: r.id}, [][]byte{b})
		if err != nil {
			t.Fatal(err)
		}
		list := w.Select(0, math.MaxInt64)
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

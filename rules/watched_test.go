package rules

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// TestWatchedNodesInRules: up of a node that is read from outside is what its frames say. A rule
// about silent Cassandra nodes is not about it, neither when it does not answer nor when nothing
// comes of it, and a role that begins anew sees no up of it that was made.
func TestWatchedNodesInRules(t *testing.T) {
	w := newTown(t, 2, `
groups:
- name: of
  rules:
  - alert: Silent
    expr: up == 0 unless on (cluster, node) ringwatch_node_info{kind=~"kafka|redis|other"}
  - alert: Away
    expr: up{job="kafka"} == 0
  - record: cluster:up:count
    expr: count by (cluster) (up)
  - record: kind:nodes:count
    expr: count by (cluster, kind) (ringwatch_node_info)
  - record: cluster:fetch:p99
    expr: max by (cluster) (kafka_fetch_latency_seconds{quantile="0.99"})
  - record: cluster:seen:count
    expr: count by (cluster) (ringwatch_node_last_seen_timestamp_seconds)
`)
	target := frametest.NewTarget(frame.KindKafka, "north", "kafka", "k1:9092")
	target.Interval = townInterval
	target.Pass(1)
	c := &citizen{Node: target.Node, next: w.at + 2500}
	w.nodes = append(w.nodes, c)
	up := &target.Entities[0][0].Cells[0].Int
	want := func(when string, list ...string) {
		t.Helper()
		of := w.cluster("", "north").evaluation
		got := []string{}
		for _, expr := range []string{`up`, `up{node="` + c.ID.String() + `"}`, `ringwatch_node_info`,
			`kafka_fetch_latency_seconds{quantile="0.99"}`} {
			v, err := of.query(t.Context(), expr, time.UnixMilli(w.at))
			if err != nil {
				t.Fatal(when, err)
			}
			text := fmt.Sprint(len(v))
			if len(v) == 1 {
				text += fmt.Sprintf(" %s %g", v[0].Metric.Get("instance"), v[0].F)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, list) {
			t.Errorf("%s: %q, want %q", when, got, list)
		}
	}
	w.pass(7*time.Minute, nil)
	want("when all is well", "3", "1 k1:9092 1", "3", "1 k1:9092 0.25")
	*up = 0
	w.pass(2*time.Minute, nil)
	want("when it does not answer", "3", "1 k1:9092 0", "3", "1 k1:9092 0.25")
	w.wantTold(0, "Away 2 firing")
	for range 3 {
		w.begin()
		w.pass(35*time.Second, func() {
			for _, n := range w.role.partitions[0].clusters {
				v, err := n.evaluation.query(t.Context(), "up", time.UnixMilli(w.at))
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range v {
					if s.Metric.Get("node") == c.ID.String() && s.Metric.Get("job") == "" {
						t.Errorf("%s is made", s.Metric)
					}
				}
			}
		})
	}
	*up = 1
	w.pass(2*time.Minute, nil)
	w.wantTold(0, "Away 2 firing", "Away 2 inactive")
	c.dead, w.nodes[0].dead = true, true
	w.pass(10*time.Minute, nil)
	w.wantTold(0, "Away 2 firing", "Away 2 inactive", "Silent 0 firing")
	want("when nothing comes of it", "2", "0", "3", "0")
}

// TestTargetWithoutKey: of a target of which no key frame can be read no up is made.
func TestTargetWithoutKey(t *testing.T) {
	w := newTown(t, 1, `groups: [{name: of, rules: [{alert: Silent, expr: up == 0}]}]`)
	target := frametest.NewTarget(frame.KindKafka, "north", "kafka", "k1:9092")
	target.Pass(1)
	w.until(w.at+20_000, nil)
	for _, at := range []int64{w.at + 1000, w.at + 2000, w.at + 3000} {
		s := sent{at, "north", target.Frame(at), ""}
		if !isKey(s) {
			w.deliver(w.role, at, s)
		}
	}
	w.pass(4*time.Minute, nil)
	v, err := w.cluster("", "north").evaluation.query(t.Context(), "up", time.UnixMilli(w.at))
	if err != nil || len(v) != 1 || v[0].F != 1 {
		t.Errorf("up is %v, %v", v, err)
	}
	w.wantTold(0)
}

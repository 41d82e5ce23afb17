package query_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/series"
)

// TestNodeThatLeft: the series that Ringwatch has of a node end when it left: they are there
// before, and from then on not even as values of some minutes ago. Its own samples stay.
func TestNodeThatLeft(t *testing.T) {
	r := newRuled(t)
	who := querytest.Principal(t, querytest.Account)
	const minute = 60_000
	end := r.now - 4*minute - 30_000
	gone := r.nodes[1]
	nodes, err := r.asked.Nodes(t.Context(), querytest.Account)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.ID == gone {
			r.left.Take(roster.Record{Account: querytest.Account, Cluster: n.Cluster, Node: gone,
				Stamp: 1, End: &roster.End{Why: roster.Decommissioned, At: end}})
		}
		r.left.Take(roster.Record{Account: "another", Cluster: n.Cluster, Node: n.ID, Stamp: 1,
			End: &roster.End{Why: roster.Forgotten, At: end}})
	}
	of := fmt.Sprintf("{node=%q}", gone)
	for _, name := range []string{series.MetricUp, series.MetricSeen, series.MetricInfo} {
		if got := r.instant(who, name); len(got) != len(r.nodes)-1 {
			t.Errorf("%s: %q", name, got)
		}
		if got := r.instant(who, name+of); len(got) != 0 {
			t.Errorf("%s: %q", name, got)
		}
		if got := r.instant(who, fmt.Sprintf("%s%s @ %d", name, of, (end-minute)/1000)); len(got) !=
			1 {
			t.Errorf("%s before: %q", name, got)
		}
		a, err := r.engine.Range(t.Context(), who, name+of, time.UnixMilli(r.now-10*minute),
			time.UnixMilli(r.now), 15*time.Second, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list := a.Value.(promql.Matrix)
		if len(list) != 1 {
			t.Fatalf("%s: %v", name, list)
		}
		points := list[0].Floats
		if last := points[len(points)-1].T; last >= end || last < end-15_000 || len(points) < 20 {
			t.Errorf("%s: %d values, the last one at %d, it left at %d", name, len(points),
				last, end)
		}
		a.Close()
	}
	if got := r.instant(who, "node_load1"+of); len(got) != 1 {
		t.Errorf("its samples: %q", got)
	}
	if got := r.instant(who, "count_over_time(up"+of+"[10m])"); len(got) != 1 {
		t.Errorf("over time: %q", got)
	}
}

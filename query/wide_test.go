package query_test

import (
	"context"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
)

// TestWide: an expression is wide if one of its selectors means more than a thousand nodes,
// wherever it stands.
func TestWide(t *testing.T) {
	who := querytest.Principal(t, querytest.Account)
	many := newListedFleet(t, 2_000).engine(t) // four clusters
	few := newListedFleet(t, 1_000).engine(t)
	for expr, want := range map[string]bool{
		`sum(cassandra_table_reads_total)`:                                        true,
		`sum(rate(cassandra_table_reads_total{cluster=~".*"}[5m]))`:               true,
		`sum(rate(x{cluster="cluster-01"}[5m])) / count(up)`:                      true,
		`max_over_time(sum(x{cluster=~"cluster-0[0-2]"})[1h:1m])`:                 true,
		`sum(rate(cassandra_table_reads_total{cluster="cluster-01"}[5m]))`:        false,
		`x{cluster="cluster-01"} / on (node) y{cluster=~"cluster-02|cluster-03"}`: false,
		`time()`: false,
	} {
		wide, err := many.Wide(t.Context(), who, expr)
		if err != nil || wide != want {
			t.Errorf("%s: wide is %v, %v; want %v", expr, wide, err, want)
		}
		if wide, err := few.Wide(t.Context(), who, expr); err != nil || wide {
			t.Errorf("%s of 1,000 nodes: wide is %v, %v", expr, wide, err)
		}
	}
}

// TestUnknownNode: who asks for a node that nobody knows hears that frames are on their way, which
// may be the node's.
func TestUnknownNode(t *testing.T) {
	f := newListedFleet(t, 10)
	late := true
	f.behind = func(_ context.Context, _, cluster string) (int64, bool) {
		return 0, late && cluster == ""
	}
	e := f.engine(t)
	for _, expr := range []string{`up_to_date{node="nobody"}`, `sum(rate(x{cluster="new"}[5m]))`} {
		for _, late = range []bool{true, false} {
			a, err := e.Instant(t.Context(), querytest.Principal(t, querytest.Account), expr,
				time.UnixMilli(origin), query.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(a.Warnings) > 0; got != late {
				t.Errorf("%s: warnings %v, want some: %v", expr, a.Warnings, late)
			}
			a.Close()
		}
	}
}

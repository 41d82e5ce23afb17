package query_test

import (
	"testing"

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

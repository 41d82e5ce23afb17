package query_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/querytest"
)

// TestNothingFromAfterAStep: what comes after a step's time does not count for it, whatever answers
// it and whenever it is asked for. Each question is asked of a fleet, and of what there was of that
// fleet at the question's end.
func TestNothingFromAfterAStep(t *testing.T) {
	n := seed(t)
	f := querytest.NewFleet(querytest.FleetConfig{Seed: n, From: origin, Span: 28 * time.Hour,
		Interval: time.Minute, Nodes: 1, Tables: 1, Classic: true, Calm: true})
	r := querytest.NewExpressions(f, n)
	until := func(at int64) querytest.Frames {
		cut := querytest.Frames{}
		for id, list := range f.Frames {
			for _, b := range list {
				h, _, err := frame.Parse(b)
				if err != nil {
					t.Fatal(err)
				}
				if h.At <= at {
					cut[id] = append(cut[id], b)
				}
			}
		}
		return cut
	}
	exprs := []string{
		`increase(node_cpu_seconds_total[%s])`,
		`sum by (cluster) (rate(cassandra_table_reads_total[%s]))`,
		`max_over_time(node_load1[%s])`, `min_over_time(node_load1[%s])`,
		`avg_over_time(node_temperature_celsius[%s])`,
		`sum_over_time(node_load1[%s])`, `last_over_time(node_load1[%s])`,
		`max_over_time(rate(node_cpu_seconds_total[5m])[%s:5m])`,
		`increase(cassandra_table_read_latency_seconds[%s])`,
		`rate(cassandra_table_read_latency_seconds_count[%s])`,
		`node_load1`,
		`cassandra_table_read_latency_seconds_count`,
	}
	asked := 3 // of them each time
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		asked = len(exprs)
	}
	day := 24 * hour
	midnight := origin - origin%day + day
	for _, of := range []struct {
		border int64
		widths []int64 // steps are as long
	}{
		{midnight, []int64{hour / 12, hour / 4, hour, 6 * hour, day}},
		{origin - origin%hour + 9*hour, []int64{hour / 12, hour / 4, hour, 2 * hour}},
		{origin - origin%hour + 9*hour + hour/12, []int64{hour / 12, hour / 6, hour / 2}},
	} {
		for _, end := range []int64{of.border - 1, of.border, of.border + 1,
			of.border + r.Int64N(hour/12), of.border + r.Int64N(hour)} {
			was := querytest.NewMemory(t, until(end))
			for _, later := range []int64{0, 25_000, 137_000, 295_000, hour} {
				now := end + later
				is := querytest.NewMemory(t, until(now))
				a := newBoth(t, nil, was, now, 20*24*time.Hour, true)
				b := newBoth(t, nil, is, now, 20*24*time.Hour, true)
				for _, width := range of.widths {
					for _, i := range r.Perm(len(exprs))[:asked] {
						d := time.Duration(width) * time.Millisecond
						expr := strings.ReplaceAll(exprs[i], "%s", fmt.Sprint(width/1000)+"s")
						last := time.UnixMilli(end)
						for _, s := range []span{{last.Add(-d), last, d}, {last, last, 0},
							{last.Add(-3 * d), last, d}} {
							want, err := a.askOurs(expr, s)
							if err != nil {
								t.Fatal(expr, err)
							}
							got, err := b.askOurs(expr, s)
							if err != nil {
								t.Fatal(expr, err)
							}
							if diff := querytest.Diff(got.Value, want.Value, 1e-9,
								false); diff != "" {
								t.Errorf("%s %s, %d ms from %d, asked after %d ms: %s", expr, s,
									end-of.border, of.border, later, diff)
							}
							want.Close()
							got.Close()
						}
					}
				}
			}
		}
	}
}

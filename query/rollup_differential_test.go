package query_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/window/rollup"
)

const hour = int64(60 * 60_000)

// old is a fleet whose samples are kept no more: only rollups are.
type old struct {
	*testing.T
	*querytest.Fleet
	store *querytest.Memory
	r     *querytest.Expressions
}

// olds are the fleets by seed: tests that repeat a seed share one.
var olds = map[uint64]*old{}

func newOld(t *testing.T) *old {
	n := seed(t)
	if o := olds[n]; o != nil {
		return &old{t, o.Fleet, o.store, querytest.NewExpressions(o.Fleet, n)}
	}
	f := querytest.NewFleet(querytest.FleetConfig{Seed: n, From: origin, Span: 30 * time.Hour,
		Interval: time.Minute, Nodes: 3, Tables: 3, Classic: true, Calm: true})
	olds[n] = &old{t, f, querytest.NewMemory(t, f.Frames), querytest.NewExpressions(f, n)}
	return olds[n]
}

// aligned returns an instant at which an hour begins, with some hours of the fleet's before it.
func (o *old) aligned() int64 { return origin + (6+o.r.Int64N(22))*hour }

// TestRollupsAreScrapes wants of rollups what Prometheus says that has scraped at the end of each
// period, to the last bit, for everything that looks at last values. Hours are asked when one is
// over: else shorter periods say more.
func TestRollupsAreScrapes(t *testing.T) {
	o := newOld(t)
	now := o.End() + 20*24*hour
	for _, level := range []rollup.Level{rollup.FiveMinutes, rollup.Hour} {
		b := newBoth(t, o.Scraped(level.Millis).TSDB(t), o.store, now, 24*time.Hour, true)
		for i, expr := range []string{
			`node_load1`, `cassandra_table_live_disk_space_bytes`, `node_cpu_seconds_total`,
			`cassandra_table_reads_total{table="table_1"}`, `cassandra_table_read_latency_seconds`,
			`cassandra_table_sstables_per_size`, `cassandra_table_read_latency_seconds_bucket`,
			`cassandra_table_read_latency_seconds_sum`,
			`cassandra_client_request_latency_seconds_count`,
			`sum by (cluster) (cassandra_table_live_disk_space_bytes)`,
			`topk(2, cassandra_table_reads_total)`, `count(cassandra_table_reads_total)`,
			`absent(cassandra_table_reads_total{table="table_0"})`,
			`histogram_quantile(0.9, cassandra_table_read_latency_seconds)`,
			`sum(cassandra_table_read_latency_seconds)`, `node_load1 offset 2h`,
			`timestamp(cassandra_table_reads_total)`,
		} {
			at := time.UnixMilli(o.aligned())
			if level == rollup.FiveMinutes {
				at = at.Add(time.Duration(o.r.Int64N(hour)) * time.Millisecond)
			}
			s := span{at, at.Add(5 * time.Hour), time.Duration(level.Millis) * time.Millisecond}
			// the longer one sees whether ends are right
			b.lookback = s.step * time.Duration(1+2*(i%2))
			if !b.same(expr, s) {
				t.Errorf("%s %s: no resolution is named", expr, s)
			}
			if level != rollup.FiveMinutes {
				continue
			}
			if !b.same(expr, span{at, at, 0}) {
				t.Errorf("%s %s: no resolution is named", expr, s)
			}
		}
		if level != rollup.FiveMinutes {
			continue
		}
		b.lookback = 5 * time.Minute
		for _, expr := range []string{
			`last_over_time(cassandra_table_live_disk_space_bytes[1h])`,
			`first_over_time(node_load1[2h])`, `delta(node_load1[1h])`,
			`deriv(node_temperature_celsius[2h])`,
			`present_over_time(cassandra_table_reads_total[1h])`,
			`last_over_time(cassandra_table_read_latency_seconds[1h])`,
			`predict_linear(node_load1[3h], 600)`,
			`delta(cassandra_table_sstables_per_size[1h])`,
			`max_over_time(cassandra_table_reads_total[1h])`,
			`avg_over_time(node_cpu_seconds_total[1h])`,
		} {
			for range 3 {
				if s := instant(o.aligned()); !b.same(expr, s) {
					t.Errorf("%s %s: no resolution is named", expr, s)
				}
			}
		}
	}
}

// TestRollupsOverTime wants of rollups what Prometheus says of the samples, for ranges of whole
// periods.
func TestRollupsOverTime(t *testing.T) {
	o := newOld(t)
	b := newBoth(t, o.TSDB(t), o.store, o.End()+20*24*hour, 24*time.Hour, true)
	for _, of := range []struct {
		tolerance float64
		exprs     []string
	}{
		{0, []string{`max_over_time(%s[1h])`, `min_over_time(%s[1h])`,
			`max_over_time(%s[3h] offset 1h)`, `max_over_time(%s[2h] @ end())`,
			`min_over_time(%s[15m])`}},
		// Sums of five minutes are added up, not samples.
		{1e-12, []string{`sum_over_time(%s[1h])`, `sum_over_time(%s[15m])`,
			`sum by (cluster) (sum_over_time(%s[3h]))`}},
	} {
		b.tolerance = of.tolerance
		for _, expr := range of.exprs {
			for _, name := range querytest.Gauges {
				expr, at := fmt.Sprintf(expr, name), o.aligned()
				if !b.same(expr, instant(at)) {
					t.Errorf("%s: no resolution is named", expr)
				}
				if !strings.Contains(expr, "15m") { // of hours, for the step is one
					b.same(expr, span{time.UnixMilli(at), time.UnixMilli(at + 3*hour), time.Hour})
				}
			}
		}
	}
	// A mean of means: exact as long as each period has as many samples, as these have.
	b.tolerance = 1e-9
	for range 5 {
		b.same(`avg_over_time(node_load1[1h])`, instant(o.aligned()))
		b.same(`avg_over_time(node_load1[4h])`, instant(o.aligned()))
		b.same(`sum_over_time(cassandra_table_sstables_per_size[1h])`, instant(o.aligned()))
	}
}

// TestRollupIncreases computes what rate and increase say of whole periods: their increases, over
// all resets.
func TestRollupIncreases(t *testing.T) {
	o := newOld(t)
	level := rollup.FiveMinutes.Millis
	compared, anew := 0, 0
	// all is old; the range may begin before what is kept
	for _, retention := range []time.Duration{24 * time.Hour,
		20*24*time.Hour + 20*time.Hour - 17*time.Minute} {
		b := newBoth(t, nil, o.store, o.End()+20*24*hour, retention, true)
		for range 12 {
			at, width := o.aligned(), (1+o.r.Int64N(3))*hour
			if retention > 24*time.Hour { // over the border
				at = o.store.RawFrom - o.store.RawFrom%hour + hour
			}
			values := map[string]*promql.Sample{}
			for _, expr := range []string{`increase(%s[%ds])`, `rate(%s[%ds])`} {
				for _, name := range []string{
					`{__name__=~"node_cpu_seconds_total|cassandra_table_reads_total"}`,
					`cassandra_table_read_latency_seconds_count`,
					`cassandra_table_read_latency_seconds`,
					`cassandra_client_request_latency_seconds`} {
					expr := "label_replace(" + fmt.Sprintf(expr, name, width/1000) + `, "kind", "` +
						expr[:4] + fmt.Sprint(len(name)) + `", "", "")`
					a, err := b.askOurs(expr, instant(at))
					if err != nil {
						t.Fatal(expr, err)
					}
					if _, resolution := warningsOf(a.Warnings, expr); !resolution {
						t.Errorf("%s at %d: no resolution is named", expr, at)
					}
					for _, s := range a.Value.(promql.Vector) {
						if s.H != nil {
							s.H = s.H.Copy()
						}
						values[s.Metric.String()] = &s
					}
					a.Close()
				}
			}
			for _, s := range o.Series {
				var in []querytest.Period
				before := int64(0)
				for _, p := range s.Periods(level) {
					if p.Start >= at-width && p.Start < at {
						in = append(in, p)
					} else if p.Start < at {
						before = p.Start
					}
				}
				if int64(len(in)) != width/level || before != at-width-level {
					continue // it came or went
				}
				kind := 0
				switch name := s.Labels.Get(labels.MetricName); name {
				case "node_cpu_seconds_total", "cassandra_table_reads_total":
					kind = len(`{__name__=~"node_cpu_seconds_total|cassandra_table_reads_total"}`)
				case "cassandra_table_read_latency_seconds_count",
					"cassandra_table_read_latency_seconds",
					"cassandra_client_request_latency_seconds":
					kind = len(name)
				default:
					continue
				}
				want, buckets, reset := extrapolated(in, level)
				for prefix, by := range map[string]float64{"incr": 1,
					"rate": 1000 / float64(width)} {
					key := labels.NewBuilder(s.Labels).Del(labels.MetricName).Set("kind",
						fmt.Sprint(prefix, kind)).Labels().String()
					got := values[key]
					if got == nil {
						t.Fatalf("%s at %d over %d ms is missing", key, at, width)
					}
					v := got.F
					if got.H != nil {
						v = got.H.Count
					}
					if math.Abs(v-want*by) > 1e-9*want*by {
						t.Fatalf("%s %s at %d over %d ms is %v, want %v (reset: %v)", s.Labels, key,
							at, width, v, want*by, reset)
					}
					if compared++; reset {
						anew++
					}
					if got.H == nil {
						continue
					}
					h := in[0].Samples[0].Hist.Copy()
					h.PositiveBuckets, h.Count, h.Sum = slices.Clone(buckets), 0, 0
					for _, n := range buckets {
						h.Count += n
					}
					got.H.Sum = 0
					for _, q := range []float64{0.1, 0.5, 0.99} {
						x, _ := promql.HistogramQuantile(q, got.H, "", posrange.PositionRange{})
						// Where just the half lies below a bound, a rounding decides.
						least, _ := promql.HistogramQuantile(q-1e-9, h.Compact(0), "",
							posrange.PositionRange{})
						y, _ := promql.HistogramQuantile(q+1e-9, h.Compact(0), "",
							posrange.PositionRange{})
						if x < least*(1-1e-9) || x > y*(1+1e-9) {
							t.Fatalf("quantile %v of %s at %d is %v, want %v", q, key, at, x, y)
						}
					}
				}
			}
		}
	}
	t.Logf("%d increases compared, %d of them over a reset", compared, anew)
	if anew == 0 {
		t.Error("none was over a reset")
	}
}

// extrapolated is what increase says of whole periods that follow each other: all of their
// increases, of which Prometheus does not see one millisecond at the begin and one at the end; by
// bucket too.
func extrapolated(in []querytest.Period, level int64) (increase float64, buckets []float64,
	reset bool) {
	last := in[0].Samples[len(in[0].Samples)-1]
	v := last.Value
	if last.Hist != nil {
		v = last.Hist.Count
		buckets = make([]float64, len(last.Hist.PositiveBuckets))
	}
	v -= in[0].Increase // with which the first one begins
	for _, p := range in {
		increase += p.Increase
		for i, n := range p.Increases {
			buckets[i] += n
		}
		reset = reset || p.Anew
	}
	sampled := float64(int64(len(in))*level - 2)
	before := 1.0
	if increase > 0 && v >= 0 {
		before = min(before, sampled*v/increase)
	}
	return increase * (sampled + before + 1) / sampled, buckets, reset
}

// TestAcrossRetention asks for steps over the instant from which on samples are kept: before it the
// answer is of rollups, after it of samples.
func TestAcrossRetention(t *testing.T) {
	o := newOld(t)
	now := o.End() + time.Minute.Milliseconds()
	border := o.aligned() + 137_000
	retention := time.Duration(now-border) * time.Millisecond
	first := rollup.FiveMinutes.Start(border) + rollup.FiveMinutes.Millis // where samples take over
	before := newBoth(t, o.Scraped(rollup.FiveMinutes.Millis).TSDB(t), o.store, now, retention,
		true)
	after := newBoth(t, o.TSDB(t), o.store, now, retention, true)
	for _, expr := range []string{`node_load1`, `cassandra_table_live_disk_space_bytes`,
		`cassandra_table_read_latency_seconds`, `sum by (table) (cassandra_table_reads_total)`,
		`cassandra_table_read_latency_seconds_bucket{le="+Inf"}`} {
		s := span{time.UnixMilli(first - hour), time.UnixMilli(first - 1), 47 * time.Second}
		if !before.same(expr, s) {
			t.Errorf("%s %s: no resolution is named", expr, s)
		}
		// Until the lookback is over, a series may be there that ended within the last period.
		s = span{time.UnixMilli(first + before.lookback.Milliseconds()),
			time.UnixMilli(first + hour), 47 * time.Second}
		if after.same(expr, s) {
			t.Errorf("%s %s: samples answer, and a resolution is named", expr, s)
		}
		// Both in one answer are what each is alone.
		whole := span{time.UnixMilli(first - 20*time.Minute.Milliseconds()),
			time.UnixMilli(first + 20*time.Minute.Milliseconds()), time.Minute}
		all, err := after.askOurs(expr, whole)
		if err != nil {
			t.Fatal(err)
		}
		for _, half := range []struct {
			of *both
			s  span
		}{{before, span{whole.from, time.UnixMilli(first - 1), whole.step}}, {after,
			span{time.UnixMilli(first + 5*time.Minute.Milliseconds()), whole.to, whole.step}}} {
			want, done := half.of.askTheirs(expr, half.s)
			if d := querytest.Diff(cut(all.Value.(promql.Matrix), half.s), want.Value, 0,
				false); d != "" {
				t.Errorf("%s %s of %s: %s", expr, half.s, whole, d)
			}
			done()
		}
		all.Close()
	}
}

// cut returns those points of a matrix that lie in a span.
func cut(m promql.Matrix, s span) (out promql.Matrix) {
	is := func(at int64) bool { return at >= s.from.UnixMilli() && at <= s.to.UnixMilli() }
	for _, of := range m {
		c := promql.Series{Metric: of.Metric}
		for _, p := range of.Floats {
			if is(p.T) {
				c.Floats = append(c.Floats, p)
			}
		}
		for _, p := range of.Histograms {
			if is(p.T) {
				c.Histograms = append(c.Histograms, p)
			}
		}
		if len(c.Floats)+len(c.Histograms) > 0 {
			out = append(out, c)
		}
	}
	return out
}

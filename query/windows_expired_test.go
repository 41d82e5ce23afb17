package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// TestWarningsOfRollups holds what an answer says of rollups: why they answer, what cannot be had
// of them, and what to do.
func TestWarningsOfRollups(t *testing.T) {
	o := newOld(t)
	at := o.aligned()
	five := map[rollup.Level]time.Duration{rollup.FiveMinutes: 48 * time.Hour}
	for _, c := range []struct {
		expr    string
		step    time.Duration
		expired bool // samples
		levels  map[rollup.Level]time.Duration
		want    string // empty: no warning
	}{
		{"rate(node_cpu_seconds_total[3m])", 5 * time.Minute, false, nil, ""},
		{"rate(node_cpu_seconds_total[5m])", 5 * time.Minute, false, nil,
			"values are rollups of 5m: use a step below 5m for single samples"},
		{"increase(node_cpu_seconds_total[1h])", time.Hour, false, nil,
			"values are rollups of 1h: use a step below 5m for single samples"},
		{"node_load1", 5 * time.Minute, false, nil,
			"values are rollups of 5m: use a step below 5m for single samples"},
		{"max_over_time(node_load1[1d])", 0, false, nil,
			"values are rollups of 5m: use a range below 1d for single samples"},
		{"rate(node_cpu_seconds_total[1m])", 5 * time.Minute, true, nil,
			"values are rollups of 5m, because samples of that time have expired: a window of 1m " +
				"cannot be had there, so use one of 5m or more"},
		{"count_over_time(node_load1[1h])", time.Minute, true, nil,
			"values are rollups of 5m, because samples of that time have expired: " +
				"count_over_time " +
				"needs single samples, so what it says there is of one value in 5m"},
		{"node_load1", time.Minute, true, nil,
			"values are rollups of 5m, because samples of that time have expired"},
		{"rate(node_cpu_seconds_total[5m])", 5 * time.Minute, true, five,
			"values are rollups of 1h, because rollups of 5m of that time have expired: a " +
				"window of 5m " +
				"cannot be had there, so use one of 1h or more"},
		{"node_load1", 0, true, five,
			"values are rollups of 1h, because samples of that time have expired"},
	} {
		now, retention := o.End()+time.Minute.Milliseconds(), 14*24*time.Hour
		if c.expired {
			now, retention = o.End()+20*24*hour, 24*time.Hour
		}
		b := newBothKept(t, nil, o.store, now, retention, c.levels, true)
		b.lookback = 0
		s := instant(at)
		if c.step > 0 {
			s = span{time.UnixMilli(at), time.UnixMilli(at + 2*hour), c.step}
		}
		a, err := b.askOurs(c.expr, s)
		if err != nil {
			t.Fatal(c.expr, err)
		}
		warnings, infos := a.Warnings.AsStrings(c.expr, 0, 0)
		found := slices.ContainsFunc(warnings, func(w string) bool {
			return strings.HasPrefix(w, "from 20") && strings.HasSuffix(w, " "+c.want)
		})
		if c.want == "" && len(warnings) > 0 || c.want != "" && (!found || len(warnings) != 1) {
			t.Errorf("%s at steps of %v warns of %q and %q, want %q", c.expr, c.step, warnings,
				infos, c.want)
		}
		if rows(a.Value) == 0 {
			t.Errorf("%s at steps of %v has no answer", c.expr, c.step)
		}
		a.Close()
	}
}

// TestRatesOverBorders asks for windows that overlap where samples, and rollups of 5 minutes, begin
// to be kept. A counter that began anew on one side, as some do, is no leap there.
func TestRatesOverBorders(t *testing.T) {
	o := newOld(t)
	compared, anew := 0, 0
	for range 8 {
		samples := o.aligned() + o.r.Int64N(hour)
		fine := samples - 3*hour + o.r.Int64N(2*hour)
		now := o.End() + time.Minute.Milliseconds()
		since := func(at int64) time.Duration { return time.Duration(now-at) * time.Millisecond }
		b := newBothKept(t, nil, o.store, now, since(samples),
			map[rollup.Level]time.Duration{rollup.FiveMinutes: since(fine)}, true)
		const width = 2 * hour
		s := span{time.UnixMilli(fine - hour), time.UnixMilli(samples + 2*hour),
			7 * time.Minute / 2}
		for _, name := range append(slices.Clone(querytest.Counters), querytest.Histograms[0],
			querytest.Histograms[0]+"_count") {
			a, err := b.askOurs(fmt.Sprintf("increase(%s[2h])", name), s)
			if err != nil {
				t.Fatal(name, err)
			}
			if _, resolution := warningsOf(a.Warnings, name); !resolution {
				t.Errorf("%s: no resolution is named", name)
			}
			of := map[string]promql.Series{}
			for _, one := range a.Value.(promql.Matrix) {
				of[one.Metric.String()] = one
			}
			for _, truth := range o.Series {
				if truth.Labels.Get(labels.MetricName) != name {
					continue
				}
				key := truth.Labels.DropReserved(func(name string) bool {
					return name == labels.MetricName
				})
				periods := truth.Periods(rollup.Hour.Millis)
				short := truth.Periods(rollup.FiveMinutes.Millis)
				for at, got := range numbersOf(of[key.String()]) {
					least, most, reset := around(periods, at-width, at)
					if !always(short, rollup.Hour.Start(at-width)-hour, at) {
						continue // it came or went
					}
					if compared++; reset {
						anew++
					}
					if got < 0.9*least || got > 1.2*most {
						t.Fatalf("%s at %d has %v, want %v to %v: samples from %d, rollups "+
							"of 5m from %d",
							truth.Labels, at, got, least, most, samples, fine)
					}
				}
			}
			a.Close()
		}
	}
	t.Logf("%d points compared, %d of them over a reset", compared, anew)
	if compared < 1000 || anew < 100 {
		t.Error("these are too few")
	}
}

// numbersOf returns a series' values by their instants; of histograms the counts.
func numbersOf(s promql.Series) map[int64]float64 {
	list := map[int64]float64{}
	for _, p := range s.Floats {
		list[p.T] = p.F
	}
	for _, p := range s.Histograms {
		list[p.T] = p.H.Count
	}
	return list
}

// always reports whether each of the periods of five minutes from from to to has a value.
func always(periods []querytest.Period, from, to int64) bool {
	n := int64(0)
	for _, p := range periods {
		if p.Start >= from && p.Start < to {
			n++
		}
	}
	return n == (to-from+rollup.FiveMinutes.Millis-1)/rollup.FiveMinutes.Millis
}

// around returns the increase of the periods within a window and of those that touch it, and
// whether the counter began anew.
func around(periods []querytest.Period, from, to int64) (least, most float64, reset bool) {
	level := rollup.Hour.Millis
	for _, p := range periods {
		if p.Start+level > from && p.Start < to {
			most += p.Increase
			reset = reset || p.Anew
		}
		if p.Start >= from && p.Start+level <= to {
			least += p.Increase
		}
	}
	return least, most, reset
}

package api_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"testing"
	"time"
)

// rolled is an element of an answer with rollups.
type rolled struct {
	ID      string
	Payload []struct {
		Metric, Type string
		Labels       map[string]string
		Values       []struct {
			Time                                                       time.Time
			Samples, First, Last, Min, Max, Sum, Mean, Increase, Value string
			Buckets                                                    []struct{ Le, Count string }
			Interval                                                   *struct{ Count, P99 string }
		}
	}
}

// TestRollups: what rollup=5m says of each kind is what the raw values of the same answer give.
func TestRollups(t *testing.T) {
	f := newFixture(t, inMemory, 1, 2, 20*time.Minute)
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	kinds := map[string]bool{}
	for _, metric := range []string{
		`{__name__=~"cassandra_table_.*|node_.*|cassandra_compaction_.*"}`,
	} {
		var raw []element
		f.get(f.metricsPath(0), url.Values{"metrics": {metric}, "period": {"1h"}}, &raw)
		var got []rolled
		f.get(f.metricsPath(0), url.Values{"metrics": {metric, metric}, "period": {"1h"},
			"rollup": {"5m"}}, &got)
		if len(got) != 1 || got[0].ID != f.nodes[0].ID.String() {
			t.Fatalf("%+v", got)
		}
		i := 0
		for _, p := range raw[0].Payload {
			if p.Type == "string" {
				continue
			}
			r := got[0].Payload[i]
			i++
			if r.Metric != p.Metric || r.Type != p.Type || len(r.Values) < 4 {
				t.Fatalf("%s has %d periods, expected %s", r.Metric, len(r.Values), p.Metric)
			}
			kinds[p.Type] = true
			for _, v := range r.Values {
				samples, sum, low, high := 0, 0.0, 0.0, 0.0
				first, last, before := -1, -1, -1
				for j, x := range p.Values {
					switch start := x.Time.Truncate(5 * time.Minute); {
					case start.Before(v.Time):
						before = j
						continue
					case start.After(v.Time):
						continue
					}
					if last = j; first < 0 {
						first = j
					}
					samples++
					if x.Value != "" {
						n := number(x.Value)
						if sum += n; samples == 1 || n < low {
							low = n
						}
						if samples == 1 || n > high {
							high = n
						}
					}
				}
				if number(v.Samples) != float64(samples) {
					t.Fatalf("%s at %s: %s samples, want %d", p.Metric, v.Time, v.Samples, samples)
				}
				switch p.Type {
				case "gauge":
					if v.First != p.Values[first].Value || v.Last != p.Values[last].Value ||
						number(v.Min) != low || number(v.Max) != high ||
						abs(number(v.Sum)-sum) > 1e-9*abs(sum) ||
						abs(number(v.Mean)-sum/float64(samples)) > 1e-5*abs(sum) {
						t.Errorf("%s at %s: %+v, want %v … %v, sum %v", p.Metric, v.Time, v, low,
							high, sum)
					}
				case "counter":
					from := p.Values[first].Value
					if before >= 0 {
						from = p.Values[before].Value
					}
					if want := number(p.Values[last].Value) -
						number(from); abs(number(v.Increase)-want) > 1e-6*abs(want)+1e-9 ||
						v.Last != p.Values[last].Value {
						t.Errorf("%s at %s: %+v, want an increase of %v", p.Metric, v.Time, v, want)
					}
				case "histogram":
					from := p.Values[first].Count
					if before >= 0 {
						from = p.Values[before].Count
					}
					want := number(p.Values[last].Count) - number(from)
					if v.Interval == nil || number(v.Interval.Count) != want ||
						number(v.Buckets[len(v.Buckets)-1].Count) != want {
						t.Errorf("%s at %s: %+v, want %v observations", p.Metric, v.Time, v, want)
					}
				}
			}
		}
		if i != len(got[0].Payload) {
			t.Errorf("%d series with rollups, want %d", len(got[0].Payload), i)
		}
	}
	for _, kind := range []string{"gauge", "counter", "histogram"} {
		if !kinds[kind] {
			t.Errorf("no %s was compared", kind)
		}
	}
	// A step of 5 minutes or more over more than 6 hours is answered from rollups, unless values
	// are asked for.
	gauge := `{__name__=~"node_.*|cassandra_table_memtable_switches_total"}`
	samples := func(query url.Values, level string, step time.Duration) (n float64) {
		t.Helper()
		r := f.ask(acmeKey, f.metricsPath(0), query)
		if got := r.header.Get("Ringwatch-Rollup"); r.status != 200 || got != level {
			t.Fatalf("%v: %d, level %q, want %q", query, r.status, got, level)
		}
		var got []rolled
		if err := json.Unmarshal(r.body, &got); err != nil {
			t.Fatal(err)
		}
		for _, p := range got[0].Payload {
			for _, v := range p.Values {
				if level == "" {
					if v.Value == "" && p.Type != "histogram" {
						t.Fatalf("%s: %+v", p.Metric, v)
					}
					continue
				}
				if v.Time.Truncate(step) != v.Time {
					t.Fatalf("a step begins at %s", v.Time)
				}
				n += number(v.Samples)
			}
		}
		return n
	}
	whole := samples(url.Values{"metrics": {gauge}, "period": {"7h"}, "rollup": {"5m"}}, "5m",
		5*time.Minute)
	if got := samples(url.Values{"metrics": {gauge}, "period": {"7h"}, "step": {"15m"}}, "5m",
		15*time.Minute); got != whole || got == 0 {
		t.Errorf("%v samples in steps of 15 minutes, %v in periods of 5", got, whole)
	}
	if got := samples(url.Values{"metrics": {gauge}, "period": {"7h"}, "step": {"2h"}}, "1h",
		2*time.Hour); got != whole {
		t.Errorf("%v samples in steps of 2 hours, %v in periods of 5 minutes", got, whole)
	}
	for _, values := range []url.Values{{"period": {"7h"}, "step": {"15m"}, "rollup": {"raw"}},
		{"period": {"5h"}, "step": {"15m"}}, {"period": {"7h"}, "step": {"4m"}}} {
		values.Set("metrics", gauge)
		samples(values, "", 0)
	}
	// A year of days is allowed where a year of values is not.
	var got []rolled
	f.get(f.metricsPath(0), url.Values{"metrics": {`{__name__=~"node_.*"}`}, "period": {"1y"},
		"rollup": {"1d"}}, &got)
	if len(got[0].Payload) == 0 {
		t.Error("a year of days has nothing")
	}
	if r := f.ask(otherKey, f.metricsPath(0), url.Values{"metrics": {"up"}, "period": {"1h"},
		"rollup": {"1h"}}); r.status != 404 {
		t.Errorf("another account's key: %d %s", r.status, r.body)
	}
}

func abs(v float64) float64 { return max(v, -v) }

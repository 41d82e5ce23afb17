package api_test

import (
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/engines"
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
	f := newFixture(t, engines.SharedRedis(t).Addr(), 1, 2, 20*time.Minute)
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	kinds := map[string]bool{}
	for _, metric := range []string{`{__name__=~"cassandra_table_.*|node_.*|cassandra_compaction_.*"}`} {
		var raw []element
		f.get(f.metricsPath(0), url.Values{"metrics": {metric}, "period": {"1h"}}, &raw)
		var got []rolled
		f.get(f.metricsPath(0), url.Values{"metrics": {metric, metric}, "period": {"1h"}, "rollup": {"5m"}}, &got)
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
					if v.First != p.Values[first].Value || v.Last != p.Values[last].Value || number(v.Min) != low || number(v.Max) != high ||
						abs(number(v.Sum)-sum) > 1e-9*abs(sum) || abs(number(v.Mean)-sum/float64(samples)) > 1e-5*abs(sum) {
						t.Errorf("%s at %s: %+v, want %v … %v, sum %v", p.Metric, v.Time, v, low, high, sum)
					}
				case "counter":
					from := p.Values[first].Value
					if before >= 0 {
						from = p.Values[before].Value
					}
					if want := number(p.Values[last].Value) - number(from); abs(number(v.Increase)-want) > 1e-6*abs(want)+1e-9 || v.Last != p.Values[last].Value {
						t.Errorf("%s at %s: %+v, want an increase of %v", p.Metric, v.Time, v, want)
					}
				case "histogram":
					from := p.Values[first].Count
					if before >= 0 {
						from = p.Values[before].Count
					}
					want := number(p.Values[last].Count) - number(from)
					if v.Interval == nil || number(v.Interval.Count) != want || number(v.Buckets[len(v.Buckets)-1].Count) != want {
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
	// A year of days is allowed where a year of values is not.
	var got []rolled
	f.get(f.metricsPath(0), url.Values{"metrics": {`{__name__=~"node_.*"}`}, "period": {"1y"}, "rollup": {"1d"}}, &got)
	if len(got[0].Payload) == 0 {
		t.Error("a year of days has nothing")
	}
	if r := f.ask(otherKey, f.metricsPath(0), url.Values{"metrics": {"up"}, "period": {"1h"}, "rollup": {"1h"}}); r.status != 404 {
		t.Errorf("another account's key: %d %s", r.status, r.body)
	}
}

func abs(v float64) float64 { return max(v, -v) }

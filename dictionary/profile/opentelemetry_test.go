package profile

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/otlptranslator"
)

// published are the metrics of the target system cassandra in OpenTelemetry's JMX scraper: name,
// unit, c for a counter, g for a gauge and n for a sum that may fall, and values of the attributes.
const published = `
cassandra.client.request.range_slice.latency.50p us g
cassandra.client.request.range_slice.latency.99p us g
cassandra.client.request.range_slice.latency.max us g
cassandra.client.request.read.latency.50p us g
cassandra.client.request.read.latency.99p us g
cassandra.client.request.read.latency.max us g
cassandra.client.request.write.latency.50p us g
cassandra.client.request.write.latency.99p us g
cassandra.client.request.write.latency.max us g
cassandra.compaction.tasks.completed {task} c
cassandra.compaction.tasks.pending {task} g
cassandra.storage.load.count By n
cassandra.storage.total_hints.count {hint} c
cassandra.storage.total_hints.in_progress.count {hint} n
cassandra.client.request.count {request} c operation=RangeSlice
cassandra.client.request.count {request} c operation=Read
cassandra.client.request.count {request} c operation=Write
cassandra.client.request.error.count {error} c operation=RangeSlice status=Failure
cassandra.client.request.error.count {error} c operation=RangeSlice status=Timeout
cassandra.client.request.error.count {error} c operation=RangeSlice status=Unavailable
cassandra.client.request.error.count {error} c operation=Read status=Failure
cassandra.client.request.error.count {error} c operation=Read status=Timeout
cassandra.client.request.error.count {error} c operation=Read status=Unavailable
cassandra.client.request.error.count {error} c operation=Write status=Failure
cassandra.client.request.error.count {error} c operation=Write status=Timeout
cassandra.client.request.error.count {error} c operation=Write status=Unavailable
`

// TestOpenTelemetry holds the profile to what is published, by the names that Prometheus itself
// gives it: no more and no less.
func TestOpenTelemetry(t *testing.T) {
	namer := otlptranslator.NewMetricNamer("",
		otlptranslator.UnderscoreEscapingWithSuffixes)
	kinds := map[string]otlptranslator.MetricType{"c": otlptranslator.MetricTypeMonotonicCounter,
		"g": otlptranslator.MetricTypeGauge, "n": otlptranslator.MetricTypeNonMonotonicCounter}
	want := map[string]bool{}
	for line := range strings.Lines(published) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		name, err := namer.Build(otlptranslator.Metric{Name: f[0], Unit: f[1], Type: kinds[f[2]]})
		if err != nil {
			t.Fatal(err)
		}
		want[strings.Join(append([]string{name}, f[3:]...), " ")] = true
	}
	r, err := Named("opentelemetry").renderer()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, list := range r.(*byRules).series {
		for _, of := range list {
			key := of.named.fill(make([]string, 2))
			if of.named.kind == "counter" {
				key += "_total"
			}
			for i := range of.named.labels {
				if name, value := of.named.labels[i].fill(make([]string, 2)); value != "" {
					key += " " + name + "=" + value
				}
			}
			if got[key] {
				t.Errorf("%s is there twice", key)
			}
			got[key] = true
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("there is\n%s\nnot\n%s", strings.Join(slices.Sorted(maps.Keys(got)), "\n"),
			strings.Join(slices.Sorted(maps.Keys(want)), "\n"))
	}
}

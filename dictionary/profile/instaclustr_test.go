package profile

import (
	"maps"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// TestInstaclustrQuantiles holds that what has counted nothing lately has quantiles of 0, as with
// the exporter, and that nothing else has more lines for it.
func TestInstaclustrQuantiles(t *testing.T) {
	bounds := &frame.Bounds{Exponent: -6, Upper: []int64{29, 35, 42, 60}}
	latency := &window.Metric{Type: "table", Name: "cassandra_table_read_latency_seconds",
		Kind: frame.Histogram, Unit: "seconds", HasSum: true, Exponent: -6, Bounds: bounds}
	sizes := &window.Metric{Type: "table", Name: "cassandra_table_estimated_partition_size_bytes",
		Kind: frame.GaugeHistogram, Bounds: &frame.Bounds{Upper: []int64{1, 2, 4}}}
	of := func(at int64, m *window.Metric, table string, counts ...int64) window.Series {
		return window.Series{Metric: m, At: []int64{at},
			Labels: labels.FromStrings(labels.MetricName, m.Name, "keyspace", "ks",
				"table", table),
			Histograms: []window.Histogram{window.NewHistogram(counts, 7)}}
	}
	before := []window.Series{of(1, latency, "busy", 9, 0, 0, 0, 0),
		of(1, latency, "rested", 0, 5, 0, 0, 0)}
	shown, err := Named("instaclustr_exporter").Show(t.Context(), sampleNode(), []window.Series{
		of(2, latency, "busy", 9, 0, 0, 1, 0), // in two minutes, one of up to 60 µs
		of(2, latency, "rested", 0, 5, 0, 0, 0),
		of(2, latency, "new", 0, 0, 0, 0, 0),
		of(2, latency, "beyond", 0, 0, 0, 0, 1),
		of(2, sizes, "busy", 0, 1, 0, 0),
		of(2, sizes, "empty", 0, 0, 0, 0),
	}, before)
	if err != nil {
		t.Fatal(err)
	}
	const reads, bytes = "cassandra_table_operation_latency_seconds",
		"cassandra_table_estimated_partition_size_bytes"
	want := map[string]float64{}
	summary := func(name, table string, count, sum, quantile float64) {
		want[name+"_count "+table], want[name+"_sum "+table] = count, sum
		for _, q := range []string{"0.5", "0.75", "0.95", "0.98", "0.99", "0.999"} {
			want[name+" "+table+" "+q] = quantile
		}
	}
	summary(reads, "busy", 10, 7e-6, 60e-6)
	summary(reads, "rested", 5, 7e-6, 0)
	summary(reads, "new", 0, 7e-6, 0)
	want[reads+"_count beyond"], want[reads+"_sum beyond"] = 1, 7e-6
	summary(bytes, "busy", 1, 0, 2)
	delete(want, bytes+"_sum busy") // it has none
	want[bytes+"_count empty"] = 0
	got := map[string]float64{}
	for i := range shown.Series {
		all := shown.Series[i].Labels
		key := all.Get(labels.MetricName) + " " + all.Get("table")
		if quantile := all.Get("quantile"); quantile != "" {
			key += " " + quantile
		}
		if all.Get("table") != "" {
			got[key] = shown.Series[i].Doubles[0]
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("there is\n%v, not\n%v", got, want)
	}
}

package query_test

import (
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
)

// TestQuantileWithoutSum wants the same quantiles of a histogram whether its sum is known or not.
func TestQuantileWithoutSum(t *testing.T) {
	db := teststorage.New(t)
	a := db.AppenderV2(t.Context())
	for name, sum := range map[string]float64{"known": 100, "unknown": math.NaN()} {
		h := &histogram.FloatHistogram{Schema: histogram.CustomBucketsSchema,
			CustomValues: []float64{1, 2, 4, 8}, Count: 100, Sum: sum,
			PositiveSpans: []histogram.Span{{Length: 5}}, PositiveBuckets: []float64{40, 30, 20, 9,
				1}}
		if _, err := a.Append(0, labels.FromStrings(labels.MetricName, "h", "sum", name), 0, 1000,
			0, nil, h, storage.AppendV2Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Commit(); err != nil {
		t.Fatal(err)
	}
	b := &both{T: t, theirs: newPromQL(), tsdb: db}
	for expr, want := range map[string]float64{
		`histogram_quantile(0.1, h)`: 0.25, `histogram_quantile(0.5, h)`: 1 + 1.0/3,
		`histogram_quantile(0.9, h)`:       4,
		`histogram_quantiles(h, "q", 0.8)`: 3, `histogram_fraction(0, 2, h)`: 0.7,
		`histogram_quantile(1, h)`: 8,
	} {
		r, done := b.askTheirs(expr, instant(1000))
		v, err := r.Vector()
		if err != nil || len(v) != 2 {
			t.Fatalf("%s: %v %v", expr, v, err)
		}
		for _, s := range v {
			if math.Abs(s.F-want) > 1e-9 {
				t.Errorf("%s of %s is %v, want %v", expr, s.Metric, s.F, want)
			}
		}
		done()
	}
	// What needs the sum still says that it is not known.
	r, done := b.askTheirs(`histogram_avg(h{sum="unknown"})`, instant(1000))
	defer done()
	if v := r.Value.(promql.Vector); len(v) != 1 || !math.IsNaN(v[0].F) {
		t.Errorf("the mean is %v, want NaN", v)
	}
}

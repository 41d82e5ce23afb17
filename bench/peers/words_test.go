package peers

import "testing"

// TestWords: what the shipped dashboards ask of native histograms has words for buckets.
func TestWords(t *testing.T) {
	native := func(metric string) bool { return metric == "h" }
	for expr, want := range map[string]string{
		`x`:                `x`,
		`sum(rate(x[1m]))`: `sum(rate(x[1m]))`,
		`sum by (a) (histogram_count(rate(h[1m])))`:                        `sum by (a) (rate(h_count[1m]))`,
		`histogram_sum(sum(rate(h[1m])))`:                                  `sum(rate(h_sum[1m]))`,
		`histogram_quantile(0.9, sum(rate(h{b="c"}[1m])))`:                 `histogram_quantile(0.9, sum by (le) (rate(h_bucket{b="c"}[1m])))`,
		`topk(10, histogram_quantile(0.9, sum by (a) (rate(h[1m]))) >= 0)`: `topk(10, histogram_quantile(0.9, sum by (a, le) (rate(h_bucket[1m]))) >= 0)`,
		`sum(rate(h[1m]))`: `sum by (le) (rate(h_bucket[1m]))`,
		`sum by (a) (histogram_quantile(0.9, sum by (a, b) (rate(h[1m]))))`: `sum by (a) (histogram_quantile(0.9, sum by (a, b, le) (rate(h_bucket[1m]))))`,
	} {
		if got, err := Words(expr, native); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", expr, got, err, want)
		}
	}
}

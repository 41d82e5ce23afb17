package promql

import "testing"

func TestQueryQuantiles(t *testing.T) {
	b := func(rule int, lower, upper, count string) queryBucket {
		return queryBucket{rule, lower,
			upper, count}
	}
	for _, c := range []struct {
		h    queryHistogram
		q    float64
		want string
	}{
		{queryHistogram{Count: "0"}, 0.5, "NaN"},
		{queryHistogram{Count: "10", Buckets: []queryBucket{b(0, "0", "10", "10")}}, 0.9, "9"},
		{queryHistogram{Count: "10", Buckets: []queryBucket{b(0, "-Inf", "10", "10")}}, 0.9, "9"},
		{queryHistogram{Count: "10", Buckets: []queryBucket{b(0, "-Inf", "-1", "10")}}, 0.9, "-1"},
		{queryHistogram{Count: "10", Buckets: []queryBucket{b(0, "0", "1", "5"), b(0, "1", "+Inf",
			"5")}}, 0.9, "1"},
		{queryHistogram{Count: "4", Buckets: []queryBucket{b(3, "-1", "1", "3"),
			b(0, "1", "2", "1")}},
			0.375, "0.5"},
		{queryHistogram{Count: "4", Buckets: []queryBucket{b(1, "-2", "-1", "1"), b(3, "-1", "1",
			"3")}}, 0.625, "-0.5"},
		{queryHistogram{Count: "4", Buckets: []queryBucket{b(3, "-1", "1", "4")}}, 0.5, "0"},
		{queryHistogram{Count: "4", Buckets: []queryBucket{b(0, "-5", "5", "2"),
			b(0, "5", "9", "2")}},
			0.25, "0"},
		{queryHistogram{Count: "10", Buckets: []queryBucket{b(0, "0", "1", "5")}}, 0.9, "NaN"},
		// half were NaN
		{queryHistogram{Count: "x", Buckets: []queryBucket{b(0, "0", "1", "5")}}, 0.9, "NaN"},
	} {
		if got := allDigits(c.h.quantile(c.q)); got != c.want {
			t.Errorf("the %g quantile of %+v is %s, want %s", c.q, c.h, got, c.want)
		}
	}
}

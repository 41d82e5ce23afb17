package literal_test

import (
	"math"
	"testing"

	"github.com/ringwatch/ringwatch/api/literal"
)

func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		v        int64
		exponent int
		want     string
	}{
		{0, -6, "0"}, {1, 0, "1"}, {-1, 0, "-1"}, {1500, -3, "1.5"}, {1500, -2, "15"},
		{1, -6, "0.000001"}, {-25, -1, "-2.5"}, {100, -1, "10"}, {7, 3, "7000"},
		{123456, -6, "0.123456"}, {math.MaxInt64, -9, "9223372036.854775807"},
		{math.MinInt64, 0, "-9223372036854775808"}, {10, -18, "0.00000000000000001"},
	} {
		if got := string(literal.AppendDecimal([]byte("x"), c.v, c.exponent)); got != "x"+c.want {
			t.Errorf("%d × 10^%d is %s, want x%s", c.v, c.exponent, got, c.want)
		}
	}
	for v, want := range map[float64]string{1.6: "1.6", 0: "0", 1e300: "1e+300", 1e-300: "1e-300",
		math.Inf(1): "+Inf", 123456789012: "123456789012"} {
		if got := string(literal.AppendDouble(nil, v)); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	if got := string(literal.AppendEstimate(nil, 0.00123000000000001)); got != "0.00123" {
		t.Error(got)
	}
}

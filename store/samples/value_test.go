package samples

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// integers are those that a double or a decimal scaling gets wrong first.
func integers() []int64 {
	list := []int64{0, 1, -1, 7, 1_500, 999_999_999_999, math.MaxInt64, math.MinInt64}
	for _, bits := range []int{31, 52, 53, 54, 60, 62} {
		for d := int64(-2); d <= 2; d++ {
			list = append(list, int64(1)<<bits+d, -(int64(1)<<bits)+d)
		}
	}
	r := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		list = append(list, int64(r.Uint64())>>r.IntN(64))
	}
	return list
}

// TestRowsAreExact: a sample of v1 and v2 gives back the integer it was, whatever its size and
// exponent, and needs the second column only where a double is not enough.
func TestRowsAreExact(t *testing.T) {
	for exponent := -12; exponent <= 9; exponent++ {
		doubled := 0
		for _, v := range integers() {
			in := window.Series{Metric: &window.Metric{Kind: frame.Gauge, Exponent: exponent},
				At: []int64{1}, Ints: []int64{v}}
			values := sampleValues(&in, 0)
			value := values[0].(float64)
			row := sampleRow{at: 1, value: &value}
			if exact, is := values[1].(int64); is {
				row.exact = &exact
				doubled++
				if math.Abs(float64(v)) <= 1<<50 && exponent <= 0 {
					t.Errorf("%d × 10^%d is written twice", v, exponent)
				}
			}
			out := window.Series{Metric: in.Metric}
			if err := row.appendTo(&out); err != nil || !slices.Equal(out.Ints, in.Ints) {
				t.Fatalf("%d × 10^%d came back as %v, %v", v, exponent, out.Ints, err)
			}
			// What an earlier writing left there does not count.
			stale := v/2 + 12345
			if row.exact == nil && scaled(stale, exponent) != value {
				row.exact = &stale
				out = window.Series{Metric: in.Metric}
				if err := row.appendTo(&out); err != nil || out.Ints[0] != v {
					t.Fatalf("%d × 10^%d beside %d came back as %v, %v", v, exponent, stale,
						out.Ints, err)
				}
			}
		}
		if doubled == 0 {
			t.Errorf("exponent %d: none needed a second column", exponent)
		}
	}
}

// TestHistogramRows: counts and sums come back; bytes that are none are an error or a histogram,
// and never more.
func TestHistogramRows(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 2000 {
		counts := make([]int64, 1+r.IntN(200))
		for range r.IntN(20) {
			counts[r.IntN(len(counts))] = int64(r.Uint64()) >> r.IntN(64)
		}
		h := window.NewHistogram(counts, int64(r.Uint64())>>r.IntN(64))
		b := appendHistogram(nil, &h)
		back, err := decodeHistogram(b, h.Size)
		if err != nil || back.Sum != h.Sum || !slices.Equal(back.Dense(nil), counts) {
			t.Fatalf("%v came back as %v, %v", h, back, err)
		}
		bad := bytes.Clone(b)
		bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		for _, b := range [][]byte{bad, bad[:r.IntN(len(bad))],
			append(bad, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1)} {
			if got, err := decodeHistogram(b, h.Size); err == nil && len(got.Dense(nil)) != h.Size {
				t.Fatalf("%d buckets of %d", len(got.Dense(nil)), h.Size)
			}
		}
	}
}

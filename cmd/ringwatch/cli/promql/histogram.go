package promql

import (
	"encoding/json"
	"errors"
	"math"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// queryHistogram is a native histogram: its buckets ascend, and empty ones are left out.
type queryHistogram struct {
	Count, Sum string
	Buckets    []queryBucket
}

type queryBucket struct {
	// which bounds are in the bucket: 0 the upper, 1 the lower, 2 none, 3 both
	rule                int
	lower, upper, count string
}

func (b *queryBucket) UnmarshalJSON(text []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if len(parts) != 4 {
		return errors.New("a bucket that has not four parts")
	}
	for i, into := range []any{&b.rule, &b.lower, &b.upper, &b.count} {
		if err := json.Unmarshal(parts[i], into); err != nil {
			return err
		}
	}
	return nil
}

// bounds writes the bucket as an interval.
func (b *queryBucket) bounds() string {
	open, end := "(", ")"
	if b.rule == 1 || b.rule == 3 {
		open = "["
	}
	if b.rule == 0 || b.rule == 3 {
		end = "]"
	}
	return open + screen.Plain(b.lower) + ", " + screen.Plain(b.upper) + end
}

// quantile estimates what the part q of the observations does not exceed, as if those of a bucket
// lay evenly in it. As in Prometheus, an open end of the buckets is not looked into, a bucket that
// begins it is taken to start at 0, and the bucket around 0, which has both its bounds, ends there
// if all others lie on one side.
func (h *queryHistogram) quantile(q float64) float64 {
	rank := q * screen.Number(h.Count)
	if !(rank > 0) || math.IsInf(rank, 0) { // no observations
		return math.NaN()
	}
	before := 0.0
	for i := range h.Buckets {
		b := &h.Buckets[i]
		lower, upper, count := screen.Number(b.lower), screen.Number(b.upper),
			screen.Number(b.count)
		// The counts are sums of floats, so the last bucket may miss the rank by a hair.
		if before+count < rank && (i < len(h.Buckets)-1 || before+count < rank*(1-1e-9)) {
			before += count
			continue
		}
		switch {
		case math.IsInf(upper, 1):
			return lower
		case math.IsInf(lower, -1) && upper <= 0:
			return upper
		case math.IsInf(lower, -1), b.rule == 3 && i == 0 && len(h.Buckets) > 1:
			lower = 0
		case b.rule == 3 && i == len(h.Buckets)-1 && i > 0:
			upper = 0
		}
		return lower + (upper-lower)*min(1, (rank-before)/count)
	}
	return math.NaN() // observations of NaN are in no bucket
}

// histogramColumns are what a line says of a histogram, and summary says it.
var histogramColumns = []string{"count", "sum", "p50", "p90", "p99"}

func (h *queryHistogram) summary(text func(string) string, write func(float64) string) []string {
	cells := []string{text(h.Count), text(h.Sum)}
	for _, q := range []float64{0.5, 0.9, 0.99} {
		cells = append(cells, write(h.quantile(q)))
	}
	return cells
}

// Package kernel computes functions of range vectors, and aggregations of what they give, over
// columns of numbers. A function slides over a series once; an aggregation takes series after
// series, so that what is held is groups times steps.
//
// What it promises: an answer is what Prometheus's engine makes of the same samples in the same
// order, to the last bit. What it does not know how to make so it says (Function, NewOperation, and
// Add's result), and whoever asks leaves it to the engine.
//
// What bites: an instant without a value has Missing in a row, which is a NaN. Ask IsMissing.
package kernel

import (
	"math"

	"github.com/prometheus/prometheus/model/value"
)

// Missing is in a row where a series has no value. No sample is it: it is PromQL's stale marker.
var Missing = math.Float64frombits(value.StaleNaN)

// IsMissing reports whether a row has no value at a place.
func IsMissing(v float64) bool { return math.Float64bits(v) == value.StaleNaN }

// Steps are the instants of an evaluation, in ms: N of them, each Every after the one before.
type Steps struct {
	First, Every int64
	N            int
}

// At returns an instant.
func (s Steps) At(i int) int64 { return s.First + int64(i)*s.Every }

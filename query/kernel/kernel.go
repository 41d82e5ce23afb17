// Package kernel computes functions of range vectors, and aggregations of their results, over
// columns of numbers: PromQL's inner loops. A function slides over each series once (Slider); an
// aggregation takes one series after another (Group), so that it holds groups × steps and not
// series × steps.
//
// Start with Slider and Operation:
//
//	Columns of a series ── Slider.Slide ──▶ a row: one value per step
//	rows of a group     ── Group.Add ─────▶ Group.Row
//
// What it promises: an answer equals that of Prometheus's engine for the same samples in the same
// order, to the last bit. What it cannot compute it says (Function, NewOperation, and Add's
// result), and the caller leaves it to the engine.
//
// What bites: a step without a value is Missing in a row, which is a NaN. Ask IsMissing.
//
// It imports none of our packages.
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

package main

import (
	"fmt"
	"math"

	"github.com/ringwatch/ringwatch/bench"
)

// exact is how far values that are the same may lie apart: engines add in different orders.
const exact = 1e-6

// difference is how two answers differ.
type difference struct {
	Series, OtherSeries int // of each
	Points              int // that both have
	Missing, More       int // points that only the other has, or only this one
	// points that only this one has and that say nothing: zeros of histograms that counted
	// nothing, which peers were not given, and NaN
	Nothing      int
	Median, Most float64 // of the values' distance as a share of the larger
	Apart        int     // points whose values differ
	example      string
}

// compare holds an answer against another one.
func compare(a, b values) difference {
	d := difference{Series: len(a), OtherSeries: len(b)}
	var apart []float64
	for labels, points := range a {
		for at, v := range points {
			w, found := b[labels][at]
			if !found && (v == 0 || math.IsNaN(v)) {
				d.Nothing++
				continue
			}
			if !found {
				d.More++
				d.example = fmt.Sprintf("only ours: {%s} %v at %v", labels, v, at)
				continue
			}
			far := 0.0
			if v != w && !(math.IsNaN(v) && math.IsNaN(w)) {
				far = math.Abs(v-w) / max(math.Abs(v), math.Abs(w))
			}
			if math.IsNaN(far) {
				far = 1
			}
			if far > exact {
				d.Apart++
			}
			if apart = append(apart, far); far > max(d.Most, exact) {
				d.Most = far
				d.example = fmt.Sprintf("{%s} at %v: ours %v, theirs %v", labels, at, v, w)
			}
		}
	}
	for labels, points := range b {
		for at, w := range points {
			if _, found := a[labels][at]; !found {
				d.Missing++
				d.example = fmt.Sprintf("only theirs: {%s} %v at %v", labels, w, at)
			}
		}
	}
	d.Points = len(apart)
	d.Median = bench.Median(apart)
	return d
}

// same reports whether the answers are one.
func (d *difference) same() bool {
	return d.Points > 0 && d.Missing+d.More == 0 && d.Most <= exact
}

// close reports whether they are as close as they can be: of the points a twentieth may be of one
// alone.
func (d *difference) close(near float64) bool {
	return d.Points > 0 && 20*(d.Missing+d.More) <= d.Points+d.Missing+d.More && d.Median <= near
}

func (d *difference) String() string {
	return fmt.Sprintf("%d and %d series, %d points in both, %d only here (and %d that say "+
		"nothing), %d only there, %d apart, %.2g in the median, %.2g at most; %s",
		d.Series, d.OtherSeries, d.Points, d.More, d.Nothing, d.Missing, d.Apart, d.Median, d.Most,
		d.example)
}

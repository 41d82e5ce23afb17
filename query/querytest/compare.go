package querytest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Diff says in words how a result differs from the one that is wanted; "" if it does not. Numbers
// are equal if all bits are; with a tolerance, if they differ by no more than that part of the
// larger one. NaN equals NaN. The order of series counts only if ordered, and not among equal
// values.
//
// Of histograms the buckets, the count, the sum and the bounds are compared. What they say of
// resets is not: Prometheus forgets it at the begin of each of its chunks, whose length has no
// meaning.
func Diff(got, want parser.Value, tolerance float64, ordered bool) string {
	g, w := rows(got), rows(want)
	if got.Type() != want.Type() {
		return fmt.Sprintf("a %s, want a %s", got.Type(), want.Type())
	}
	if ordered {
		for i := range min(len(g), len(w)) {
			if g[i].key != w[i].key && diffPoints(g[i].points, w[i].points, tolerance) != "" {
				return fmt.Sprintf("place %d is of %s, want %s", i, g[i].key, w[i].key)
			}
		}
	}
	byKey := func(a, b row) int { return strings.Compare(a.key, b.key) }
	slices.SortFunc(g, byKey)
	slices.SortFunc(w, byKey)
	for i, j := 0, 0; i < len(g) || j < len(w); i, j = i+1, j+1 {
		switch {
		case j == len(w) || i < len(g) && g[i].key < w[j].key:
			return fmt.Sprintf("%s is not wanted: %v (%d series, want %d)", g[i].key,
				first(g[i].points), len(g), len(w))
		case i == len(g) || g[i].key > w[j].key:
			return fmt.Sprintf("%s is missing: %v (%d series, want %d)", w[j].key,
				first(w[j].points), len(g), len(w))
		}
		if d := diffPoints(g[i].points, w[j].points, tolerance); d != "" {
			return g[i].key + ": " + d
		}
	}
	return ""
}

type row struct {
	key    string
	points []point
}

type point struct {
	at int64
	v  float64
	h  *histogram.FloatHistogram
}

func (p point) String() string {
	if p.h != nil {
		return fmt.Sprintf("%v @ %d", p.h, p.at)
	}
	return fmt.Sprintf("%v (%x) @ %d", p.v, math.Float64bits(p.v), p.at)
}

func first(list []point) any {
	if len(list) == 0 {
		return "nothing"
	}
	return list[0]
}

func rows(v parser.Value) (list []row) {
	take := func(l labels.Labels, points ...point) { list = append(list, row{l.String(), points}) }
	switch v := v.(type) {
	case promql.Vector:
		for _, s := range v {
			take(s.Metric, point{s.T, s.F, s.H})
		}
	case promql.Matrix:
		for _, s := range v {
			var points []point
			for _, p := range s.Floats {
				points = append(points, point{p.T, p.F, nil})
			}
			for _, p := range s.Histograms {
				points = append(points, point{p.T, 0, p.H})
			}
			slices.SortFunc(points, func(a, b point) int { return int(a.at - b.at) })
			take(s.Metric, points...)
		}
	case promql.Scalar:
		take(labels.EmptyLabels(), point{v.T, v.V, nil})
	case promql.String:
		take(labels.FromStrings("string", v.V), point{v.T, 0, nil})
	}
	return list
}

func diffPoints(got, want []point, tolerance float64) string {
	for i := range min(len(got), len(want)) {
		if !samePoint(got[i], want[i], tolerance) {
			return fmt.Sprintf("point %d is %v, want %v", i, got[i], want[i])
		}
	}
	if len(got) > len(want) {
		return fmt.Sprintf("point %d is not wanted: %v", len(want), got[len(want)])
	}
	if len(got) < len(want) {
		return fmt.Sprintf("point %d is missing: %v", len(got), want[len(got)])
	}
	return ""
}

func samePoint(a, b point, tolerance float64) bool {
	if a.at != b.at || (a.h == nil) != (b.h == nil) {
		return false
	}
	if a.h == nil {
		return same(a.v, b.v, tolerance)
	}
	if !same(a.h.Sum, b.h.Sum, tolerance) || !same(a.h.Count, b.h.Count, tolerance) ||
		a.h.Schema != b.h.Schema || !slices.Equal(a.h.CustomValues, b.h.CustomValues) {
		return false
	}
	x, y := dense(a.h), dense(b.h)
	for i := range max(len(x), len(y)) {
		var m, n float64
		if i < len(x) {
			m = x[i]
		}
		if i < len(y) {
			n = y[i]
		}
		if !same(m, n, tolerance) {
			return false
		}
	}
	return true
}

func dense(h *histogram.FloatHistogram) []float64 {
	list := make([]float64, len(h.CustomValues)+1)
	for it := h.PositiveBucketIterator(); it.Next(); {
		b := it.At()
		list[b.Index] = b.Count + 0 // -0 is no difference: an empty bucket may be left out
	}
	return list
}

func same(a, b, tolerance float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) && math.IsNaN(b)
	}
	if math.Float64bits(a) == math.Float64bits(b) {
		return true
	}
	return tolerance > 0 && (a == b || math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b)))
}

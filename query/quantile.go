package query

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
)

// Prometheus takes a histogram whose sum is NaN for one that has observed NaN. Its
// histogram_quantile then counts what lies in the buckets after the one with the quantile, forgets
// which one that was, and answers from the last (promql.HistogramQuantile, in 0.315 at least). Here
// NaN is the sum of a histogram of which Cassandra keeps none, and all observations are in buckets.
// So all three functions are given such histograms with another sum, which they do not use but for
// that.
func init() {
	for name, vector := range map[string]int{"histogram_quantile": 1, "histogram_quantiles": 0,
		"histogram_fraction": 2} {
		of := promql.FunctionCalls[name]
		promql.FunctionCalls[name] = func(vectors []promql.Vector, m promql.Matrix,
			args parser.Expressions,
			enh *promql.EvalNodeHelper) (promql.Vector, annotations.Annotations) {
			if vector < len(vectors) {
				vectors = slices.Clone(vectors)
				vectors[vector] = summed(vectors[vector])
			}
			return of(vectors, m, args, enh)
		}
	}
}

// summed returns a vector in which no histogram with custom buckets has NaN as its sum.
func summed(v promql.Vector) promql.Vector {
	copied := false
	for i, s := range v {
		if s.H == nil || s.H.Schema != histogram.CustomBucketsSchema || !math.IsNaN(s.H.Sum) {
			continue
		}
		if !copied {
			v, copied = slices.Clone(v), true
		}
		h := *s.H // the buckets are shared, and not changed
		h.Sum = 0
		v[i].H = &h
	}
	return v
}

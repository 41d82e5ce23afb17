package results

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/query/series"
)

// Between returns the points from from to to, both inclusive, of the series that have some. They
// are not copied.
func Between(m promql.Matrix, from, to int64) promql.Matrix {
	var list promql.Matrix
	for i := range m {
		at := func(p promql.FPoint, t int64) int { return int(min(max(p.T-t, -1), 1)) }
		a, _ := slices.BinarySearchFunc(m[i].Floats, from, at)
		b, _ := slices.BinarySearchFunc(m[i].Floats, to+1, at)
		if a < b {
			list = append(list, promql.Series{Metric: m[i].Metric, Floats: m[i].Floats[a:b]})
		}
	}
	return list
}

// Copied copies series: the engine uses those of an answer again.
func Copied(m promql.Matrix) promql.Matrix {
	list := make(promql.Matrix, len(m))
	for i := range m {
		list[i] = promql.Series{Metric: m[i].Metric, Floats: slices.Clone(m[i].Floats)}
	}
	return list
}

// Joined joins parts that follow each other, into series of their own, sorted by labels.
func Joined(parts []promql.Matrix) promql.Matrix {
	all := slices.Concat(parts...)
	slices.SortStableFunc(all, func(a, b promql.Series) int {
		return labels.Compare(a.Metric, b.Metric)
	})
	var list promql.Matrix
	for i := 0; i < len(all); {
		j, n := i, 0
		for ; j < len(all) && labels.Equal(all[i].Metric, all[j].Metric); j++ {
			n += len(all[j].Floats)
		}
		s := promql.Series{Metric: all[i].Metric, Floats: make([]promql.FPoint, 0, n)}
		for ; i < j; i++ {
			s.Floats = append(s.Floats, all[i].Floats...)
		}
		list = append(list, s)
	}
	if list == nil {
		list = promql.Matrix{}
	}
	return list
}

// PointsBytes is what series take.
func PointsBytes(parts ...promql.Matrix) (bytes int64) {
	for _, m := range parts {
		for i := range m {
			bytes += series.SeriesCost + int64(m[i].Metric.ByteSize()) +
				pointCost*int64(len(m[i].Floats))
		}
	}
	return bytes
}

package report

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// balanced are what should be even over the nodes of a cluster, rates over the time that each was
// heard of.
var balanced = []string{
	"n::reads", "n::writes", "n::load::value", "n::cpuUtilization", "n::connectedClients",
	"n::sstables", "n::networkIn", "n::networkOut",
}

func (m *maker) balance(ctx context.Context) {
	for _, name := range balanced {
		a, expr := m.named(name, catalog.NodeLabels...)
		if expr == nil {
			continue
		}
		list := slices.DeleteFunc(m.instant(ctx, name, expr()),
			func(s Series) bool { return m.gone[s.Labels["node"]] != nil })
		for _, s := range list {
			last := &s.Points[len(s.Points)-1]
			last.Value = m.heard.rate(&a.Picked[0], last.Value,
				m.heard.ofNode(s.Labels["node"]))
		}
		if len(list) < 2 {
			continue
		}
		slices.SortStableFunc(
			list,
			func(a, b Series) int { return cmp.Compare(b.last(), a.last()) },
		)
		most, least := &list[0], &list[len(list)-1]
		values := make([]float64, len(list))
		for i := range list {
			values[i] = list[i].last()
		}
		b := Balance{Entry: a.Name, Unit: a.Picked[0].Unit, Median: Number(median(values)),
			Most: m.address(most.Labels["node"]), MostHas: Number(most.last()),
			Least: m.address(least.Labels["node"]), LeastHas: Number(least.last()),
			NodeCount: len(list)}
		b.Uneven = b.Median > 0 &&
			(b.MostHas > unevenMore*b.Median || b.LeastHas < unevenLess*b.Median)
		m.report.Balance = append(m.report.Balance, b)
	}
	slices.SortStableFunc(m.report.Balance, func(a, b Balance) int {
		return cmp.Compare(b.distance(), a.distance())
	})
}

// median returns the middle of values; NaN of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	list := slices.Sorted(slices.Values(values))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

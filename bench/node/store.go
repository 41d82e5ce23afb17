package node

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/store"
)

// OpenStore connects a store, and makes its tables.
func OpenStore(ctx context.Context, c store.Config, m *store.Metrics) (*store.Store, error) {
	s, err := store.New(c, m)
	if err != nil {
		return nil, err
	}
	if err = s.Connect(ctx); err == nil {
		err = s.Apply(ctx)
	}
	if err != nil {
		s.Close()
	}
	return s, err
}

// Values are those of a counter or a gauge, by the values of its labels with a space between them.
func Values(of *prometheus.Registry, name string) map[string]float64 {
	values := map[string]float64{}
	families, err := of.Gather()
	if err != nil {
		panic(err) // the registry is ours
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, l := range metric.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			values[strings.Join(labels, " ")] = metric.GetCounter().GetValue() +
				metric.GetGauge().GetValue()
		}
	}
	return values
}

// Sum is that of all of Values.
func Sum(of *prometheus.Registry, name string) (sum float64) {
	for _, v := range Values(of, name) {
		sum += v
	}
	return sum
}

package index

import (
	"iter"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
)

// Metric is what is known of a metric beside its values.
type Metric struct {
	Name   string
	Kind   frame.Kind
	Unit   string
	Bounds *frame.Bounds // of a histogram
	HasSum bool          // of a histogram
}

// Metrics iterates over the metrics. No two have one name.
func (b *NodeSeries) Metrics() iter.Seq[Metric] {
	return func(yield func(Metric) bool) {
		for _, id := range b.metrics {
			if !yield(b.tables.metric(id)) {
				return
			}
		}
	}
}

// metric describes a metric by its number.
func (v *tables) metric(id uint32) Metric {
	m := v.metrics[id]
	return Metric{v.symbols[m.name], m.kind, v.symbols[m.unit], v.boundsOfMetric(&m), m.hasSum}
}

// Entities iterates over the labels of the entities, each by ascending name and without the node's
// own. The slice is valid until the next step.
func (b *NodeSeries) Entities() iter.Seq[[]labels.Label] {
	return func(yield func([]labels.Label) bool) {
		var list []labels.Label
		for _, id := range b.entities {
			e := b.tables.entities[id]
			list = list[:0]
			for i, name := range b.tables.schemas[e.schema] {
				list = append(list,
					labels.Label{Name: b.tables.symbols[name],
						Value: b.tables.symbols[b.tables.values[int(e.at)+i]]})
			}
			if !yield(list) {
				return
			}
		}
	}
}

// Place returns the labels that all the series share, without empty ones: a recorder's have none.
func (b *NodeSeries) Place() (list []labels.Label) {
	if frame.IsRecorder(b.Node) {
		return nil
	}
	for _, l := range [...]labels.Label{{Name: "cluster", Value: b.Cluster},
		{Name: "datacenter", Value: b.Datacenter}, {Name: "rack", Value: b.Rack},
		{Name: "node", Value: b.Node.String()}} {
		if l.Value != "" {
			list = append(list, l)
		}
	}
	return list
}

// NumEntities returns how many entities there are.
func (b *NodeSeries) NumEntities() int { return len(b.entities) }

// Series iterates over the label sets, as selecting.Select has them.
func (b *NodeSeries) Series() iter.Seq[labels.Labels] {
	return func(yield func(labels.Labels) bool) {
		build := labels.NewScratchBuilder(8)
		place := b.Place()
		for m := range b.Metrics() {
			for entity := range b.Entities() {
				build.Reset()
				build.Add(labels.MetricName, m.Name)
				for _, l := range place {
					build.Add(l.Name, l.Value)
				}
				for _, l := range entity {
					build.Add(l.Name, l.Value)
				}
				build.Sort()
				if !yield(build.Labels()) {
					return
				}
			}
		}
	}
}

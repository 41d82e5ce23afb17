package window

import (
	"fmt"
	"hash/fnv"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
)

// Dictionary is what the columns of one entity type refer to: whose they are, which metrics there
// are and which entities. It is immutable.
type Dictionary struct {
	Node                      uuid.UUID
	Cluster, Datacenter, Rack string
	// Key tells the dictionaries of a window apart. It is Type, or Type, "#" and a hash of Labels
	// if an agent that restarted within the window gave the type other labels.
	Key    string
	Type   string
	Labels []string   // label names
	Rows   [][]string // label values by entity, ascending, no two alike
	// in the agent's order; one that changed its definition within the window is there twice
	Metrics []Metric
}

// MetricKey tells metric number i apart from all others of the dictionary: its name, or its name,
// "#" and a hash of its definition if there is another of that name. It follows from the
// definitions and not from their order, so that a window that is stored again never mixes up two
// metrics.
func (d *Dictionary) MetricKey(i int) string {
	m := &d.Metrics[i]
	for j := range d.Metrics {
		if o := &d.Metrics[j]; j != i && o.Name == m.Name {
			bounds := frame.Bounds{}
			if m.Bounds != nil {
				bounds = *m.Bounds
			}
			return HashedKey(m.Name, m.Kind, m.Unit, m.Exponent, m.HasSum, bounds)
		}
	}
	return m.Name
}

// HashedKey returns a name with a hash of what else tells it apart.
func HashedKey(name string, facts ...any) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%#v", facts)
	return fmt.Sprintf("%s#%016x", name, h.Sum64())
}

// fixed returns a label that all entities of the dictionary share.
// What a recorder computes has no labels but those that rules gave it.
func (d *Dictionary) fixed(name string) (string, bool) {
	if frame.IsRecorder(d.Node) {
		return "", false
	}
	switch name {
	case "cluster":
		return d.Cluster, true
	case "datacenter":
		return d.Datacenter, true
	case "rack":
		return d.Rack, true
	case "node":
		return d.Node.String(), true
	}
	return "", false
}

// LabelsOf returns the labels of a series of a node with this id. Empty values are left out, as
// Prometheus does.
func (d *Dictionary) LabelsOf(b *labels.ScratchBuilder, node string, metric int,
	row int32) labels.Labels {
	b.Reset()
	add := func(name, value string) {
		if value != "" {
			b.Add(name, value)
		}
	}
	add(labels.MetricName, d.Metrics[metric].Name)
	if !frame.IsRecorder(d.Node) {
		add("cluster", d.Cluster)
		add("datacenter", d.Datacenter)
		add("rack", d.Rack)
		add("node", node)
	}
	for i, name := range d.Labels {
		add(name, d.Rows[row][i])
	}
	b.Sort()
	return b.Labels()
}

// SeriesLabels returns the labels of the series that a metric and a row make. b is scratch.
func (d *Dictionary) SeriesLabels(b *labels.ScratchBuilder, metric int, row int32) labels.Labels {
	return d.LabelsOf(b, d.Node.String(), metric, row)
}

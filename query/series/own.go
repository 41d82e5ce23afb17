package series

import (
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
)

// The names of series that are of no frame: what Ringwatch itself knows of a node. Only of a
// watched node frames have MetricUp: whether the target answered.
const (
	MetricUp   = "up"
	MetricSeen = "ringwatch_node_last_seen_timestamp_seconds"
	MetricInfo = "ringwatch_node_info"
)

// OwnMetrics are all of them.
var OwnMetrics = []string{MetricUp, MetricSeen, MetricInfo}

// NodeLabels returns a node's labels with a metric's name and more.
func NodeLabels(n *window.Node, name string, more ...labels.Label) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	for _, l := range append([]labels.Label{{Name: labels.MetricName, Value: name},
		{Name: "cluster", Value: n.Cluster}, {Name: "datacenter", Value: n.Datacenter},
		{Name: "rack", Value: n.Rack}, {Name: "node", Value: n.ID.String()}}, more...) {
		b.Set(l.Name, l.Value)
	}
	return b.Labels()
}

// InfoLabels returns a node's facts as labels, as kind what software it runs, and as name what
// people call it.
func InfoLabels(n *window.Node) labels.Labels {
	var facts []labels.Label
	for _, f := range n.Facts {
		facts = append(facts, labels.Label{Name: labelName(f.Name), Value: f.Value})
	}
	facts = append(facts, labels.Label{Name: "kind", Value: n.Kind()})
	if name := n.Name(); name != "" { // behind the facts: it stands for one of the same name
		facts = append(facts, labels.Label{Name: "name", Value: name})
	}
	return NodeLabels(n, MetricInfo, facts...)
}

// labelName makes a label's name of a fact's.
func labelName(fact string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, fact)
}

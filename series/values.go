package series

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// shapes calls visit for each node's dictionaries that have series which match. fresh says that visit has not been called with these metrics and entities before.
func (s *Selection) shapes(visit func(n *node, e *entry, metrics, entities []uint32, fresh bool)) {
	for _, sel := range s.selectors {
		sel.done = make([]bool, len(s.v.shapes))
	}
	for _, n := range s.nodes {
		s.each(n, func(sel *selector, e *entry, metrics, entities []uint32) {
			visit(n, e, metrics, entities, !sel.done[e.shape])
			sel.done[e.shape] = true
		})
	}
}

// Names returns the names of the labels that the series have, ascending.
func (s *Selection) Names() []string {
	names := map[string]bool{}
	places, schemas := make([]bool, len(s.v.places)), make([]bool, len(s.v.schemas))
	s.shapes(func(_ *node, e *entry, _, entities []uint32, fresh bool) {
		names[labels.MetricName], names["node"] = true, true
		places[e.place] = true
		if fresh {
			for _, id := range entities {
				schemas[s.v.entities[id].schema] = true
			}
		}
	})
	for i, is := range places {
		if is {
			p := s.v.places[i]
			names["cluster"], names["datacenter"], names["rack"] = names["cluster"] || p.cluster != "", names["datacenter"] || p.datacenter != "", names["rack"] || p.rack != ""
		}
	}
	for i, is := range schemas {
		if is {
			for _, name := range s.v.schemas[i] {
				names[s.v.symbols[name]] = true
			}
		}
	}
	return sorted(names)
}

// Values returns the values that a label has in the series, ascending.
func (s *Selection) Values(label string) []string {
	values := map[string]bool{}
	switch label {
	case "cluster", "datacenter", "rack":
		places := make([]bool, len(s.v.places))
		s.shapes(func(_ *node, e *entry, _, _ []uint32, _ bool) { places[e.place] = true })
		for i, is := range places {
			if p := s.v.places[i]; is {
				values[map[string]string{"cluster": p.cluster, "datacenter": p.datacenter, "rack": p.rack}[label]] = true
			}
		}
	case "node":
		var last *node
		s.shapes(func(n *node, _ *entry, _, _ []uint32, _ bool) {
			if n != last {
				values[n.id.String()] = true
				last = n
			}
		})
	default:
		for i, is := range s.symbols(label) {
			if is {
				values[s.v.symbols[i]] = true
			}
		}
	}
	delete(values, "") // to Prometheus an empty label is none
	return sorted(values)
}

// symbols marks the values of a metric's name or of an entity's label.
func (s *Selection) symbols(label string) []bool {
	marks := make([]bool, len(s.v.symbols))
	if label == labels.MetricName {
		s.shapes(func(_ *node, _ *entry, metrics, _ []uint32, fresh bool) {
			if fresh {
				for _, m := range metrics {
					marks[s.v.metrics[m].name] = true
				}
			}
		})
		return marks
	}
	columns := make([]int, len(s.v.schemas))
	for i, names := range s.v.schemas {
		columns[i] = slices.IndexFunc(names, func(name uint32) bool { return s.v.symbols[name] == label })
	}
	s.shapes(func(_ *node, _ *entry, _, entities []uint32, fresh bool) {
		if fresh {
			for _, id := range entities {
				if of := s.v.entities[id]; columns[of.schema] >= 0 {
					marks[s.v.values[int(of.at)+columns[of.schema]]] = true
				}
			}
		}
	})
	return marks
}

func sorted(set map[string]bool) []string {
	list := []string{}
	for v, is := range set {
		if is {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return list
}

package index

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// each calls visit with every place and every shape of which something is selected, though not
// with each place of each shape.
func (s *Selection) each(visit func(place uint32, metrics, entities []uint32)) {
	for _, sel := range s.selectors {
		profiles, shapes, places := make([]bool, len(s.v.profiles)), make([]bool, len(s.v.shapes)),
			make([]bool, len(s.v.places))
		for _, n := range s.nodes {
			if profiles[n.profile] ||
				len(sel.node) > 0 && (s.end.reached() || !all(sel.node, n.id.String())) {
				continue
			}
			profiles[n.profile] = true
			for _, of := range s.v.profiles[n.profile].spans {
				if shapes[of.shape] && places[of.place] || of.first > s.last || of.last < s.first ||
					!sel.place(of.place) {
					continue
				}
				if metrics, entities, ok := sel.shape(of.shape); ok {
					shapes[of.shape], places[of.place] = true, true
					visit(of.place, metrics, entities)
				}
			}
		}
	}
}

// Names returns the names of the labels that the series have, ascending.
func (s *Selection) Names() []string {
	names := map[string]bool{}
	if s.recorded != nil {
		for _, name := range s.recorded.Names() {
			names[name] = true
		}
	}
	places, schemas := make([]bool, len(s.v.places)), make([]bool, len(s.v.schemas))
	s.each(func(place uint32, _, entities []uint32) {
		names[labels.MetricName] = true
		places[place] = true
		for _, id := range entities {
			schemas[s.v.entities[id].schema] = true
		}
	})
	for i, is := range places {
		if p := s.v.places[i]; is && !s.isRecorded {
			names["node"] = true
			names["cluster"], names["datacenter"], names["rack"] = names["cluster"] ||
				p.cluster != "", names["datacenter"] || p.datacenter != "", names["rack"] ||
				p.rack != ""
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
	if s.recorded != nil {
		for _, v := range s.recorded.Values(label) {
			values[v] = true
		}
	}
	switch {
	case s.isRecorded:
		s.take(values, label)
	case label == "cluster", label == "datacenter", label == "rack":
		s.each(func(place uint32, _, _ []uint32) {
			values[s.v.places[place].label(label)] = true
		})
	case label == "node":
		for _, id := range s.nodesOnly() {
			values[id.String()] = true
		}
	default:
		s.take(values, label)
	}
	delete(values, "") // to Prometheus an empty label is none
	return sorted(values)
}

// take adds the values of a metric's name or of an entity's label.
func (s *Selection) take(values map[string]bool, label string) {
	for i, is := range s.symbols(label) {
		if is {
			values[s.v.symbols[i]] = true
		}
	}
}

func (p *place) label(name string) string {
	switch name {
	case "cluster":
		return p.cluster
	case "datacenter":
		return p.datacenter
	}
	return p.rack
}

// symbols marks the values of a metric's name or of an entity's label.
func (s *Selection) symbols(label string) []bool {
	marks := make([]bool, len(s.v.symbols))
	columns := make([]int, len(s.v.schemas))
	for i, names := range s.v.schemas {
		columns[i] = slices.IndexFunc(names, func(name uint32) bool {
			return s.v.symbols[name] == label
		})
	}
	s.each(func(_ uint32, metrics, entities []uint32) {
		if label == labels.MetricName {
			for _, m := range metrics {
				marks[s.v.metrics[m].name] = true
			}
			return
		}
		for _, id := range entities {
			if of := s.v.entities[id]; columns[of.schema] >= 0 {
				marks[s.v.values[int(of.at)+columns[of.schema]]] = true
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

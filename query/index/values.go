package index

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// each calls visit for every place and every content of which something is selected. It visits
// each place and each content at least once, not each pair of them.
func (s *Selection) each(visit func(place uint32, metrics, entities []uint32)) {
	for _, sel := range s.selectors {
		profiles, shapes, places := make([]bool, len(s.tables.histories)), make([]bool,
			len(s.tables.contents)),
			make([]bool, len(s.tables.places))
		for _, n := range s.nodes {
			if profiles[n.history] ||
				len(sel.node) > 0 && (s.canceled.check() || !matchesAll(sel.node, n.id.String())) {
				continue
			}
			profiles[n.history] = true
			for _, of := range s.tables.histories[n.history].periods {
				if shapes[of.content] && places[of.place] || of.first > s.last ||
					of.last < s.first ||
					!sel.place(of.place) {
					continue
				}
				if metrics, entities, ok := sel.content(of.content); ok {
					shapes[of.content], places[of.place] = true, true
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
	places, schemas := make([]bool, len(s.tables.places)), make([]bool, len(s.tables.schemas))
	s.each(func(place uint32, _, entities []uint32) {
		names[labels.MetricName] = true
		places[place] = true
		for _, id := range entities {
			schemas[s.tables.entities[id].schema] = true
		}
	})
	for i, is := range places {
		if p := s.tables.places[i]; is && !s.isRecorded {
			names["node"] = true
			names["cluster"], names["datacenter"], names["rack"] = names["cluster"] ||
				p.cluster != "", names["datacenter"] || p.datacenter != "", names["rack"] ||
				p.rack != ""
		}
	}
	for i, is := range schemas {
		if is {
			for _, name := range s.tables.schemas[i] {
				names[s.tables.symbols[name]] = true
			}
		}
	}
	return sorted(names)
}

// Metrics returns the metrics that the series have, each definition once, in no order.
func (s *Selection) Metrics() (list []Metric) {
	if s.recorded != nil {
		list = s.recorded.Metrics()
	}
	marks := make([]bool, len(s.tables.metrics))
	s.each(func(_ uint32, metrics, _ []uint32) {
		for _, id := range metrics {
			marks[id] = true
		}
	})
	for id, is := range marks {
		if is {
			list = append(list, s.tables.metric(uint32(id)))
		}
	}
	return list
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
			values[s.tables.places[place].label(label)] = true
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

// take adds the values of __name__ or of an entity's label.
func (s *Selection) take(values map[string]bool, label string) {
	for i, is := range s.symbols(label) {
		if is {
			values[s.tables.symbols[i]] = true
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

// symbols marks the symbols that are values of __name__ or of an entity's label.
func (s *Selection) symbols(label string) []bool {
	marks := make([]bool, len(s.tables.symbols))
	columns := make([]int, len(s.tables.schemas))
	for i, names := range s.tables.schemas {
		columns[i] = slices.IndexFunc(names, func(name uint32) bool {
			return s.tables.symbols[name] == label
		})
	}
	s.each(func(_ uint32, metrics, entities []uint32) {
		if label == labels.MetricName {
			for _, m := range metrics {
				marks[s.tables.metrics[m].name] = true
			}
			return
		}
		for _, id := range entities {
			if of := s.tables.entities[id]; columns[of.schema] >= 0 {
				marks[s.tables.values[int(of.at)+columns[of.schema]]] = true
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

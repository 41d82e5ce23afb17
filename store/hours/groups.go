package hours

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// baseType is the type of entities that a dictionary's key is about.
func baseType(key string) string {
	base, _, _ := strings.Cut(key, "#")
	return base
}

// group is what all sources have of one type of entities.
type group struct {
	base    string
	members []member
	bytes   map[string]int // of the parts of a metric, by its name
	names   []string       // of all metrics, those without parts first
}

type member struct {
	source     *hourSource
	number     int // in the head's types
	dictionary *window.Dictionary
}

// groups lists the types of all sources in ascending order.
func (m *hourMaker) groups() []*group {
	byBase := map[string]*group{}
	of := func(key string) *group {
		base := baseType(key)
		if byBase[base] == nil {
			byBase[base] = &group{base: base, bytes: map[string]int{}}
		}
		return byBase[base]
	}
	for _, s := range slices.Concat(m.raw, m.others) {
		if s.whole != nil {
			for i, t := range s.whole.Types {
				g := of(t.Key)
				g.members = append(g.members, member{s, i, t.Dictionary})
			}
			continue
		}
		dictionaries := make([]*window.Dictionary, len(s.head.Types))
		for i := range s.head.Types {
			t := &s.head.Types[i]
			d, err := s.find(t.Key, t.Hash)
			if err != nil {
				m.damaged(fmt.Errorf("type %s: %w", t.Key, err))
				continue
			}
			dictionaries[i] = d
			g := of(t.Key)
			g.members = append(g.members, member{s, i, d})
		}
		for id, b := range s.parts {
			if id.Type < len(dictionaries) && dictionaries[id.Type] != nil &&
				id.Metric < len(dictionaries[id.Type].Metrics) {
				d := dictionaries[id.Type]
				of(d.Key).bytes[d.Metrics[id.Metric].Name] += len(b)
			}
		}
	}
	var list []*group
	for _, base := range slices.Sorted(maps.Keys(byBase)) {
		g := byBase[base]
		known := map[string]bool{}
		for _, mb := range g.members {
			for i := range mb.dictionary.Metrics {
				if name := mb.dictionary.Metrics[i].Name; !known[name] {
					known[name] = true
					g.names = append(g.names, name)
				}
			}
		}
		slices.SortStableFunc(g.names, func(a, b string) int {
			return cmp.Compare(min(1, g.bytes[a]), min(1, g.bytes[b]))
		})
		list = append(list, g)
	}
	return list
}

// chunks divides a group's metrics, so that each has up to so many bytes of parts.
func (g *group) chunks(limit int) []map[string]bool {
	var list []map[string]bool
	size := limit
	for _, name := range g.names {
		if size += g.bytes[name]; size > limit || list == nil {
			list, size = append(list, map[string]bool{}), g.bytes[name]
		}
		list[len(list)-1][name] = true
	}
	return list
}

// windows returns what the members of a list of sources say of some metrics.
func (m *hourMaker) windows(g *group, sources []*hourSource,
	names map[string]bool) []*window.Window {
	only := func(d *window.Dictionary, i int) bool { return names[d.Metrics[i].Name] }
	var list []*window.Window
	for _, s := range sources {
		numbers := []int{} // not nil, which is all
		var parts []blobs.StoredPart
		var w *window.Window
		for _, mb := range g.members {
			if mb.source != s {
				continue
			}
			numbers = append(numbers, mb.number)
			if s.whole != nil {
				continue
			}
			t := &s.head.Types[mb.number]
			for i := range mb.dictionary.Metrics {
				if !only(mb.dictionary, i) || !t.Stored(i) {
					continue
				}
				for _, id := range s.head.PartsOf(mb.number, mb.dictionary, i, nil) {
					if b, found := s.parts[id]; found {
						parts = append(parts, blobs.StoredPart{PartID: id, Blob: b})
					} else {
						m.damaged(fmt.Errorf("a part of %s of type %s is not there",
							mb.dictionary.Metrics[i].Name, t.Key))
					}
				}
			}
		}
		if s.whole != nil {
			w = s.whole.Restrict(numbers, only)
		} else {
			var damage []error
			w, damage = blobs.FromParts(m.account, s.head, numbers, s.find, parts)
			for _, err := range damage {
				m.damaged(err)
			}
		}
		w.Node.ID = m.node
		list = append(list, w)
	}
	return list
}

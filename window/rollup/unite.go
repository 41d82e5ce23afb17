package rollup

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/window"
)

// group is one entity type of a node under one cluster, datacenter and rack: the union of all
// dictionaries that describe it, and where these stand in it.
//
// Dictionaries of one type may have other label names (its agent restarted as another version). An
// entity is its labels that are not empty, so that the union has all label names, and entities that
// differ in empty labels only are one.
type group struct {
	*window.Dictionary
	maps map[*window.Dictionary]*mapping
}

// mapping is how the numbers of a dictionary translate to those of its group; nil slices are the
// identity.
type mapping struct {
	rows, metrics   []int32 // to the group's
	byRow, byMetric []int32 // from the group's; −1: none
}

func (m *mapping) rowOf(row int32) int32 {
	if m.byRow == nil {
		return row
	}
	return m.byRow[row]
}

func (m *mapping) metricOf(metric int) int {
	if m.byMetric == nil {
		return metric
	}
	return int(m.byMetric[metric])
}

// unite groups dictionaries. Groups come by ascending key. The result does not depend on the order
// of the list.
func unite(list []*window.Dictionary) []*group {
	type identity struct{ typ, cluster, datacenter, rack string }
	members := map[identity][]*window.Dictionary{}
	types := map[string]int{}
	for _, d := range list {
		id := identity{d.Type, d.Cluster, d.Datacenter, d.Rack}
		if members[id] == nil {
			types[d.Type]++
		}
		if !slices.Contains(members[id], d) {
			members[id] = append(members[id], d)
		}
	}
	var groups []*group
	for id, ds := range members {
		key := id.typ
		if types[id.typ] > 1 {
			h := fnv.New64a()
			fmt.Fprintf(h, "%q", []string{id.cluster, id.datacenter, id.rack})
			key = fmt.Sprintf("%s#%016x", key, h.Sum64())
		}
		groups = append(groups, uniteOne(key, ds))
	}
	slices.SortFunc(groups, func(a, b *group) int { return strings.Compare(a.Key, b.Key) })
	return groups
}

func uniteOne(key string, ds []*window.Dictionary) *group {
	// Windows that follow each other usually have dictionaries of their own that say the same.
	var different []*window.Dictionary
	like := make([]int, len(ds)) // by dictionary: the number of the one that says the same
	for i, d := range ds {
		if like[i] = slices.IndexFunc(different, func(o *window.Dictionary) bool {
			return sameDictionary(d, o)
		}); like[i] < 0 {
			like[i] = len(different)
			different = append(different, d)
		}
	}
	g := uniteDifferent(key, different)
	for i, d := range ds {
		g.maps[d] = g.maps[different[like[i]]]
	}
	return g
}

// sameDictionary reports whether two dictionaries of a type have the same labels, metrics and
// entities in the same order.
func sameDictionary(a, b *window.Dictionary) bool {
	return slices.Equal(a.Labels, b.Labels) && len(a.Rows) == len(b.Rows) &&
		slices.EqualFunc(a.Metrics, b.Metrics, func(a, b window.Metric) bool {
			return a.Equal(&b)
		}) &&
		slices.EqualFunc(a.Rows, b.Rows, slices.Equal[[]string])
}

func uniteDifferent(key string, ds []*window.Dictionary) *group {
	if len(ds) == 1 {
		d := ds[0]
		if d.Key != key {
			c := *d
			c.Key = key
			d = &c
		}
		return &group{d, map[*window.Dictionary]*mapping{ds[0]: {}}}
	}
	// The same whatever comes first.
	sorted := slices.SortedFunc(slices.Values(ds), func(a, b *window.Dictionary) int {
		return slices.CompareFunc(a.Metrics, b.Metrics, compareMetrics)
	})
	first := sorted[0]
	out := &window.Dictionary{Node: first.Node, Cluster: first.Cluster,
		Datacenter: first.Datacenter, Rack: first.Rack, Key: key, Type: first.Type,
		Labels: first.Labels}
	for _, d := range sorted {
		if !slices.Equal(d.Labels, out.Labels) {
			out.Labels = slices.Concat(out.Labels, d.Labels)
			slices.Sort(out.Labels)
			out.Labels = slices.Compact(out.Labels)
		}
	}
	g := &group{out, map[*window.Dictionary]*mapping{}}
	index := map[string]int32{}
	for _, d := range sorted {
		m := &mapping{}
		g.maps[d] = m
		for i := range d.Metrics {
			m.metrics = append(m.metrics, metricIn(out, &d.Metrics[i]))
		}
		to := make([]int, len(d.Labels))
		for i, l := range d.Labels {
			to[i] = slices.Index(out.Labels, l)
		}
		for _, row := range d.Rows {
			values := row
			if !slices.Equal(d.Labels, out.Labels) {
				values = make([]string, len(out.Labels))
				for i, v := range row {
					values[to[i]] = v
				}
			}
			k := window.RowKey(values)
			n, found := index[k]
			if !found {
				n = int32(len(out.Rows))
				index[k] = n
				out.Rows = append(out.Rows, values)
			}
			m.rows = append(m.rows, n)
		}
	}
	var order []int32
	out.Rows, order = window.SortRows(out.Rows)
	for _, m := range g.maps {
		for i, n := range m.rows {
			m.rows[i] = order[n]
		}
		m.byRow, m.byMetric = inverse(m.rows, len(out.Rows)), inverse(m.metrics, len(out.Metrics))
	}
	return g
}

// metricIn returns the number of a metric in a dictionary; it is added if there is none of the same
// definition.
func metricIn(d *window.Dictionary, m *window.Metric) int32 {
	for i := range d.Metrics {
		if d.Metrics[i].Equal(m) {
			return int32(i)
		}
	}
	d.Metrics = append(d.Metrics, *m)
	return int32(len(d.Metrics) - 1)
}

func compareMetrics(a, b window.Metric) int {
	flag := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	c := cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind),
		strings.Compare(a.Unit, b.Unit), cmp.Compare(a.Exponent, b.Exponent),
		cmp.Compare(flag(a.HasSum), flag(b.HasSum)), cmp.Compare(a.Buckets(), b.Buckets()))
	if c == 0 && a.Bounds != nil && b.Bounds != nil {
		c = cmp.Or(cmp.Compare(a.Bounds.Exponent, b.Bounds.Exponent),
			slices.Compare(a.Bounds.Upper, b.Bounds.Upper))
	}
	return c
}

func inverse(numbers []int32, size int) []int32 {
	back := make([]int32, size)
	for i := range back {
		back[i] = -1
	}
	for i, n := range numbers {
		back[n] = int32(i)
	}
	return back
}

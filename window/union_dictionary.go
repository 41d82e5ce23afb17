package window

import (
	"slices"
	"strings"
)

// source is a type as one of the windows of a union has it, and how its numbers translate.
type source struct {
	*Type            // nil: the window has no such type
	rows     []int32 // its row → the union's; nil: they are the same
	byRow    []int32 // the union's row → its row, −1: it has none; nil: they are the same
	byMetric []int32 // the union's metric → its metric, −1: it has none; nil: they are the same
}

// metric returns the source's number of a metric of the union, −1 if it has none.
func (s *source) metric(m int) int {
	if s.byMetric == nil {
		return m
	}
	return int(s.byMetric[m])
}

// typeGroup is what the windows of a union have of one type with the same labels, under one name of
// the cluster, the datacenter and the rack: a node that moves is another series from then on.
type typeGroup struct {
	first   *Dictionary
	hashed  bool     // a window tells it apart from another of its name
	sources []source // by window
}

// groupTypes finds the types of a union. A type that is there twice in one window counts once.
func groupTypes(list []*Window) (all []*typeGroup) {
	for i, w := range list {
		for _, t := range w.Types {
			n := slices.IndexFunc(all, func(g *typeGroup) bool { return g.is(t.Dictionary) })
			if n < 0 {
				n = len(all)
				all = append(all,
					&typeGroup{first: t.Dictionary, sources: make([]source, len(list))})
			}
			g := all[n]
			g.hashed = g.hashed || t.Key != t.Dictionary.Type
			if g.sources[i].Type == nil {
				g.sources[i].Type = t
			}
		}
	}
	return all
}

func (g *typeGroup) is(d *Dictionary) bool {
	return g.first == d || g.first.Type == d.Type && slices.Equal(g.first.Labels, d.Labels) &&
		g.at(d)
}

// at reports whether a dictionary names the same cluster, datacenter and rack.
func (g *typeGroup) at(d *Dictionary) bool {
	return g.first.Cluster == d.Cluster && g.first.Datacenter == d.Datacenter &&
		g.first.Rack == d.Rack
}

// dictionary makes the union's dictionary and translates the sources' numbers. The usual case is
// that one of the windows has all that the others have: then it is that window's own.
func (g *typeGroup) dictionary(node *Node, all []*typeGroup) *Dictionary {
	d := &Dictionary{Node: node.ID, Cluster: g.first.Cluster, Datacenter: g.first.Datacenter,
		Rack: g.first.Rack, Key: g.first.Type, Type: g.first.Type, Labels: g.first.Labels,
		Rows: g.first.Rows, Metrics: slices.Clip(g.first.Metrics)}
	if g.hashed || slices.ContainsFunc(all, func(o *typeGroup) bool {
		return o != g && o.first.Type == d.Type
	}) {
		d.Key = hashed(d.Type, d.Labels)
	}
	if slices.ContainsFunc(all, func(o *typeGroup) bool {
		return o.first.Type == d.Type && !g.at(o.first)
	}) {
		d.Key = hashed(d.Type, d.Labels, d.Cluster, d.Datacenter, d.Rack)
	}
	before := g.first
	g.each(func(s *source) {
		if s.Dictionary != before {
			d.Rows = uniteRows(d.Rows, s.Rows)
			d.Metrics = uniteMetrics(d.Metrics, s.Metrics)
		}
		before = s.Dictionary
	})
	var known *Dictionary
	var last *source
	g.each(func(s *source) {
		if last != nil && last.Dictionary == s.Dictionary {
			s.rows, s.byRow, s.byMetric = last.rows, last.byRow, last.byMetric
			return
		}
		s.translate(d)
		last = s
		if s.rows == nil && s.byMetric == nil && s.is(d) {
			known = s.Dictionary
		}
	})
	if known != nil {
		return known
	}
	return d
}

// each calls f for each window's source.
func (g *typeGroup) each(f func(s *source)) {
	for i := range g.sources {
		if g.sources[i].Type != nil {
			f(&g.sources[i])
		}
	}
}

// is reports whether all but rows and metrics is the same.
func (d *Dictionary) is(o *Dictionary) bool {
	return d.Node == o.Node && d.Cluster == o.Cluster && d.Datacenter == o.Datacenter &&
		d.Rack == o.Rack && d.Key == o.Key && d.Type == o.Type && slices.Equal(d.Labels, o.Labels)
}

// uniteRows returns the rows of both lists. It is one of the lists if that has all.
func uniteRows(a, b [][]string) [][]string {
	n := 0
	eachRow(a, b, func(int, int) { n++ })
	switch n {
	case len(a):
		return a
	case len(b):
		return b
	}
	out := make([][]string, 0, n)
	eachRow(a, b, func(i, j int) {
		if i < 0 {
			out = append(out, b[j])
		} else {
			out = append(out, a[i])
		}
	})
	return out
}

// eachRow calls f for each row of two ascending lists, with its index in both; −1: it is not there.
func eachRow(a, b [][]string, f func(i, j int)) {
	for i, j := 0, 0; i < len(a) || j < len(b); {
		order := 0
		switch {
		case i == len(a):
			order = 1
		case j == len(b):
			order = -1
		default:
			order = slices.CompareFunc(a[i], b[j], strings.Compare)
		}
		switch {
		case order < 0:
			f(i, -1)
			i++
		case order > 0:
			f(-1, j)
			j++
		default:
			f(i, j)
			i, j = i+1, j+1
		}
	}
}

// uniteMetrics returns a and those of b that are not in a.
func uniteMetrics(a, b []Metric) []Metric {
	next := 0
	for i := range b {
		n := find(a, &b[i], next)
		if n < 0 {
			n = len(a)
			a = append(a, b[i])
		}
		next = n + 1
	}
	return a
}

// find returns the number of a metric in a list, −1 if there is none. It looks at next first.
func find(list []Metric, m *Metric, next int) int {
	if next < len(list) && list[next].same(m) {
		return next
	}
	return slices.IndexFunc(list, func(o Metric) bool { return o.same(m) })
}

// translate sets how the source's numbers and those of the union's dictionary translate.
func (s *source) translate(d *Dictionary) {
	if len(s.Rows) < len(d.Rows) { // else they are the same
		s.rows, s.byRow = make([]int32, len(s.Rows)), make([]int32, len(d.Rows))
		eachRow(d.Rows, s.Rows, func(i, j int) {
			s.byRow[i] = int32(j)
			if j >= 0 {
				s.rows[j] = int32(i)
			}
		})
	}
	s.byMetric = inverse(nil, len(d.Metrics))
	next, same := 0, len(s.Metrics) == len(d.Metrics)
	for i := range s.Metrics {
		n := find(d.Metrics, &s.Metrics[i], next)
		s.byMetric[n] = int32(i)
		same = same && n == i
		next = n + 1
	}
	if same {
		s.byMetric = nil
	}
}

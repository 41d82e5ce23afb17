package window

import (
	"iter"
	"slices"
	"strings"
)

// source is a type as one of the windows of a union has it, and how its numbers translate.
type source struct {
	typ      *Type   // nil: the window has no such type
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
			if g.sources[i].typ == nil {
				g.sources[i].typ = t
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
	for s := range g.described() {
		if s.typ.Dictionary != before {
			d.Rows = uniteRows(d.Rows, s.typ.Rows)
			d.Metrics = uniteMetrics(d.Metrics, s.typ.Metrics)
		}
		before = s.typ.Dictionary
	}
	var known *Dictionary
	var last *source
	for s := range g.described() {
		if last != nil && last.typ.Dictionary == s.typ.Dictionary {
			s.rows, s.byRow, s.byMetric = last.rows, last.byRow, last.byMetric
			continue
		}
		s.translate(d)
		last = s
		if s.rows == nil && s.byMetric == nil && alike(s.typ.Dictionary, d) {
			known = s.typ.Dictionary
		}
	}
	if known != nil {
		return known
	}
	return d
}

// described are the sources of the windows that have the type.
func (g *typeGroup) described() iter.Seq[*source] {
	return func(yield func(*source) bool) {
		for i := range g.sources {
			if s := &g.sources[i]; s.typ != nil && !yield(s) {
				return
			}
		}
	}
}

// alike reports whether all but rows and metrics of two dictionaries is the same.
func alike(d, o *Dictionary) bool {
	return d.Node == o.Node && d.Cluster == o.Cluster && d.Datacenter == o.Datacenter &&
		d.Rack == o.Rack && d.Key == o.Key && d.Type == o.Type && slices.Equal(d.Labels, o.Labels)
}

// uniteRows returns the rows of both lists. It is one of the lists if that has all.
func uniteRows(a, b [][]string) [][]string {
	n := 0
	for range rowPairs(a, b) {
		n++
	}
	switch n {
	case len(a):
		return a
	case len(b):
		return b
	}
	out := make([][]string, 0, n)
	for i, j := range rowPairs(a, b) {
		if i < 0 {
			out = append(out, b[j])
		} else {
			out = append(out, a[i])
		}
	}
	return out
}

// rowPairs are the rows of two ascending lists, each with its index in both; −1: it is not there.
func rowPairs(a, b [][]string) iter.Seq2[int, int] {
	return func(yield func(i, j int) bool) {
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
			var more bool
			switch {
			case order < 0:
				more = yield(i, -1)
				i++
			case order > 0:
				more = yield(-1, j)
				j++
			default:
				more = yield(i, j)
				i, j = i+1, j+1
			}
			if !more {
				return
			}
		}
	}
}

// uniteMetrics returns a and those of b that are not in a.
func uniteMetrics(a, b []Metric) []Metric {
	next := 0
	for i := range b {
		n := findMetric(a, &b[i], next)
		if n < 0 {
			n = len(a)
			a = append(a, b[i])
		}
		next = n + 1
	}
	return a
}

// findMetric returns the number of a metric in a list, −1 if there is none. It looks at next first.
func findMetric(list []Metric, m *Metric, next int) int {
	if next < len(list) && list[next].Same(m) {
		return next
	}
	return slices.IndexFunc(list, func(o Metric) bool { return o.Same(m) })
}

// translate sets how the source's numbers and those of the union's dictionary translate.
func (s *source) translate(d *Dictionary) {
	if len(s.typ.Rows) < len(d.Rows) { // else they are the same
		s.rows, s.byRow = make([]int32, len(s.typ.Rows)), make([]int32, len(d.Rows))
		for i, j := range rowPairs(d.Rows, s.typ.Rows) {
			s.byRow[i] = int32(j)
			if j >= 0 {
				s.rows[j] = int32(i)
			}
		}
	}
	s.byMetric = inverse(nil, len(d.Metrics))
	next, identical := 0, len(s.typ.Metrics) == len(d.Metrics)
	for i := range s.typ.Metrics {
		n := findMetric(d.Metrics, &s.typ.Metrics[i], next)
		s.byMetric[n] = int32(i)
		identical = identical && n == i
		next = n + 1
	}
	if identical {
		s.byMetric = nil
	}
}

package uniting

import (
	"iter"
	"slices"

	"github.com/ringwatch/ringwatch/window"
)

// typeGroup is what the windows of a union have of one type with the same labels, under one name of
// the cluster, the datacenter and the rack: a node that moves is another series from then on.
type typeGroup struct {
	first   *window.Dictionary
	hashed  bool     // a window tells it apart from another of its name
	sources []source // by window
}

// groupTypes finds the types of a union. A type that is there twice in one window counts once.
func groupTypes(list []*window.Window) (all []*typeGroup) {
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

func (g *typeGroup) is(d *window.Dictionary) bool {
	return g.first == d || g.first.Type == d.Type && slices.Equal(g.first.Labels, d.Labels) &&
		g.at(d)
}

// at reports whether a dictionary names the same cluster, datacenter and rack.
func (g *typeGroup) at(d *window.Dictionary) bool {
	return g.first.Cluster == d.Cluster && g.first.Datacenter == d.Datacenter &&
		g.first.Rack == d.Rack
}

// dictionary makes the union's dictionary and translates the sources' numbers. The usual case is
// that one of the windows has all that the others have: then it is that window's own.
func (g *typeGroup) dictionary(node *window.Node, all []*typeGroup) *window.Dictionary {
	d := &window.Dictionary{Node: node.ID, Cluster: g.first.Cluster, Datacenter: g.first.Datacenter,
		Rack: g.first.Rack, Key: g.first.Type, Type: g.first.Type, Labels: g.first.Labels,
		Rows: g.first.Rows, Metrics: slices.Clip(g.first.Metrics)}
	if g.hashed || slices.ContainsFunc(all, func(o *typeGroup) bool {
		return o != g && o.first.Type == d.Type
	}) {
		d.Key = window.HashedKey(d.Type, d.Labels)
	}
	if slices.ContainsFunc(all, func(o *typeGroup) bool {
		return o.first.Type == d.Type && !g.at(o.first)
	}) {
		d.Key = window.HashedKey(d.Type, d.Labels, d.Cluster, d.Datacenter, d.Rack)
	}
	before := g.first
	for s := range g.described() {
		if s.typ.Dictionary != before {
			d.Rows = uniteRows(d.Rows, s.typ.Rows)
			d.Metrics = uniteMetrics(d.Metrics, s.typ.Metrics)
		}
		before = s.typ.Dictionary
	}
	var known *window.Dictionary
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
func alike(d, o *window.Dictionary) bool {
	return d.Node == o.Node && d.Cluster == o.Cluster && d.Datacenter == o.Datacenter &&
		d.Rack == o.Rack && d.Key == o.Key && d.Type == o.Type && slices.Equal(d.Labels, o.Labels)
}

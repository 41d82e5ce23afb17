// Package fleet is the nodes that a key may see (Fleet), which of them a selector's places mean
// (Place), and the lists of them by account (List).
//
// What bites: a List remembers an account's nodes for as long as who asks allows, and longer while
// the store is away. A Fleet is shared, so nobody changes it: when the list changes there is
// another one.
//
// It may import access/account, frame and window.
package fleet

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Fleet is a list of nodes that some key may see, with what plans ask of it again and again. Nobody
// changes it: when the list changes there is another one.
type Fleet struct {
	Nodes     []window.Node // by cluster, datacenter, rack and id
	recorders bool          // they are recorders

	once   sync.Once
	ids    []string          // the nodes' ids as texts
	places map[uuid.UUID]int // where in nodes
	runs   []int             // where runs of nodes of one cluster, datacenter and rack end
	sendUp bool              // some are watched

	sum    sync.Once
	digest uint64 // of all that answers follow from
}

// index makes what is looked up in.
func (f *Fleet) index() {
	f.once.Do(func() {
		f.ids, f.places = make([]string, len(f.Nodes)), make(map[uuid.UUID]int, len(f.Nodes))
		for i := range f.Nodes {
			n := &f.Nodes[i]
			f.ids[i], f.places[n.ID] = n.ID.String(), i
			f.sendUp = f.sendUp || n.Watched()
			if i > 0 && !sharePlace(n, &f.Nodes[i-1]) {
				f.runs = append(f.runs, i)
			}
		}
		if len(f.Nodes) > 0 {
			f.runs = append(f.runs, len(f.Nodes))
		}
	})
}

// Watched reports whether some of the nodes are read from outside, and so send up themselves.
func (f *Fleet) Watched() bool {
	f.index()
	return f.sendUp
}

func sharePlace(a, b *window.Node) bool {
	return a.Cluster == b.Cluster && a.Datacenter == b.Datacenter && a.Rack == b.Rack
}

// equalNodes reports whether nothing of a node has changed.
func equalNodes(a, b window.Node) bool {
	return a.ID == b.ID && sharePlace(&a, &b) && a.Account == b.Account &&
		a.Interval == b.Interval &&
		slices.Equal(a.Facts, b.Facts)
}

// Hash returns a number for who the nodes are, where they are, how often they send and their facts.
func (f *Fleet) Hash() uint64 {
	f.sum.Do(func() {
		h := fnv.New64a()
		var b []byte
		for i := range f.Nodes {
			n := &f.Nodes[i]
			b = append(b[:0], n.ID[:]...)
			b = binary.AppendVarint(b, n.Interval)
			for _, text := range []string{n.Cluster, n.Datacenter, n.Rack} {
				b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
			}
			b = binary.AppendUvarint(b, uint64(len(n.Facts)))
			for _, fact := range n.Facts {
				b = append(binary.AppendUvarint(b, uint64(len(fact.Name))), fact.Name...)
				b = append(binary.AppendUvarint(b, uint64(len(fact.Value))), fact.Value...)
			}
			_, _ = h.Write(b) // never fails
		}
		f.digest = h.Sum64()
	})
	return f.digest
}

// Set is a subset of a fleet, by place in its list. nil: all nodes.
type Set []bool

// Count returns how many they are.
func (p Set) Count(f *Fleet) (n int) {
	if p == nil {
		return len(f.Nodes)
	}
	for _, is := range p {
		if is {
			n++
		}
	}
	return n
}

// Or returns the union.
func (p Set) Or(other Set) Set {
	if p == nil || other == nil {
		return nil
	}
	for i, is := range other {
		p[i] = p[i] || is
	}
	return p
}

// List returns those nodes; they are not to be changed.
func (p Set) List(f *Fleet) []window.Node {
	n := p.Count(f)
	if n == len(f.Nodes) {
		return slices.Clip(f.Nodes)
	}
	list := make([]window.Node, 0, n)
	for i, is := range p {
		if is {
			list = append(list, f.Nodes[i])
		}
	}
	return list
}

// Place are the matchers of where nodes are: those of cluster, datacenter, rack and node.
type Place []*labels.Matcher

// Pick returns the nodes whose place and id are asked for. Places are looked at once for all nodes
// that have them. What rules recorded has a place in its own labels only, and nearly always its
// recorder's cluster: the index knows the rest.
func (p Place) Pick(f *Fleet) Set {
	if len(p) == 0 {
		return nil
	}
	f.index()
	list := make(Set, len(f.Nodes))
	node, named := p.nodeIDs()
	begin := 0
	for _, end := range f.runs {
		if p.hasNode(&f.Nodes[begin]) {
			for i := begin; i < end; i++ {
				list[i] = true
			}
		}
		begin = end
	}
	if named != nil && !f.recorders {
		had := list
		list = make(Set, len(f.Nodes))
		for _, id := range named {
			if i, is := f.places[id]; is {
				list[i] = had[i]
			}
		}
	}
	if len(node) > 0 && !f.recorders {
		for i := range list {
			if list[i] {
				list[i] = !slices.ContainsFunc(node, func(m *labels.Matcher) bool {
					return !m.Matches(f.ids[i])
				})
			}
		}
	}
	return list
}

// nodeIDs returns the matchers of node, and if one of them names all that it may match, these.
func (p Place) nodeIDs() (node []*labels.Matcher, named []uuid.UUID) {
	for _, m := range p {
		if m.Name != "node" {
			continue
		}
		node = append(node, m)
		texts := m.SetMatches()
		switch {
		case m.Type == labels.MatchEqual:
			texts = []string{m.Value}
		case m.Type != labels.MatchRegexp || len(texts) == 0:
			continue
		}
		named = []uuid.UUID{} // not nil, which is any
		for _, text := range texts {
			if id, err := uuid.Parse(text); err == nil {
				named = append(named, id)
			}
		}
	}
	return node, named
}

// hasNode reports whether a node's cluster, datacenter and rack are asked for.
func (p Place) hasNode(n *window.Node) bool {
	for _, m := range p {
		if frame.IsRecorder(n.ID) && (m.Name != "cluster" || n.Cluster == frame.EveryCluster) {
			continue
		}
		v := ""
		switch m.Name {
		case "cluster":
			v = n.Cluster
		case "datacenter":
			v = n.Datacenter
		case "rack":
			v = n.Rack
		default:
			continue
		}
		if !m.Matches(v) {
			return false
		}
	}
	return true
}

// Subset returns the nodes whose ids are in a list. The list is mostly in the fleet's order.
func (f *Fleet) Subset(ids []uuid.UUID) Set {
	list := make(Set, len(f.Nodes))
	next := 0
	for _, id := range ids {
		i, is := next, next < len(f.Nodes) && f.Nodes[next].ID == id
		if !is {
			f.index()
			if i, is = f.places[id]; !is {
				continue
			}
		}
		list[i] = true
		next = i + 1
	}
	return list
}

package query

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
)

// fleet is a list of nodes that some key may see, with what plans ask of it again and again. Nobody
// changes it: when the list changes there is another one.
type fleet struct {
	nodes     []Node // by cluster, datacenter, rack and id
	recorders bool   // they are recorders

	once   sync.Once
	ids    []string          // the nodes' ids as texts
	places map[uuid.UUID]int // where in nodes
	runs   []int             // where runs of nodes of one cluster, datacenter and rack end
	sendUp bool              // some are watched

	sum    sync.Once
	digest uint64 // of all that answers follow from
}

// index makes what is looked up in.
func (f *fleet) index() {
	f.once.Do(func() {
		f.ids, f.places = make([]string, len(f.nodes)), make(map[uuid.UUID]int, len(f.nodes))
		for i := range f.nodes {
			n := &f.nodes[i]
			f.ids[i], f.places[n.ID] = n.ID.String(), i
			f.sendUp = f.sendUp || n.Watched()
			if i > 0 && !samePlace(n, &f.nodes[i-1]) {
				f.runs = append(f.runs, i)
			}
		}
		if len(f.nodes) > 0 {
			f.runs = append(f.runs, len(f.nodes))
		}
	})
}

// watched reports whether some of the nodes are read from outside, and so send up themselves.
func (f *fleet) watched() bool {
	f.index()
	return f.sendUp
}

func samePlace(a, b *Node) bool {
	return a.Cluster == b.Cluster && a.Datacenter == b.Datacenter && a.Rack == b.Rack
}

// sameNode reports whether nothing of a node has changed.
func sameNode(a, b Node) bool {
	return a.ID == b.ID && samePlace(&a, &b) && a.Account == b.Account &&
		a.Interval == b.Interval &&
		slices.Equal(a.Facts, b.Facts)
}

// hash returns a number for who the nodes are, where they are, how often they send and their facts.
func (f *fleet) hash() uint64 {
	f.sum.Do(func() {
		h := fnv.New64a()
		var b []byte
		for i := range f.nodes {
			n := &f.nodes[i]
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

// nodeSet is a subset of a fleet, by place in its list. nil: all nodes.
type nodeSet []bool

// count returns how many they are.
func (p nodeSet) count(f *fleet) (n int) {
	if p == nil {
		return len(f.nodes)
	}
	for _, is := range p {
		if is {
			n++
		}
	}
	return n
}

// or returns the union.
func (p nodeSet) or(other nodeSet) nodeSet {
	if p == nil || other == nil {
		return nil
	}
	for i, is := range other {
		p[i] = p[i] || is
	}
	return p
}

// of returns those nodes; they are not to be changed.
func (p nodeSet) of(f *fleet) []Node {
	n := p.count(f)
	if n == len(f.nodes) {
		return slices.Clip(f.nodes)
	}
	list := make([]Node, 0, n)
	for i, is := range p {
		if is {
			list = append(list, f.nodes[i])
		}
	}
	return list
}

// pick returns the nodes whose place and id are asked for. Places are looked at once for all nodes
// that have them. What rules recorded has a place in its own labels only, and nearly always its
// recorder's cluster: the index knows the rest.
func (p *plan) pick(f *fleet) nodeSet {
	if len(p.place) == 0 {
		return nil
	}
	f.index()
	list := make(nodeSet, len(f.nodes))
	node, named := p.nodeIDs()
	begin := 0
	for _, end := range f.runs {
		if p.inPlace(&f.nodes[begin]) {
			for i := begin; i < end; i++ {
				list[i] = true
			}
		}
		begin = end
	}
	if named != nil && !f.recorders {
		had := list
		list = make(nodeSet, len(f.nodes))
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
func (p *plan) nodeIDs() (node []*labels.Matcher, named []uuid.UUID) {
	for _, m := range p.place {
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

// inPlace reports whether a node's cluster, datacenter and rack are asked for.
func (p *plan) inPlace(n *Node) bool {
	for _, m := range p.place {
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

// subset returns the nodes whose ids are in a list. The list is mostly in the fleet's order.
func (f *fleet) subset(ids []uuid.UUID) nodeSet {
	list := make(nodeSet, len(f.nodes))
	next := 0
	for _, id := range ids {
		i, is := next, next < len(f.nodes) && f.nodes[next].ID == id
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

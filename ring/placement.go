package ring

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// replication is where a keyspace's replicas lie.
type replication struct {
	kind    int
	factor  int            // SimpleStrategy's
	factors map[string]int // NetworkTopologyStrategy's, by datacenter
}

const (
	elsewhere  = iota // a strategy that is not known here, or each node for itself
	simple            // the next nodes around the ring
	byTopology        // so many in each datacenter, on as many racks as there are
)

// parseReplication reads system_schema.keyspaces.
func parseReplication(options map[string]string) replication {
	class := options["class"]
	switch class[strings.LastIndexByte(class, '.')+1:] {
	case "SimpleStrategy":
		if n, ok := factor(options["replication_factor"]); ok {
			return replication{kind: simple, factor: n}
		}
	case "NetworkTopologyStrategy":
		r := replication{kind: byTopology, factors: map[string]int{}}
		for name, text := range options {
			if name == "class" || name == "replication_factor" {
				continue
			}
			n, ok := factor(text)
			if !ok {
				return replication{}
			}
			r.factors[name] = n
		}
		return r
	}
	return replication{}
}

// factor reads "3", and "3/1": three of which one is transient.
func factor(text string) (int, bool) {
	text, _, _ = strings.Cut(text, "/")
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0
}

func (r replication) equal(o replication) bool {
	return r.kind == o.kind && r.factor == o.factor && maps.Equal(r.factors, o.factors)
}

// key tells replications apart.
func (r replication) key() string {
	b := strconv.AppendInt(nil, int64(r.kind), 10)
	b = strconv.AppendInt(append(b, ' '), int64(r.factor), 10)
	for _, name := range slices.Sorted(maps.Keys(r.factors)) {
		b = strconv.AppendQuote(append(b, ' '), name)
		b = strconv.AppendInt(append(b, ' '), int64(r.factors[name]), 10)
	}
	return string(b)
}

// placement knows the replicas of every token.
type placement struct {
	// ends of ranges, ascending; the first range also holds what lies beyond the last token
	tokens   []int64
	replicas [][]int32 // by range: nodes of the topology, in the order of the ring
}

// of returns the replicas of a token; they are shared.
func (p *placement) of(token int64) []int32 {
	if len(p.tokens) == 0 {
		return nil
	}
	i, _ := slices.BinarySearch(p.tokens, token)
	if i == len(p.tokens) {
		i = 0
	}
	return p.replicas[i]
}

// place computes who has what, as Cassandra does; datacenter, unless it is empty, keeps only the
// replicas there. nil: it is not known who.
//
// It costs a walk from each token until enough nodes are found: some milliseconds for a thousand
// nodes of 16 tokens each.
func place(nodes []node, ring []owned, r replication, datacenter string) *placement {
	p := &placement{tokens: make([]int64, len(ring)), replicas: make([][]int32, len(ring))}
	for i, o := range ring {
		p.tokens[i] = o.token
	}
	var all []int32 // one array for all ranges
	switch r.kind {
	case simple:
		for i := range ring {
			from := len(all)
			all = around(all, ring, i, r.factor)
			if datacenter != "" {
				all = append(all[:from], slices.DeleteFunc(all[from:], func(n int32) bool {
					return nodes[n].datacenter != datacenter
				})...)
			}
			p.replicas[i] = all[from:len(all):len(all)]
		}
	case byTopology:
		dcs := datacenters(nodes)
		for i := range ring {
			from := len(all)
			for _, dc := range dcs {
				if n := r.factors[dc.name]; n > 0 && (datacenter == "" || datacenter == dc.name) {
					all = dc.around(all, nodes, ring, i, n)
				}
			}
			p.replicas[i] = all[from:len(all):len(all)]
		}
	default:
		return nil
	}
	return p
}

// around appends the owners of the next tokens from i on, each once, n of them.
func around(dst []int32, ring []owned, i, n int) []int32 {
	from := len(dst)
	for step := 0; step < len(ring) && len(dst)-from < n; step++ {
		if o := ring[(i+step)%len(ring)].node; !slices.Contains(dst[from:], o) {
			dst = append(dst, o)
		}
	}
	return dst
}

// datacenter is what placement by topology asks of one.
type datacenter struct {
	name         string
	nodes, racks int
}

// datacenters counts those that own something, in the order of their names.
func datacenters(nodes []node) []datacenter {
	racks := map[string]map[string]bool{}
	count := map[string]int{}
	for _, n := range nodes {
		if racks[n.datacenter] == nil {
			racks[n.datacenter] = map[string]bool{}
		}
		racks[n.datacenter][n.rack] = true
		count[n.datacenter]++
	}
	var all []datacenter
	for _, name := range slices.Sorted(maps.Keys(racks)) {
		all = append(all, datacenter{name: name, nodes: count[name], racks: len(racks[name])})
	}
	return all
}

// around appends n of the datacenter's nodes from token i on, by NetworkTopologyStrategy's rule. It
// takes one node of each rack. If there are more replicas than racks, the excess comes from racks
// that have one already, where they come.
func (d datacenter) around(dst []int32, nodes []node, ring []owned, i, n int) []int32 {
	from, left := len(dst), min(n, d.nodes)
	repeats := n - d.racks
	for step := 0; step < len(ring) && left > 0; step++ {
		o := ring[(i+step)%len(ring)].node
		if nodes[o].datacenter != d.name || slices.Contains(dst[from:], o) {
			continue
		}
		if slices.ContainsFunc(dst[from:], func(taken int32) bool {
			return nodes[taken].rack == nodes[o].rack
		}) {
			if repeats <= 0 {
				continue
			}
			repeats--
		}
		dst = append(dst, o)
		left--
	}
	return dst
}

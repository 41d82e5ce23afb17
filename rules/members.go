package rules

import (
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
)

// members are the nodes of a cluster: what they send, and, with the roster, which are there.
type members struct {
	role          *Rules
	account, name string // of the cluster
	set           *set
	head          *head
	wanted        *frame.Wanted

	nodes         map[uuid.UUID]*node
	listening     read.Listening  // when somebody could hear of them
	unread        int             // nodes whose frames there was no memory to read
	newest        int64           // ms: when the node came that came last
	records       []roster.Record // of the roster, to be published
	rosterVersion uint64          // changes of the roster that are known
}

func (r *Rules) newMembers(account, name string, s *set, h *head) *members {
	wanted := frame.NewWanted(func(metric string) bool {
		return metric == modeMetric && !r.deps.Every || h.scope.candidatesOf(metric) != nil
	}, frame.NewDictionaries(dictionaryBytes))
	return &members{role: r, account: account, name: name, set: s, head: h, wanted: wanted,
		nodes: map[uuid.UUID]*node{}}
}

// dictionaryBytes bounds what is kept of dictionaries that a cluster's nodes share.
const dictionaryBytes = 1 << 20

// take enters a frame that was heard of at an instant.
func (m *members) take(h *frame.Header, b []byte, heard int64) error {
	n := m.nodes[h.Node]
	if n == nil {
		n = &node{id: h.Node, interval: h.Interval}
		m.nodes[h.Node] = n
		m.add(n, heard)
	}
	if m.role.deps.Every && n.cluster != h.Cluster {
		n.cluster, n.span = h.Cluster, nil
	}
	return m.frame(n, h, b, heard)
}

// observe enters what is known of the nodes at an instant of evaluation, and forgets those that are
// not missed any more. It reports whether there were any.
func (m *members) observe(at int64) (forgotten bool) {
	m.readRoster()
	m.unread = 0
	for id, n := range m.nodes {
		if at-max(n.last, n.before) > m.role.config.Absent.Milliseconds() {
			delete(m.nodes, id)
			m.forget(n)
			m.unenroll(n)
			forgotten = true
			continue
		}
		if n.unread {
			m.unread++
		}
		m.addOwnSamples(n, at)
	}
	return forgotten
}

// forget forgets a node.
func (m *members) forget(n *node) {
	m.head.lease.Return(n.forget())
	for _, of := range n.list {
		of.ends, of.At = of.ends[:0], nil
	}
	for _, of := range n.own {
		if of != noSeries {
			of.end(of.At[len(of.At)-1] + 1)
		}
	}
	m.head.hasEnded = true
}

// removeEnded drops the series of which nothing is left that rules look back to.
func (m *members) removeEnded(at int64) {
	m.head.forgetEnded(at)
	for _, n := range m.nodes {
		for name, of := range n.own {
			if of != noSeries && of.gone(at) {
				delete(n.own, name)
				n.renamed = true // they are made anew if it comes back
				m.head.dropped(of, m.role.config.EvaluationInterval.Milliseconds())
			}
		}
		m.removeEndedOf(n, at)
	}
}

// removeEndedOf drops those of a node's frames.
func (m *members) removeEndedOf(n *node, at int64) {
	there := n.list[:0]
	dead := map[*memSeries]bool{}
	for _, of := range n.list {
		if of.gone(at) {
			dead[of] = true
			delete(n.mapped, of.Labels.Hash())
			m.head.dropped(of, n.interval)
		} else {
			there = append(there, of)
			m.head.hasEnded = m.head.hasEnded || of.over()
		}
	}
	clear(n.list[len(there):])
	n.list = there
	if len(dead) == 0 {
		return
	}
	for _, byMetric := range n.series {
		for _, rows := range byMetric {
			for i, of := range rows {
				if dead[of] {
					rows[i] = nil // it may come back
				}
			}
		}
	}
}

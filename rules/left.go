package rules

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
)

// A node that has left is no node that is down: its series end, and no alert is about it. This file
// alone decides that a node has left. What it decides is in the roster, which the API reads; and a
// person may have put something there, too.

// modeMetric is where a node says its operation mode.
const modeMetric = "cassandra_node_operation_mode_info"

// modeOnly stands where a node says its mode and no selector means that series.
var modeOnly = &memSeries{saysMode: true}

// heardAt is when a frame was heard of, in ms: its time, or when it arrived if it is dated ahead.
func heardAt(at int64, received time.Time) int64 {
	if received.IsZero() {
		return at
	}
	return min(at, received.UnixMilli())
}

// enrolled reports whether the roster has records of a node: those of our own processes and of what
// rules record come and go, and have no series up.
func (m *members) enrolled(n *node) bool { return !m.role.deps.Every && !frame.IsRecorder(n.id) }

// add takes over what the roster says of a node that the process begins to follow. since is
// when it was first heard of, as far as the process knows.
func (m *members) add(n *node, since int64) {
	if !m.enrolled(n) {
		return
	}
	rec, known := m.role.roster.Get(m.account, m.name, n.id)
	if known {
		n.since, n.away, n.end = rec.Since, rec.Away, rec.End
	} else if n.since = since; since > 0 {
		m.enroll(n)
	}
	m.newest = max(m.newest, n.since)
}

// enroll puts into the roster what is known of a node now. It is published before offsets are
// committed.
func (m *members) enroll(n *node) {
	rec := m.role.roster.Changed(m.account, m.name, n.id, m.role.config.Clock().UnixMilli(),
		func(r *roster.Record) {
			r.Since, r.Away, r.End = n.since, n.away, n.end
			r.Datacenter, r.Rack, r.Address = n.identity.Datacenter, n.identity.Rack,
				n.fact("address")
		})
	m.role.roster.Take(rec)
	m.records = append(m.records, rec)
}

// unenroll takes a node out of the roster that was silent for so long that it is not missed any
// more. How a node left is kept for longer.
func (m *members) unenroll(n *node) {
	_, known := m.role.roster.Get(m.account, m.name, n.id)
	if known && m.enrolled(n) && n.end == nil {
		rec := roster.Record{Account: m.account, Cluster: m.name, Node: n.id, Nothing: true}
		m.role.roster.Take(rec)
		m.records = append(m.records, rec)
	}
}

// readRoster takes over what others put into the roster.
func (m *members) readRoster() {
	changes := m.role.roster.Changes()
	if changes == m.rosterVersion {
		return
	}
	m.rosterVersion = changes
	for _, n := range m.nodes {
		if rec, known := m.role.roster.Get(m.account, m.name, n.id); known && m.enrolled(n) {
			n.since, n.away, n.end = rec.Since, rec.Away, rec.End
			n.left = n.left && n.end != nil
			m.rejoin(n)
		}
	}
}

// notePresence enters that a frame came. why is how the node leaves, if the frame says so, as far
// as it could be read.
func (m *members) notePresence(n *node, heard, at int64, read bool, why string) {
	if !m.enrolled(n) {
		return
	}
	gone := read && why != ""
	switch {
	case gone && n.end == nil, gone && !n.end.Said() && heard > n.end.At,
		gone && n.end.Said() && heard < n.end.At:
		n.end = &roster.End{Why: why, At: heard, Last: heard}
		m.enroll(n)
	case !gone && (read || n.end == nil || !n.end.Said()):
		n.spoke = max(n.spoke, heard)
		m.rejoin(n)
	}
	if gone && heard == n.end.At {
		m.end(n, at+1)
	}
}

// rejoin takes a node back that has spoken after it left.
func (m *members) rejoin(n *node) {
	if n.end == nil || n.spoke <= n.end.At {
		return
	}
	n.since, n.away, n.end, n.left = n.spoke, n.end.At, nil, false
	m.newest = max(m.newest, n.since)
	m.enroll(n)
}

// end ends a node's series at an instant.
func (m *members) end(n *node, at int64) {
	for _, of := range n.list {
		m.head.hasEnded = of.end(at) || m.head.hasEnded
	}
	for _, of := range n.own {
		if of != noSeries {
			m.head.hasEnded = of.end(at) || m.head.hasEnded
		}
	}
}

// hasLeft reports whether a node has left by an instant, and ends its series then.
func (m *members) hasLeft(n *node, at int64) bool {
	if n.end == nil || n.end.At > at {
		return false
	}
	if !n.left {
		n.left = true
		m.end(n, at)
	}
	return true
}

// detectLeft decides whether a node of which nothing comes any more has left: it is in another
// cluster of its account since then, or a new node is in its place.
func (m *members) detectLeft(n *node, at int64) bool {
	if !m.enrolled(n) || n.end != nil {
		return false
	}
	var end *roster.End
	for _, rec := range m.role.roster.Of(m.account, n.id) {
		if rec.Cluster != m.name && rec.Since > n.spoke && rec.Since <= at {
			end = &roster.End{Why: roster.Moved, At: rec.Since, By: rec.Cluster, Last: n.spoke}
		}
	}
	if by := m.successor(n, at); end == nil && by != nil {
		end = &roster.End{Why: roster.Replaced, At: by.since, By: by.id.String(), Last: n.spoke}
	}
	if end == nil {
		return false
	}
	n.end = end
	m.enroll(n)
	return m.hasLeft(n, at)
}

// successor returns the node that is in the place of one that is silent: it was never heard of
// before that one fell silent, is up, and has its address or says that it replaces it. Addresses
// alone say nothing: where nodes get new ones at each start, a known node may get that of a dead
// one. Only a database node has a place: a target that is read from outside is its job and
// instance, and many of them may have one address.
func (m *members) successor(n *node, at int64) *node {
	address := n.fact("address")
	if address == "" || m.newest <= n.spoke || !hasPlace(n) {
		return nil
	}
	var found *node
	for _, by := range m.nodes {
		if by.since <= n.spoke || by.since > at || by.end != nil || !m.enrolled(by) ||
			!hasPlace(by) ||
			m.listening.StateAt(at, max(by.last, by.before), by.interval) == read.StateDown {
			continue
		}
		if by.fact("address") != address && !samePlace(by.fact("replaces"), address) {
			continue
		}
		if found == nil || by.since < found.since {
			found = by
		}
	}
	return found
}

// hasPlace reports whether a node is one of a database, with an agent of its own.
func hasPlace(n *node) bool {
	return n.identity.Kind() == frame.KindCassandra && !n.identity.Watched()
}

// samePlace reports whether somebody who was started to replace an address means a node's, which
// has a port.
func samePlace(replaces, address string) bool {
	host, _, err := net.SplitHostPort(address)
	return replaces != "" && (replaces == address || err == nil && host == replaces)
}

func (n *node) fact(name string) string {
	for _, f := range n.identity.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// keepRoster publishes what the role has put into the roster, and forgets how nodes left of which
// nothing can be asked any more.
func (r *Rules) keepRoster(ctx context.Context, now time.Time) error {
	var list []roster.Record
	if keep := r.deps.KeepLeft; keep > 0 && now.Sub(r.swept) > keepRosterEvery && !r.deps.Every {
		r.swept = now
		for _, rec := range r.roster.Before(now.Add(-keep).UnixMilli()) {
			list = append(list, roster.Record{Account: rec.Account, Cluster: rec.Cluster,
				Node: rec.Node, Nothing: true})
		}
	}
	for _, rec := range list {
		r.roster.Take(rec)
	}
	for _, p := range r.partitions {
		for _, c := range p.clusters {
			list = append(list, c.members.records...)
		}
	}
	if len(list) == 0 || r.deps.Enroll == nil {
		return nil
	}
	if err := r.deps.Enroll(ctx, list); err != nil {
		return fmt.Errorf("rules: write down which nodes there are: %w", err)
	}
	for _, p := range r.partitions {
		for _, c := range p.clusters {
			c.members.records = nil
		}
	}
	return nil
}

const keepRosterEvery = 10 * time.Minute

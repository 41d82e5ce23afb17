package rules

import (
	"slices"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/window"
)

// missedIntervals is how many intervals a node may be silent before its series count as gone, as
// in package query.
const missedIntervals = 3

// node is one node of a cluster.
type node struct {
	id       uuid.UUID
	identity frame.Identity
	last     int64   // time of its newest frame; 0: none came since the process has the cluster
	before   int64   // time of the newest one that came before that
	instants []int64 // of its frames, as far back as evaluation may go
	interval int64
	usual    int64 // ms between its last two frames, or the interval if that is more; 0: one came
	pass     uint64
	silent   bool // its series have been ended

	follower *window.Follower // nil: nothing has come since the process has the cluster
	kept     []int64          // bytes of the key frames that the follower keeps
	cells    map[*window.Dictionary][][]*cell
	list     []*cell // those that are there
	own      map[string]*cell
	mapped   map[uint64]bool // hashes of label sets that relabelling made
}

// missing stands where a series is meant by no selector.
var missing = &cell{}

// maxRows is how many entities may have been there before a node is followed anew: tables that
// come and go.
const maxRows = 200_000

// frame enters a frame of the node.
func (c *cluster) frame(n *node, h *frame.Header, b []byte) error {
	if n.follower != nil && n.follower.Rows() > maxRows && h.IsKey() {
		n.follower = nil
	}
	if n.follower == nil {
		c.lease.Give(n.forget())
		n.follower = window.NewFollower(window.Node{Account: c.account, ID: n.id}, c.wanted)
		n.cells, n.mapped = map[*window.Dictionary][][]*cell{}, nil
	}
	n.pass++
	newest := h.At > n.last
	taken := counting{lease: c.lease}
	pass, err := n.follower.Frame(&taken, b, func(v *window.Cell) {
		of := c.cellOf(n, v)
		if of == nil || of == missing {
			return
		}
		of.add(h.At, sampleValue{v.Int, v.Double, v.Histogram, v.Text}, c.horizon)
		of.pass = n.pass
	})
	switch {
	case err != nil || !h.IsKey():
		c.lease.Give(taken.bytes)
	case taken.bytes > 0: // else it was known
		if n.kept = append(n.kept, taken.bytes); len(n.kept) > window.FollowedKeys {
			c.lease.Give(n.kept[0])
			n.kept = n.kept[1:]
		}
	}
	if err != nil {
		return err
	}
	n.heard(h.At)
	if !newest {
		return nil
	}
	if ended := n.last + missedIntervals*n.usual; n.usual > 0 && ended < h.At && !n.silent {
		n.end(ended, n.pass)
	}
	gone := false
	for _, of := range n.list {
		if of.pass != n.pass && len(of.At) > 0 && !of.over() {
			of.end(h.At)
			gone = gone || of.At[len(of.At)-1] < h.At-of.keep
		}
	}
	if gone {
		c.untidy = true
	}
	if n.last > 0 {
		n.usual = max(h.Interval, h.At-n.last)
	}
	n.last, n.interval, n.silent = h.At, h.Interval, false
	if !sameIdentity(&n.identity, &pass.Identity) {
		n.identity = pass.Identity
		n.own = nil
	}
	return nil
}

// counting counts what decoding takes of a lease.
type counting struct {
	lease *memory.Lease
	bytes int64
}

// Take implements frame.Allowance.
func (c *counting) Take(bytes int64) error {
	err := c.lease.Take(bytes)
	if err == nil {
		c.bytes += bytes
	}
	return err
}

// heard notes that a frame of an instant came.
func (n *node) heard(at int64) {
	if i, found := slices.BinarySearch(n.instants, at); !found {
		n.instants = slices.Insert(n.instants, i, at)
	}
}

// end ends the series of a node that fell silent; but those of one pass only before that.
func (n *node) end(at int64, but uint64) {
	for _, of := range n.list {
		if len(of.At) == 0 || of.over() {
			continue
		}
		if of.pass == but { // its newest value came after the silence
			if k := len(of.At) - 1; k > 0 && of.At[k-1] < at {
				of.endBefore(k, at)
			}
			continue
		}
		of.end(at)
	}
}

// forget returns what the follower's key frames take, for who lets go of it.
func (n *node) forget() (bytes int64) {
	for _, b := range n.kept {
		bytes += b
	}
	n.kept = nil
	return bytes
}

func sameIdentity(a, b *frame.Identity) bool {
	return a.Datacenter == b.Datacenter && a.Rack == b.Rack && slices.Equal(a.Facts, b.Facts)
}

// cellOf returns the cell of a value, which is made if a selector means it; missing if none does.
func (c *cluster) cellOf(n *node, v *window.Cell) *cell {
	byMetric := n.cells[v.Of]
	for len(byMetric) <= v.Metric {
		byMetric = append(byMetric, nil)
		n.cells[v.Of] = byMetric
	}
	rows := byMetric[v.Metric]
	if v.Row >= len(rows) {
		rows = append(rows, make([]*cell, max(len(v.Of.Rows), v.Row+1)-len(rows))...)
		byMetric[v.Metric] = rows
	}
	if rows[v.Row] == nil {
		of := missing
		if l, keep := c.relabelled(n, v.Labels()); keep {
			of = c.newCell(l, &v.Of.Metrics[v.Metric], n.interval)
		}
		rows[v.Row] = of
		if of != missing {
			n.list = append(n.list, of)
		}
	}
	return rows[v.Row]
}

// relabelled returns the labels that a mapping gives a node's series, and whether it is kept. A
// series that would become the same as another one of the node keeps the labels it has.
func (c *cluster) relabelled(n *node, l labels.Labels) (labels.Labels, bool) {
	if c.deps.Relabel == nil || c.deps.Every {
		return l, true
	}
	mapped, keep := c.deps.Relabel(l)
	if !keep || labels.Equal(mapped, l) {
		return l, keep
	}
	if n.mapped == nil {
		n.mapped = map[uint64]bool{}
	}
	if h := mapped.Hash(); !n.mapped[h] {
		n.mapped[h] = true
		return mapped, true
	}
	return l, true
}

// newCell makes the cell of a series and enters it where selectors look; missing if none means it,
// or if there is no memory for it, which is noted.
func (c *cluster) newCell(l labels.Labels, m *window.Metric, interval int64) *cell {
	found := c.part.candidatesOf(m.Name)
	if found == nil {
		return missing
	}
	of := &cell{Series: window.Series{Labels: l, Metric: c.shared(m)}}
	found.each(l, func(s *selector) {
		if live := s.Live(&of.Series); live != nil {
			of.keep = max(of.keep, s.keep.Milliseconds())
			of.views = append(of.views, &view{live, of, s})
		}
	})
	if len(of.views) == 0 {
		return missing
	}
	if err := c.lease.Take(costOf(m.Kind, of.keep, interval)); err != nil {
		c.lacking++
		return missing
	}
	for _, v := range of.views {
		c.seen[v.by] = append(c.seen[v.by], v)
	}
	c.count++
	return of
}

// shared returns the first metric that is the same: a fleet's nodes have the same ones.
func (c *cluster) shared(m *window.Metric) *window.Metric {
	for _, known := range c.metrics[m.Name] {
		if known.Same(m) {
			return known
		}
	}
	one := *m
	c.metrics[m.Name] = append(c.metrics[m.Name], &one)
	return &one
}

// Series of nodes that are of no frame, as package query has them.
var ownMetrics = []*window.Metric{
	{Name: query.MetricUp, Kind: frame.Gauge},
	{Name: query.MetricSeen, Kind: frame.Gauge, Unit: "seconds", Exponent: -3},
	{Name: query.MetricInfo, Kind: frame.Gauge},
}

// beat enters what is known of a node at an instant of evaluation.
func (c *cluster) beat(n *node, at int64) {
	last := n.last
	if n.before <= at {
		last = max(last, n.before)
	}
	if last > at { // frames of later instants are there already
		i, found := slices.BinarySearch(n.instants, at)
		if !found {
			i--
		}
		if i < 0 {
			return // it was not there yet
		}
		last = n.instants[i]
		if i > 0 {
			n.instants = slices.Delete(n.instants, 0, i-1)
		}
	} else {
		n.instants = slices.Delete(n.instants, 0, max(0, len(n.instants)-1))
	}
	heard := max(last, min(c.since, at))
	if n.last <= at && !n.silent && n.usual > 0 && at-heard >= missedIntervals*n.usual {
		n.end(heard+missedIntervals*n.usual, 0)
		n.silent, c.untidy = true, true
	}
	up := int64(1)
	if query.StateOf(at-heard, n.interval) == query.StateDown {
		up = 0
	}
	if n.own == nil {
		c.own(n)
	}
	for name, of := range n.own {
		if of == missing {
			continue
		}
		switch name {
		case query.MetricUp:
			of.add(at, sampleValue{number: up}, c.horizon)
		case query.MetricSeen:
			of.add(at, sampleValue{number: last}, c.horizon)
		default:
			of.add(at, sampleValue{number: 1}, c.horizon)
		}
	}
}

// own makes the cells of a node's own series.
func (c *cluster) own(n *node) {
	n.own = map[string]*cell{}
	for _, m := range ownMetrics {
		about := query.Node{ID: n.id, Cluster: c.name, Identity: n.identity}
		l := query.NodeLabels(&about, m.Name)
		if m.Name == query.MetricInfo {
			l = query.InfoLabels(&about)
		}
		n.own[m.Name] = c.newCell(l, m, c.config.EvaluationInterval.Milliseconds())
	}
}

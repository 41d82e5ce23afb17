package rules

import (
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/following"
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
	instants []int64 // of its frames: the two before the last evaluation, and those after them
	line     timeline
	interval int64
	pass     uint64
	paired   int64  // gaps between instants up to this one have been looked at
	unread   bool   // there was no memory to read its newest frame
	cluster  string // of a recorder; rules over all clusters alone need to know it
	span     *int64 // see members.span; nil: not known yet
	silent   int64  // the instant after which it fell silent, when that was noted last
	down     int64  // the last one before its up became 0; 0: it is up

	// See left.go.
	// when it was first heard of, or again after it left; 0: before anybody took note
	since int64
	away  int64       // when it had left before since; 0: it had not
	spoke int64       // when it was last heard of without saying that it has left
	end   *roster.End // nil: it has not left
	left  bool        // its series have ended for that

	follower *following.Follower // nil: nothing has come since the process has the cluster
	kept     []int64             // bytes of the key frames that the follower keeps
	series   map[*window.Dictionary][][]*memSeries
	list     []*memSeries // those that are there
	own      map[string]*memSeries
	renamed  bool            // what it says of itself is not what own says
	mapped   map[uint64]bool // hashes of label sets that relabelling made
}

// shortestSilence is how long a node is silent at least before its series end, in ms, where the
// pipeline has a pulse: an outage of some seconds is too short for that to show.
const shortestSilence = 20_000

// maxRows is how many entities may have been there before a node is followed anew: tables that
// come and go.
const maxRows = 200_000

// frame enters a frame of the node.
func (m *members) frame(n *node, h *frame.Header, b []byte, heard int64) error {
	if n.follower != nil && n.follower.Rows() > maxRows && h.IsKey() {
		n.follower = nil
	}
	if n.follower == nil {
		m.head.lease.Return(n.forget())
		n.follower = following.New(window.Node{Account: m.account, ID: n.id}, m.wanted)
		n.series, n.mapped = map[*window.Dictionary][][]*memSeries{}, nil
	}
	n.pass++
	// Should evaluation stand still, it makes up for so much only.
	from := max(m.head.horizon, max(h.At, n.last)-m.role.config.CatchUp.Milliseconds())
	taken := countingLease{lease: m.head.lease}
	over := n.end != nil && n.end.Why == roster.Decommissioned && heard > n.end.At
	mode := ""
	pass, err := n.follower.Frame(&taken, b, func(v *following.Cell) {
		of := m.seriesFor(n, v)
		if of.saysMode {
			mode = v.Text
		}
		if of == noSeries || of == modeOnly || over {
			return
		}
		of.add(h.At, sampleValue{v.Int, v.Double, v.Histogram, v.Text}, from)
		of.pass = n.pass
	})
	switch {
	case err != nil || !h.IsKey():
		m.head.lease.Give(taken.bytes)
	case taken.bytes > 0: // else it was known
		if n.kept = append(n.kept, taken.bytes); len(n.kept) > following.KeyFrames {
			m.head.lease.Return(n.kept[0])
			n.kept = n.kept[1:]
		}
	}
	// A node whose frame cannot be read is there all the same: up and its age come from the header.
	n.unread = memory.Refused(err)
	if err != nil && !n.unread && !errors.Is(err, following.ErrNoKey) {
		return err
	}
	n.heard(h.At, from-m.head.scope.keep.Milliseconds())
	for _, of := range n.list {
		if err == nil && of.pass != n.pass && of.end(h.At) {
			m.head.hasEnded = true
		}
	}
	if h.At > n.last {
		if n.interval != h.Interval {
			n.span = nil
		}
		n.last, n.interval = h.At, h.Interval
		if err == nil && !sameIdentity(&n.identity, &pass.Identity) {
			n.identity, n.renamed = pass.Identity, true
		}
	}
	why := ""
	switch {
	case mode == roster.ModeLeft:
		why = roster.Decommissioned
	case err == nil && pass.Identity.Fact(frame.FactLeft) == frame.LeftRemoved:
		why = roster.Removed
	}
	// What is paused does not say its mode, so that it has left still holds.
	paused := err == nil && pass.Identity.Fact(frame.FactPaused) != ""
	m.notePresence(n, heard, h.At, err == nil && !paused, why)
	return err
}

// countingLease counts what decoding takes of a lease.
type countingLease struct {
	lease *memory.Lease
	bytes int64
}

// Take implements frame.Allowance.
func (c *countingLease) Take(bytes int64) error {
	err := c.lease.Take(bytes)
	if err == nil {
		c.bytes += bytes
	}
	return err
}

// heard notes that a frame of an instant came. Of instants before from two
// are enough.
func (n *node) heard(at, from int64) {
	if i, found := slices.BinarySearch(n.instants, at); !found {
		n.instants = slices.Insert(n.instants, i, at)
	}
	if k := len(n.instants) - 3; k > 0 && n.instants[0] < from-trimEvery {
		i, _ := slices.BinarySearch(n.instants[:k], from)
		n.instants = slices.Delete(n.instants, 0, max(0, i-2))
	}
}

// trimEvery is how much older than needed instants may be, in ms.
const trimEvery = 10 * 60_000

// newest returns the index of the node's newest frame by an instant among its instants, or -1.
func (n *node) newest(at int64) int {
	i, found := slices.BinarySearch(n.instants, at)
	if !found {
		i--
	}
	return i
}

// endSilent ends the node's series where it fell silent for missedIntervals, up to an instant.
// Silence while the pipeline was away is none of the node's, so it counts from when that was over.
//
// This is decided when an instant is evaluated and not when a frame comes: after an outage the
// newest frames come first, and fill the pause up later.
func (m *members) endSilent(n *node, at int64) {
	i := n.newest(at)
	for j := 1; j <= i; j++ { // of the first frame nobody knows what is usual
		next := at + 1
		if j < i {
			next = n.instants[j+1]
		}
		if next <= n.paired {
			continue
		}
		last := n.instants[j]
		usual := max(n.interval, last-n.instants[j-1])
		heard := last
		if last != n.down {
			heard = max(last, min(m.listening.Since, next))
		}
		ended := heard + missedIntervals*usual
		if m.role.deps.Pulse != nil {
			ended = max(ended, heard+shortestSilence)
		}
		if ended >= next || n.silent == last {
			continue
		}
		n.silent, m.head.hasEnded = last, true
		for _, of := range n.list {
			of.end(ended)
		}
	}
	if i >= 0 {
		n.paired = n.instants[i]
	}
	n.instants = slices.Delete(n.instants, 0, max(0, i-1))
}

// missesFrames reports whether frames of a node are not there that an evaluation would miss, and
// that the outage of the pipeline may have swallowed: nobody knows then what the node's series
// were.
func (m *members) missesFrames(at int64) bool {
	if m.listening.Since == 0 {
		return false
	}
	for _, n := range m.nodes {
		patience := min(max(missedIntervals*n.interval, shortestSilence), longestPatience)
		if at >= m.listening.Since+patience || n.down != 0 || n.end != nil {
			continue
		}
		last := int64(0)
		if i := n.newest(at); i >= 0 {
			last = n.instants[i]
		}
		if n.before <= at {
			last = max(last, n.before)
		}
		if last > 0 && last != n.silent && last < at-patience {
			return true
		}
	}
	return false
}

// longestPatience is how long after an outage evaluation waits for a node, at most, in ms.
const longestPatience = 5 * 60_000

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

// seriesFor returns the series in memory of a value. It is made if a selector means it; noSeries
// if none does.
func (m *members) seriesFor(n *node, v *following.Cell) *memSeries {
	byMetric := n.series[v.Of]
	for len(byMetric) <= v.Metric {
		byMetric = append(byMetric, nil)
		n.series[v.Of] = byMetric
	}
	rows := byMetric[v.Metric]
	if v.Row >= len(rows) {
		rows = append(rows, make([]*memSeries, max(len(v.Of.Rows), v.Row+1)-len(rows))...)
		byMetric[v.Metric] = rows
	}
	if rows[v.Row] == nil {
		of := noSeries
		if l, keep := m.relabelled(n, v.Labels()); keep {
			of = m.head.newSeries(l, &v.Of.Metrics[v.Metric], n.interval)
		}
		if of != noSeries {
			of.line, n.line.keep = &n.line, max(n.line.keep, of.keep)
		}
		if v.Of.Metrics[v.Metric].Name == modeMetric {
			if of == noSeries {
				of = modeOnly
			} else {
				of.saysMode = true
			}
		}
		rows[v.Row] = of
		if of != noSeries && of != modeOnly {
			n.list = append(n.list, of)
		}
	}
	return rows[v.Row]
}

// relabelled returns the labels that a mapping gives a node's series, and whether it is kept. A
// series that would become the same as another one of the node keeps the labels it has.
func (m *members) relabelled(n *node, l labels.Labels) (labels.Labels, bool) {
	if m.role.deps.Relabel == nil || m.role.deps.Every {
		return l, true
	}
	mapped, keep := m.role.deps.Relabel(l)
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

// Series of nodes that are of no frame, as package query has them.
var ownMetrics = []*window.Metric{
	{Name: series.MetricUp, Kind: frame.Gauge},
	{Name: series.MetricSeen, Kind: frame.Gauge, Unit: "seconds", Exponent: -3},
	{Name: series.MetricInfo, Kind: frame.Gauge},
}

// addOwnSamples enters what is known of a node at an instant of evaluation.
func (m *members) addOwnSamples(n *node, at int64) {
	if m.hasLeft(n, at) || n.away > 0 && n.away <= at && at < n.since {
		return
	}
	m.endSilent(n, at)
	last := int64(0)
	if i := n.newest(at); i >= 0 {
		last = n.instants[i]
	}
	if n.before <= at {
		last = max(last, n.before)
	}
	if last == 0 {
		return // it was not there yet
	}
	up := int64(1)
	// One that was down before an outage is not up because of it.
	if last == n.down || m.listening.StateAt(at, last, n.interval) == read.StateDown {
		if m.detectLeft(n, at) {
			return
		}
		up, n.down = 0, last
	} else {
		n.down = 0
	}
	if frame.IsProcess(n.id) {
		return // of our own processes nobody knows where they should be: they have no series up
	}
	if n.own == nil || n.renamed {
		m.own(n, at)
	}
	for name, of := range n.own {
		if of == noSeries {
			continue
		}
		switch name {
		case series.MetricUp:
			of.add(at, sampleValue{number: up}, m.head.horizon)
		case series.MetricSeen:
			of.add(at, sampleValue{number: last}, m.head.horizon)
		default:
			of.add(at, sampleValue{number: 1}, m.head.horizon)
		}
	}
}

// own makes the node's own series (up and the like). Those whose labels have changed end at an
// instant.
func (m *members) own(n *node, at int64) {
	before := n.own
	n.own, n.renamed = map[string]*memSeries{}, false
	for _, metric := range ownMetrics {
		about := window.Node{ID: n.id, Cluster: m.name, Identity: n.identity}
		l := series.NodeLabels(&about, metric.Name)
		if metric.Name == series.MetricInfo {
			l = series.InfoLabels(&about)
		}
		fromFrames := metric.Name == series.MetricUp && n.sendsUp()
		if of := before[metric.Name]; of != nil && of != noSeries {
			if labels.Equal(of.Labels, l) && !fromFrames {
				n.own[metric.Name] = of
				continue
			}
			of.end(at)
			m.head.hasEnded = true
		}
		if fromFrames {
			continue
		}
		n.own[metric.Name] = m.head.newSeries(l, metric,
			m.role.config.EvaluationInterval.Milliseconds())
	}
}

// sendsUp reports whether the node's frames have up, so that none is made of when they come. Of a
// target this is known before its first key frame has been read.
func (n *node) sendsUp() bool { return n.identity.Watched() || frame.IsTarget(n.id) }

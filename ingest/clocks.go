package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/frame"
)

const (
	// clockSaid is how often the log names a node whose clock is wrong.
	clockSaid = 10 * time.Minute
	// clockKept is how long the metric names it after its last frame.
	clockKept = 5 * time.Minute
	// clocksNamed bounds how many it names: more have one cause, which these tell.
	clocksNamed = 20
)

// wrongClocks are the nodes whose frames are refused for their clocks, the first ones of many. It
// implements prometheus.Collector: a series for each, and none when all are right.
type wrongClocks struct {
	desc *prometheus.Desc
	now  func() time.Time

	mu   sync.Mutex
	said *senders
	off  map[accountNode]wrongClock
}

type wrongClock struct {
	cluster string
	ahead   time.Duration
	at      time.Time
}

func newWrongClocks(said *senders, now func() time.Time) *wrongClocks {
	return &wrongClocks{now: now, said: said, off: map[accountNode]wrongClock{},
		desc: prometheus.NewDesc("ringwatch_ingest_wrong_clock_seconds", "How far the clock of a "+
			"node is ahead, or behind if negative, whose frames are refused for it; 20 nodes at "+
			"most.", []string{"of_cluster", "of_node"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *wrongClocks) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector.
func (c *wrongClocks) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(c.now())
	told := map[[2]string]bool{} // two accounts may claim one node
	for node, of := range c.off {
		labels := [2]string{of.cluster, node.node.String()}
		if !told[labels] {
			told[labels] = true
			to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, of.ahead.Seconds(),
				labels[0], labels[1])
		}
	}
}

func (c *wrongClocks) forget(now time.Time) {
	for node, of := range c.off {
		if now.Sub(of.at) > clockKept {
			delete(c.off, node)
		}
	}
}

// note takes a node whose clock is wrong, and reports whether the log is to name it.
func (c *wrongClocks) note(node accountNode, cluster string, ahead time.Duration) bool {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(now)
	if _, is := c.off[node]; is || len(c.off) < clocksNamed {
		c.off[node] = wrongClock{cluster, ahead, now}
	}
	return c.said.due(node, "", now)
}

// wrongClock says in log and metrics which node's frames are refused for its clock.
func (s *Server) wrongClock(ctx context.Context, account, remote string, h *frame.Header,
	ahead time.Duration) {
	if !s.clocks.note(accountNode{account, h.Node}, h.Cluster, ahead) {
		return
	}
	s.deps.Log.Warn("a node's frames are refused, because its clock is wrong: set it, by NTP for "+
		"example", "request", listener.ID(ctx), "account", account, "cluster", h.Cluster, "node",
		h.Node, "remote", remote, "ahead", ahead.Round(time.Second).String())
}

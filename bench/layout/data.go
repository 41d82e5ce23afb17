package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"
)

const (
	account    = "bench"
	hourMillis = 3600_000
	dayMillis  = 24 * hourMillis

	// types are how many types of entities the metrics are of; the first is that of tables, which
	// has more of them.
	types      = 10
	tableShare = 5 // a fifth of the metrics are tables', of each size
)

// cluster is a cluster of nodes that have the same metrics.
type cluster struct {
	name         string
	nodes, hours int
	start        int64 // of the first hour, ms
	metrics      []metric
	head         int // bytes
}

// metric is a row of each hour of a node; the head is the one without a name.
type metric struct {
	entity, name string
	bytes        int
}

// key is a metric's name where partitions are of metrics.
func (m *metric) key() string { return m.entity + "/" + m.name }

// clusters returns what is measured on.
func clusters(o options) []*cluster {
	// Noon: the hours are in two days, as those of most questions.
	const noon = 20_500*dayMillis + 12*hourMillis
	whole := &cluster{name: "whole", nodes: o.nodes, hours: o.hours, start: noon, head: o.headSize}
	whole.metrics = metrics(o.rows, o.rows/10, max(1, o.rows/100), o)
	list := []*cluster{whole}
	if o.many > 0 {
		large := &cluster{name: "many", nodes: o.many, hours: o.manyHours, start: noon,
			head: o.headSize}
		large.metrics = metrics(o.manyRows, o.manyRows/10, 0, o)
		list = append(list, large)
	}
	return list
}

// metrics returns so many, of which some are middle and large.
func metrics(n, middle, large int, o options) (list []metric) {
	for i := range n {
		m := metric{entity: "table", name: fmt.Sprintf("metric_%03d", i), bytes: o.small}
		if i%tableShare > 0 {
			m.entity = fmt.Sprintf("type_%d", i%types)
		}
		switch {
		case i < large:
			m.bytes = o.large
		case i < large+middle:
			m.bytes = o.middle
		}
		list = append(list, m)
	}
	return list
}

// of returns the metrics that want picks.
func (c *cluster) of(want func(m *metric) bool) (list []metric) {
	for i := range c.metrics {
		if want(&c.metrics[i]) {
			list = append(list, c.metrics[i])
		}
	}
	return list
}

// node is the id of node number i.
func (c *cluster) node(i int) (id uuid.UUID) {
	r := rand.New(rand.NewPCG(uint64(len(c.name)), uint64(i)))
	for b := range id {
		id[b] = byte(r.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

func (c *cluster) hour(i int) int64 { return c.start + int64(i)*hourMillis }

func dayOf(hour int64) int64 { return hour - hour%dayMillis }

// span is a range of hours within a day.
type span struct{ day, from, to int64 } // to: the last hour

// days splits a range of hours, the last included.
func days(from, to int64) (list []span) {
	for at := from; at <= to; at = dayOf(at) + dayMillis {
		list = append(list, span{dayOf(at), at, min(to, dayOf(at)+dayMillis-hourMillis)})
	}
	return list
}

// blob is a row's bytes. Half of their bits are chance: columns are packed, and zstd still finds
// something.
func blob(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32()) & 0x0f * 17
	}
	return b
}

package throttle

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics is a collector: most of what it tells is read from the classes when it is asked.
type metrics struct {
	t        *Throttle
	waits    *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	leases   *prometheus.CounterVec

	share, running, waiting, slots, factor, alone *prometheus.Desc
	operations, refused                           *prometheus.Desc
}

func newMetrics(t *Throttle) *metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("ringwatch_throttle_"+name, help, labels, nil)
	}
	work := []string{"class", "client", "keyspace", "table", "datacenter"}
	m := &metrics{
		t: t,
		waits: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "ringwatch_throttle_wait_seconds",
				Help:    "How long requests that were admitted have waited.",
				Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}, []string{"class"}),
		refusals: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_throttle_refused_total",
				Help: "Requests refused, by reason: deadline (waited too long), crowded (too " +
					"many wait), large (more at once than the class can do)."},
			[]string{"class", "reason"}),
		leases: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_throttle_leases_total",
				Help: "Requests for leases, by result: granted or failed."}, []string{"result"}),
		share: desc("share_operations_per_second",
			"What this process may do of a class: by its lease, or without Redis.", "class"),
		slots: desc("share_slots",
			"How many operations of a class this process may have under way.", "class"),
		running: desc("running_operations", "Operations of a class under way in this process.",
			"class"),
		waiting: desc("waiting_operations", "Operations of a class that wait in this process.",
			"class"),
		factor: desc("health_factor",
			"The part of its limits that a class has by the cluster's health: 1 is all.", "class"),
		alone: desc("alone", "1 while a class goes on without Redis in this process.",
			"class"),
		operations: desc("operations_total",
			"Operations that have begun, by who asked for what; the rarest are other.", work...),
		refused: desc("refused_operations_total",
			"Operations that were refused, by who asked for what; the rarest are other.", work...),
	}
	for _, result := range []string{"granted", "failed"} {
		m.leases.WithLabelValues(result)
	}
	return m
}

// class makes a class's metrics appear before anything happens.
func (m *metrics) class(name string) {
	m.waits.WithLabelValues(name)
	for _, reason := range []string{"deadline", "crowded", "large"} {
		m.refusals.WithLabelValues(name, reason)
	}
}

func (m *metrics) waited(class string, d time.Duration) {
	m.waits.WithLabelValues(class).Observe(d.Seconds())
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	m.waits.Describe(out)
	m.refusals.Describe(out)
	m.leases.Describe(out)
	for _, d := range []*prometheus.Desc{m.share, m.slots, m.running, m.waiting, m.factor, m.alone,
		m.operations, m.refused} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	m.waits.Collect(out)
	m.refusals.Collect(out)
	m.leases.Collect(out)
	now := m.t.config.Clock()
	for _, c := range m.t.order {
		c.mu.Lock()
		b := &c.budget
		alone := 0.0
		if b.alone && !b.solo {
			alone = 1
		}
		share, slots := 0.0, b.slots(now)
		if b.alone || b.leased(now) {
			share = c.rate(now)
		}
		values := map[*prometheus.Desc]float64{m.share: share, m.slots: slots, m.running: b.used,
			m.waiting: c.queue.ops, m.factor: b.factor, m.alone: alone}
		c.mu.Unlock()
		for desc, v := range values {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, c.name)
		}
	}
	for _, u := range m.t.usage.totals() {
		labels := []string{u.Class, u.Client, u.Keyspace, u.Table, u.Datacenter}
		out <- prometheus.MustNewConstMetric(m.operations, prometheus.CounterValue, u.operations,
			labels...)
		out <- prometheus.MustNewConstMetric(m.refused, prometheus.CounterValue, u.refused,
			labels...)
	}
}

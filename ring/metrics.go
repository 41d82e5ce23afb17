package ring

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are a reader's. Keys are counted once each in outcomes, whatever it took.
type metrics struct {
	reads      prometheus.Histogram
	outcomes   *prometheus.CounterVec
	found      prometheus.Counter
	missing    prometheus.Counter
	failed     prometheus.Counter
	requests   *prometheus.CounterVec
	first      prometheus.Counter
	again      prometheus.Counter
	races      prometheus.Counter
	probes     prometheus.Counter
	keys       prometheus.Histogram
	seconds    prometheus.Histogram
	errors     *prometheus.CounterVec
	raced      *prometheus.CounterVec
	begun      prometheus.Counter
	won        prometheus.Counter
	refused    prometheus.Counter
	topologies prometheus.Counter
	follows    *prometheus.CounterVec
	hosts      prometheus.Collector
}

var secondsBuckets = prometheus.ExponentialBuckets(0.00025, 2, 16) // to 8 s

func newMetrics(hosts *hosts) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ringwatch_ring_" + name,
			Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "ringwatch_ring_" + name,
			Help: help, Buckets: buckets})
	}
	m := &metrics{
		reads: histogram("read_seconds", "Time for one read of many keys.", secondsBuckets),
		outcomes: counter("keys_total", "Keys that replicas were asked for, by what came of it.",
			"outcome"),
		requests: counter("requests_total",
			"Requests to replicas: first ones, those asked again elsewhere after a failure, "+
				"races against late ones, and probes of nodes left alone.", "kind"),
		keys: histogram("request_keys", "Keys in one request to a replica.",
			prometheus.ExponentialBuckets(1, 2, 11)),
		seconds: histogram("request_seconds",
			"Time until a replica's first page, also of requests given up for another.",
			secondsBuckets),
		errors: counter("request_errors_total",
			"Requests to replicas that failed, by what was to blame.", "blame"),
		raced: counter("races_total",
			"Races: begun, won by the later request, and refused for the bound of the extra load.",
			"outcome"),
		topologies: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ringwatch_ring_topology_changes_total",
			Help: "Times that nodes or their tokens were found changed."}),
		follows: counter("follows_total",
			"Looks at the cluster's nodes and schema, by whether they succeeded.", "outcome"),
		hosts: hosts,
	}
	m.found, m.missing, m.failed = m.outcomes.WithLabelValues("found"), m.outcomes.WithLabelValues(
		"missing"), m.outcomes.WithLabelValues("failed")
	m.first, m.again = m.requests.WithLabelValues("first"), m.requests.WithLabelValues("again")
	m.races, m.probes = m.requests.WithLabelValues("race"), m.requests.WithLabelValues("probe")
	m.begun, m.won, m.refused = m.raced.WithLabelValues("begun"), m.raced.WithLabelValues("won"),
		m.raced.WithLabelValues("refused")
	for _, b := range blames {
		m.errors.WithLabelValues(b)
	}
	for _, o := range []string{"done", "failed"} {
		m.follows.WithLabelValues(o)
	}
	return m
}

var blames = []string{ofHost: "host", ofData: "data", ofRequest: "request"}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.reads, m.outcomes, m.requests, m.keys, m.seconds, m.errors,
		m.raced, m.topologies, m.follows, m.hosts}
}

func (m *metrics) follow(err error) {
	if err == nil {
		m.follows.WithLabelValues("done").Inc()
	} else {
		m.follows.WithLabelValues("failed").Inc()
	}
}

var hostsDesc = prometheus.NewDesc("ringwatch_ring_hosts",
	"Nodes: up, down to the driver, and late (up, but left alone since others had to answer "+
		"for them).", []string{"state"}, nil)

func (s *hosts) Describe(ch chan<- *prometheus.Desc) { ch <- hostsDesc }

func (s *hosts) Collect(ch chan<- prometheus.Metric) {
	var up, down, late int
	for _, h := range s.all() {
		switch {
		case !h.up():
			down++
		case !h.well():
			late++
		default:
			up++
		}
	}
	for state, n := range map[string]int{"up": up, "down": down, "late": late} {
		ch <- prometheus.MustNewConstMetric(hostsDesc, prometheus.GaugeValue, float64(n), state)
	}
}

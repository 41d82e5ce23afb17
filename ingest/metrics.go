package ingest

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics is the hop's ledger: accepted = forwarded + dropped + pending.
type metrics struct {
	accepted, forwarded, bytes, claimed prometheus.Counter
	own, events                         prometheus.Counter
	dropped                             *prometheus.CounterVec
	pending                             prometheus.Gauge
	seconds                             prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, held func() int64) (m *metrics, err error) {
	register := func(c prometheus.Collector) {
		if e := reg.Register(c); e != nil {
			err = fmt.Errorf("ingest: cannot register a metric: %w", e)
		}
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_ingest_" + name,
			Help: help})
		register(c)
		return c
	}
	m = &metrics{
		accepted: counter("frames_accepted_total", "Requests that brought a frame, good or not."),
		forwarded: counter("frames_forwarded_total",
			"Frames that all in-sync replicas have, answered 2xx."),
		bytes: counter("forwarded_bytes_total", "Bytes of forwarded frames."),
		claimed: counter("claimed_total", "Times that a node was found to be claimed by several "+
			"senders at once; the log names it."),
		own: counter("own_frames_total",
			"Of the forwarded frames, those of Ringwatch's own processes."),
		events: counter("events_total", "Events in the forwarded frames: what happened on nodes."),
		dropped: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_ingest_frames_dropped_total",
				Help: "Frames answered 4xx or 5xx, by the reason in the answer."},
			[]string{"reason"}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_ingest_frames_pending",
			Help: "Frames not answered yet."}),
		seconds: prometheus.NewHistogram(
			prometheus.HistogramOpts{Name: "ringwatch_ingest_seconds",
				Help:    "Time from a request's headers to its 2xx.",
				Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
	}
	for _, reason := range reasons {
		m.dropped.WithLabelValues(reason)
	}
	for _, c := range []prometheus.Collector{m.dropped, m.pending, m.seconds,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_ingest_in_flight_bytes",
			Help: "Bytes of bodies and payloads under way, of ingest.max_in_flight_bytes."},
			func() float64 { return float64(held()) })} {
		register(c)
	}
	return m, err
}

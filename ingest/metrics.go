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

func newMetrics(reg prometheus.Registerer, held func() int64) (*metrics, error) {
	m := &metrics{
		accepted: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_ingest_frames_accepted_total",
				Help: "Requests that brought a frame, good or not."}),
		forwarded: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_ingest_frames_forwarded_total",
				Help: "Frames that all in-sync replicas have, answered 2xx."}),
		dropped: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_ingest_frames_dropped_total",
				Help: "Frames answered 4xx or 5xx, by the reason in the answer."},
			[]string{"reason"}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_ingest_frames_pending",
			Help: "Frames not answered yet."}),
		bytes: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_ingest_forwarded_bytes_total",
				Help: "Bytes of forwarded frames."}),
		claimed: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_ingest_claimed_total",
				Help: "Times that a node was found to be claimed by several senders at once; the " +
					"log names it."}),
		seconds: prometheus.NewHistogram(
			prometheus.HistogramOpts{Name: "ringwatch_ingest_seconds",
				Help:    "Time from a request's headers to its 2xx.",
				Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
	}
	m.own = prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_ingest_own_frames_total",
		Help: "Of the forwarded frames, those of Ringwatch's own processes."})
	m.events = prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_ingest_events_total",
		Help: "Events in the forwarded frames: what happened on nodes."})
	for _, reason := range reasons {
		m.dropped.WithLabelValues(reason)
	}
	inFlight := prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "ringwatch_ingest_in_flight_bytes",
			Help: "Bytes of bodies and payloads under way, of ingest.max_in_flight_bytes."},
		func() float64 { return float64(held()) })
	for _, c := range []prometheus.Collector{m.accepted, m.forwarded, m.dropped, m.pending, m.bytes,
		m.seconds, m.claimed, m.own, m.events, inFlight} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("ingest: cannot register a metric: %w", err)
		}
	}
	return m, nil
}

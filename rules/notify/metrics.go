package notify

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics has a ledger per outlet: accepted = sent + dropped + pending. An alert counts once for
// each receiver of an outlet.
type metrics struct {
	accepted, sent, failures, dropped *prometheus.CounterVec
	pending, receivers                *prometheus.GaugeVec
	unrouted                          prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringwatch_notify_" + name + "_total", Help: help,
		}, append([]string{"outlet"}, more...))
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ringwatch_notify_" + name, Help: help,
		}, []string{"outlet"})
	}
	m := &metrics{
		accepted: counter("accepted", "Alerts given to an outlet, repeats included, by receiver."),
		sent:     counter("sent", "Alerts that a receiver has taken."),
		dropped: counter("dropped", "Alerts not sent: repeated (the receiver has that state, "+
			"or it waits), stale (a later state is known), relabel (dropped by relabelling), "+
			"full (max_bytes), refused (the receiver never takes it), removed (the receiver is "+
			"discovered no more), handed_on (each receiver has its own), stopped (we "+
			"ended).",
			"reason"),
		failures:  counter("failures", "Requests that failed and are made again."),
		pending:   gauge("pending", "Alerts that wait for a receiver or are on their way to it."),
		receivers: gauge("receivers", "Receivers of the outlet that are known."),
		unrouted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ringwatch_notify_unrouted_total", Help: "Alerts whose account has no outlet.",
		}),
	}
	for _, c := range []prometheus.Collector{
		m.accepted, m.sent, m.dropped, m.failures, m.pending, m.receivers, m.unrouted,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("notify: cannot register a metric: %w", err)
		}
	}
	return m, nil
}

// ledger is one outlet's part of the metrics.
type ledger struct {
	accepted, sent, failures prometheus.Counter
	dropped                  *prometheus.CounterVec
	pending, receivers       prometheus.Gauge
}

func (m *metrics) of(outlet string) *ledger {
	return &ledger{
		accepted: m.accepted.WithLabelValues(outlet), sent: m.sent.WithLabelValues(outlet),
		failures:  m.failures.WithLabelValues(outlet),
		dropped:   m.dropped.MustCurryWith(prometheus.Labels{"outlet": outlet}),
		pending:   m.pending.WithLabelValues(outlet),
		receivers: m.receivers.WithLabelValues(outlet),
	}
}

func (l *ledger) drop(reason string, n int) {
	if n > 0 {
		l.dropped.WithLabelValues(reason).Add(float64(n))
	}
}

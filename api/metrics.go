package api

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the server's own, beside those of listener.Observer and query.Reader.
type metrics struct {
	points  prometheus.Counter
	partial prometheus.Counter
	lookups *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		points: prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_api_points_total",
			Help: "Values in answers."}),
		partial: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_api_partial_answers_total",
				Help: "Answers that lack something which is stored, because it cannot be read."}),
	}
	m.lookups = prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "ringwatch_api_lookup_keys_total",
			Help: "Keys of lookups that were answered, by result (found, missing, failed)."},
		[]string{"result"})
	for _, result := range []string{"found", "missing", "failed"} {
		m.lookups.WithLabelValues(result)
	}
	reg.MustRegister(m.points, m.partial, m.lookups)
	return m
}

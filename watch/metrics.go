package watch

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	targets     prometheus.Gauge
	reads       *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	left, unfit prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		targets: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_watch_targets",
			Help: "Targets that this process has read within the last ten minutes."}),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringwatch_watch_reads_total",
			Help: "Readings of targets by kind of software and result: ok, or failed (the target " +
				"could not be read, or not whole)."}, []string{"kind", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ringwatch_watch_read_seconds",
			Help:    "Time that reading a Kafka or a Redis takes.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}, []string{"kind"}),
		left: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ringwatch_watch_series_dropped_total",
			Help: "Series of targets that were left out: beyond max_series, or no frame can " +
				"hold them."}),
		unfit: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ringwatch_watch_unfit_total",
			Help: "Readings that were dropped because they do not fit into a frame."}),
	}
	var wrong []error
	for _, c := range []prometheus.Collector{m.targets, m.reads, m.seconds, m.left, m.unfit} {
		if err := reg.Register(c); err != nil {
			wrong = append(wrong, fmt.Errorf("watch: cannot register a metric: %w", err))
		}
	}
	return m, errors.Join(wrong...)
}

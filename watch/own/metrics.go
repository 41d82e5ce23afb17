package own

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics is the hop's ledger: frames = sent + dropped + queued.
type metrics struct {
	frames, sent prometheus.Counter
	dropped      *prometheus.CounterVec
	queued       prometheus.Gauge
	series       prometheus.Gauge
	left         prometheus.Counter
	failed       prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		frames: counter("ringwatch_self_frames_total", "Frames of the process's own metrics."),
		sent:   counter("ringwatch_self_sent_total", "Of these, those that ingest has taken."),
		dropped: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_self_dropped_total",
				Help: "Of these, those that were dropped: queue_full (ingest was away for " +
					"too long) or " +
					"refused (ingest says that the frame is wrong)."}, []string{"reason"}),
		queued: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_self_queued",
			Help: "Of these, those that wait for ingest."}),
		series: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_self_series",
			Help: "Series in the newest frame; a histogram is one."}),
		left: counter("ringwatch_self_series_dropped_total",
			"Series left out of frames: beyond self.max_series, or no frame can hold them."),
		failed: counter("ringwatch_self_gather_failures_total",
			"Times that metrics could not be gathered, or not all of them."),
	}
	var wrong []error
	for _, c := range []prometheus.Collector{m.frames, m.sent, m.dropped, m.queued,
		m.series, m.left,
		m.failed} {
		if err := reg.Register(c); err != nil {
			wrong = append(wrong, fmt.Errorf("self: cannot register a metric: %w", err))
		}
	}
	return m, errors.Join(wrong...)
}

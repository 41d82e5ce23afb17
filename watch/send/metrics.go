package send

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics is the hop's ledger: frames = sent + dropped + queued + spooled.
type metrics struct {
	frames, sent                prometheus.Counter
	dropped                     *prometheus.CounterVec
	queued, spooled, spoolBytes prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &metrics{
		frames: counter("ringwatch_watch_frames_total", "Frames made of targets, and those that "+
			"the spool had at the start."),
		sent: counter("ringwatch_watch_sent_total", "Of these, those that ingest has taken."),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringwatch_watch_dropped_total",
			Help: "Of these, those that were dropped: queue_full (ingest was away for too long " +
				"and there is no spool), spool_full, disk (the spool cannot be written or read) " +
				"or refused (ingest says that the frame is wrong)."}, []string{"reason"}),
		queued:     gauge("ringwatch_watch_queued", "Of these, those that wait in memory."),
		spooled:    gauge("ringwatch_watch_spooled", "Of these, those that wait on disk."),
		spoolBytes: gauge("ringwatch_watch_spool_bytes", "Bytes of the frames on disk."),
	}
	var wrong []error
	for _, c := range []prometheus.Collector{m.frames, m.sent, m.dropped, m.queued, m.spooled,
		m.spoolBytes} {
		if err := reg.Register(c); err != nil {
			wrong = append(wrong, fmt.Errorf("watch: cannot register a metric: %w", err))
		}
	}
	return m, errors.Join(wrong...)
}

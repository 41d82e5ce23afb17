package files

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the directory's own.
type metrics struct {
	removed *prometheus.CounterVec // files, by reason: retention, max_bytes
	damaged prometheus.Counter     // files
	all     []prometheus.Collector
}

func newMetrics(f *Files) *metrics {
	m := &metrics{
		removed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringwatch_stream_files_removed_total",
			Help: "Files of the stream that were removed, by reason: retention, or max_bytes: " +
				"too large.",
		}, []string{"reason"}),
		damaged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ringwatch_stream_damaged_total",
			Help: "Files of the stream that were found damaged or missing; the log names them.",
		}),
	}
	size := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ringwatch_stream_bytes",
		Help: "Size of the stream's directory, with what is set aside there.",
	}, func() float64 { return float64(f.Bytes()) })
	m.removed.WithLabelValues("retention")
	m.removed.WithLabelValues("max_bytes")
	m.all = []prometheus.Collector{m.removed, m.damaged, size}
	return m
}

func (m *metrics) register(reg prometheus.Registerer) error {
	if reg == nil {
		return nil
	}
	var errs []error
	for _, c := range m.all {
		errs = append(errs, reg.Register(c))
	}
	return errors.Join(errs...)
}

func (m *metrics) unregister(reg prometheus.Registerer) {
	if reg == nil {
		return
	}
	for _, c := range m.all {
		reg.Unregister(c)
	}
}

package files

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/disk"
)

// metrics are the directory's own.
type metrics struct {
	removed *prometheus.CounterVec // files, by reason: retention, max_bytes
	damaged prometheus.Counter     // files
	all     []prometheus.Collector

	registered disk.Metrics
}

func newMetrics(bytes func() int64) *metrics {
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
	}, func() float64 { return float64(bytes()) })
	m.removed.WithLabelValues("retention")
	m.removed.WithLabelValues("max_bytes")
	m.all = []prometheus.Collector{m.removed, m.damaged, size}
	return m
}

// Register has the metrics gathered, until Unregister; nil: nobody gathers them.
func (m *metrics) Register(registerer prometheus.Registerer) error {
	return m.registered.Register(registerer, m.all...)
}

// Unregister ends that.
func (m *metrics) Unregister() { m.registered.Unregister() }

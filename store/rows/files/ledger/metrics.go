package ledger

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/disk"
)

// Metrics are the engine's own.
type Metrics struct {
	Synced  prometheus.Histogram   // time to write and sync a group of the log
	Refused prometheus.Counter     // mutations that could not be written
	Removed *prometheus.CounterVec // files, by reason: expired, max_bytes
	Merged  prometheus.Counter     // bytes
	damaged *prometheus.CounterVec // by what: rows, log, missing
	over    prometheus.Gauge       // bytes more than max_bytes
	all     []prometheus.Collector

	registered disk.Metrics
}

// Gauges return what is measured when somebody asks.
type Gauges struct {
	Bytes  func() int64 // of the directory
	Files  func() int   // of rows
	Memory func() int   // bytes of rows in memory
}

func newMetrics(g Gauges) *Metrics {
	m := &Metrics{
		Synced: prometheus.NewHistogram(
			prometheus.HistogramOpts{Name: "ringwatch_rows_log_sync_seconds",
				Help:    "Time to write and sync a group of rows to the log.",
				Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12)}),
		Refused: prometheus.NewCounter(
			prometheus.CounterOpts{
				Name: "ringwatch_rows_refused_total",
				Help: "Writings that the log did not take, as on a full disk; callers try again.",
			},
		),
		Removed: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "ringwatch_rows_files_removed_total",
				Help: "Files of rows that were removed, by reason: expired, or max_bytes: " +
					"too large.",
			},
			[]string{"reason"},
		),
		damaged: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "ringwatch_rows_damaged_total",
				Help: "Files that were found damaged or missing; the log names them.",
			},
			[]string{"file"},
		),
		Merged: prometheus.NewCounter(
			prometheus.CounterOpts{
				Name: "ringwatch_rows_merged_bytes_total",
				Help: "Bytes of files of rows that were written by merging others.",
			},
		),
		over: prometheus.NewGauge(
			prometheus.GaugeOpts{
				Name: "ringwatch_rows_over_max_bytes",
				Help: "By how much the directory is larger than max_bytes; what is left is too " +
					"new to remove.",
			},
		),
	}
	size := prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{
			Name: "ringwatch_rows_bytes",
			Help: "Size of the directory of rows: files, log and what is set aside.",
		},
		func() float64 { return float64(g.Bytes()) },
	)
	count := prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "ringwatch_rows_files", Help: "Files of rows."},
		func() float64 { return float64(g.Files()) },
	)
	memory := prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{
			Name: "ringwatch_rows_memory_bytes",
			Help: "Rows in memory that are in the log and not in files yet.",
		},
		func() float64 { return float64(g.Memory()) },
	)
	m.Removed.WithLabelValues("expired")
	m.Removed.WithLabelValues("max_bytes")
	m.all = []prometheus.Collector{
		m.Synced,
		m.Refused,
		m.Removed,
		m.damaged,
		m.Merged,
		m.over,
		size,
		count,
		memory,
	}
	return m
}

// Register has the metrics gathered, until Unregister; nil: nobody gathers them.
func (m *Metrics) Register(registerer prometheus.Registerer) error {
	return m.registered.Register(registerer, m.all...)
}

// Unregister ends that.
func (m *Metrics) Unregister() { m.registered.Unregister() }

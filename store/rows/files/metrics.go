package files

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the engine's own.
type metrics struct {
	synced  prometheus.Histogram   // time to write and sync a group of the log
	refused prometheus.Counter     // mutations that could not be written
	removed *prometheus.CounterVec // files, by reason: expired, max_bytes
	damaged *prometheus.CounterVec // by what: rows, log, missing
	merged  prometheus.Counter     // bytes
	over    prometheus.Gauge       // bytes more than max_bytes
	all     []prometheus.Collector
}

func newMetrics(e *Engine) *metrics {
	m := &metrics{
		synced: prometheus.NewHistogram(
			prometheus.HistogramOpts{Name: "ringwatch_rows_log_sync_seconds",
				Help:    "Time to write and sync a group of rows to the log.",
				Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12)}),
		refused: prometheus.NewCounter(
			prometheus.CounterOpts{
				Name: "ringwatch_rows_refused_total",
				Help: "Writings that the log did not take, as on a full disk; callers try again.",
			},
		),
		removed: prometheus.NewCounterVec(
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
		merged: prometheus.NewCounter(
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
		func() float64 { return float64(e.Bytes()) },
	)
	count := prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "ringwatch_rows_files", Help: "Files of rows."},
		func() float64 { return float64(len(e.all())) },
	)
	memory := prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{
			Name: "ringwatch_rows_memory_bytes",
			Help: "Rows in memory that are in the log and not in files yet.",
		},
		func() float64 { return float64(e.inMemory()) },
	)
	m.removed.WithLabelValues("expired")
	m.removed.WithLabelValues("max_bytes")
	m.all = []prometheus.Collector{
		m.synced,
		m.refused,
		m.removed,
		m.damaged,
		m.merged,
		m.over,
		size,
		count,
		memory,
	}
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

func (e *Engine) inMemory() int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	n := e.active.weight
	if e.frozen != nil {
		n += e.frozen.weight
	}
	return n
}

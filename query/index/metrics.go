package index

import "github.com/prometheus/client_golang/prometheus"

// metrics are the loader's own.
type metrics struct {
	nodes, series, bytes, pending, missing prometheus.Gauge

	failures, dictionaries prometheus.Counter
}

func newMetrics(l *Loader, reg prometheus.Registerer) *metrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "ringwatch", Subsystem: "series",
			Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "ringwatch",
			Subsystem: "series", Name: name, Help: help})
	}
	m := &metrics{
		nodes: gauge("nodes", "Nodes in the index of series."),
		series: gauge("series",
			"Series in the index: metrics × entities of all dictionaries, of each once for "+
				"all its days."),
		bytes:   gauge("bytes", "What the index takes in memory, estimated."),
		pending: gauge("nodes_pending", "Nodes whose series are not loaded yet."),
		missing: gauge("dictionaries_missing",
			"Dictionaries that cannot be read or that max_bytes left out: their series are "+
				"not found."),
		failures: counter("refresh_failures_total",
			"Refreshes of the index that failed; the next one does what is left."),
		dictionaries: counter("dictionaries_read_total", "Dictionaries read from the store."),
	}
	if reg != nil {
		age := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "ringwatch",
			Subsystem: "series", Name: "refresh_age_seconds",
			Help: "Time since the index was refreshed; -1 before the first time."}, func() float64 {
			last := l.lastSuccess.Load()
			if last == 0 {
				return -1
			}
			return float64(l.config.Clock().UnixMilli()-last) / 1000
		})
		reg.MustRegister(m.nodes, m.series, m.bytes, m.pending, m.missing, m.failures,
			m.dictionaries, age)
	}
	return m
}

func (m *metrics) measure(s Stats) {
	m.nodes.Set(float64(s.Nodes))
	m.series.Set(float64(s.Series))
	m.bytes.Set(float64(s.Bytes))
	m.pending.Set(float64(s.Pending))
	m.missing.Set(float64(s.Missing))
}

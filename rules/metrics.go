package rules

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	evaluations, failures, missed, dropped, published prometheus.Counter
	unread                                            prometheus.Counter
	duration                                          prometheus.Histogram
	series, clusters, pending, behind                 prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, every bool) *metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	scope := "cluster"
	if every {
		scope = "account"
	}
	reg = prometheus.WrapRegistererWith(prometheus.Labels{"scope": scope}, reg)
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_rules_" + name,
			Help: help})
		reg.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_rules_" + name, Help: help})
		reg.MustRegister(g)
		return g
	}
	m := &metrics{
		evaluations: counter("evaluations_total", "Evaluations of groups of rules."),
		failures:    counter("failures_total", "Evaluations of single rules that failed."),
		missed: counter("missed_total",
			"Evaluations of groups that were left out because the process was too far behind."),
		dropped:   counter("dropped_total", "Recorded samples that no frame can hold."),
		published: counter("published_total", "Frames of recorded series that are in Kafka."),
		unread:    counter("unread_frames_total", "Frames that could not be read."),
		series:    gauge("series", "Series in memory."),
		clusters:  gauge("clusters", "Clusters whose rules are evaluated here."),
		pending:   gauge("pending", "Frames of recorded series that wait for Kafka."),
		behind: gauge("behind_seconds",
			"How far the evaluation of the cluster that is furthest behind lags."),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ringwatch_rules_evaluation_seconds", Help: "Time that evaluating a group took.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}),
	}
	reg.MustRegister(m.duration)
	return m
}

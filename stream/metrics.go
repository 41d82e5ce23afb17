package stream

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// consumerMetrics is the hop's ledger: consumed = handled + dropped + pending.
type consumerMetrics struct {
	consumed, handled                              prometheus.Counter
	dropped                                        *prometheus.CounterVec
	pending                                        prometheus.Gauge
	retries, tickErrors, commitErrors, fetchErrors prometheus.Counter
	lag                                            *prometheus.GaugeVec

	// when the first pending record was received, ms since the Unix epoch; 0: none is pending
	oldest atomic.Int64
	age    prometheus.GaugeFunc
}

func newConsumerMetrics(reg prometheus.Registerer) (*consumerMetrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_stream_" + name + "_total", Help: help})
	}
	m := &consumerMetrics{
		consumed: counter("consumed", "Records taken from the stream, repetitions included."),
		handled:  counter("handled", "Records whose effect is done."),
		dropped: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_stream_dropped_total",
				Help: "Records not handled: returned (their partition went to another consumer, " +
					"or we stopped, and they are read again) or key (no frame of ingest's)."},
			[]string{"reason"}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_stream_pending",
			Help: "Records taken and not handled yet."}),
		retries:      counter("handle_retries", "Failed calls of the handler, each tried again."),
		tickErrors:   counter("tick_errors", "Failed attempts at what is due by time."),
		commitErrors: counter("commit_errors", "Failed commits of offsets."),
		fetchErrors:  counter("fetch_errors", "Errors while fetching or in the consumer group."),
		lag: prometheus.NewGaugeVec(
			prometheus.GaugeOpts{Name: "ringwatch_stream_lag_records",
				Help: "Records in the partition behind the last one taken, as of then."},
			[]string{"partition"}),
	}
	m.age = prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "ringwatch_stream_pending_age_seconds",
			Help: "Time since ingest took the oldest record that is pending, 0 if none is. It " +
				"rises while the handler fails, when lag is not measured."}, func() float64 {
			oldest := m.oldest.Load()
			if oldest == 0 {
				return 0
			}
			return time.Since(time.UnixMilli(oldest)).Seconds()
		})
	for _, c := range []prometheus.Collector{m.consumed, m.handled, m.dropped, m.pending, m.retries,
		m.tickErrors, m.commitErrors, m.fetchErrors, m.lag, m.age} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("stream: cannot register a metric: %w", err)
		}
	}
	return m, nil
}

// waiting says what is pending now.
func (m *consumerMetrics) waiting(pending []Record) {
	m.pending.Set(float64(len(pending)))
	oldest := int64(0)
	if len(pending) > 0 {
		oldest = pending[0].Received.UnixMilli()
	}
	m.oldest.Store(oldest)
}

func partitionLabel(p int32) string { return strconv.Itoa(int(p)) }

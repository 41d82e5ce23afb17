package api

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Where an answer's values came from.
const (
	fromRecent = "recent"
	fromStore  = "store"
	fromBoth   = "both" // a range whose older part is the store's
)

// Why the recent source was asked in vain.
const (
	fallMiss       = "miss"       // it does not hold it
	fallAway       = "away"       // it did not answer
	fallIncomplete = "incomplete" // it may lack some of the range
	fallStale      = "stale"      // its newest frame is older than two intervals, so the store may know a newer one
	fallUnreadable = "unreadable" // what it holds cannot be decoded
)

var fallReasons = []string{fallMiss, fallAway, fallIncomplete, fallStale, fallUnreadable}

// metrics are the server's own, beside those of front.Observer: for each read of values its source.
type metrics struct {
	reads     *prometheus.CounterVec
	fallbacks *prometheus.CounterVec
	failures  prometheus.Counter
	points    prometheus.Counter
	partial   prometheus.Counter
	flights   prometheus.Counter
	lookups   *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		reads:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ringwatch_api_reads_total", Help: "Reads of a node's values, by call (latest, range, last_seen) and by the source that answered."}, []string{"call", "source"}),
		fallbacks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ringwatch_api_fallbacks_total", Help: "Reads that the recent source could not answer and the store was asked for, by reason."}, []string{"reason"}),
		failures:  prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_api_read_failures_total", Help: "Reads that no source could answer."}),
		points:    prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_api_points_total", Help: "Values in answers."}),
		partial:   prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_api_partial_answers_total", Help: "Answers that lack something which is stored, because it cannot be read."}),
	}
	m.flights = prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_api_flights_total", Help: "Readings of a node's values; requests that want the same at the same time share one."})
	m.lookups = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ringwatch_api_lookup_keys_total", Help: "Keys of lookups that were answered, by result (found, missing, failed)."}, []string{"result"})
	for _, result := range []string{"found", "missing", "failed"} {
		m.lookups.WithLabelValues(result)
	}
	for _, r := range fallReasons {
		m.fallbacks.WithLabelValues(r)
	}
	for _, call := range []string{"latest", "range", "last_seen"} {
		m.reads.WithLabelValues(call, fromRecent)
		m.reads.WithLabelValues(call, fromStore)
	}
	reg.MustRegister(m.reads, m.fallbacks, m.failures, m.points, m.partial, m.flights, m.lookups)
	return m
}

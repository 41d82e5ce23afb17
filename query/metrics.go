package query

import (
	"sync/atomic"

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
	// the store may know a newer frame: its newest is two intervals old
	fallStale      = "stale"
	fallUnreadable = "unreadable" // what it holds cannot be decoded
)

var fallReasons = []string{fallMiss, fallAway, fallIncomplete, fallStale, fallUnreadable}

// How a range query was answered.
const (
	resultHit    = "hit"    // some of its steps were kept
	resultMiss   = "miss"   // none were
	resultAround = "around" // its steps cannot be kept, or were not to be
)

// metrics tell for each read of values its source. They are named after the API, which all reads
// were once of: dashboards and alerts know them so.
type metrics struct {
	reads     *prometheus.CounterVec
	fallbacks *prometheus.CounterVec
	failures  prometheus.Counter
	flights   prometheus.Counter

	results     *prometheus.CounterVec
	resultSteps prometheus.Counter
	keeps       func(*resultCache) // tells of which results the bytes are shown
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringwatch_api_reads_total",
			Help: "Reads of a node's values, by call (latest, range, last_seen, heard) and by " +
				"the source that answered.",
		}, []string{"call", "source"}),
		fallbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringwatch_api_fallbacks_total",
			Help: "Reads that the recent source could not answer and the store was asked " +
				"for, by reason.",
		}, []string{"reason"}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ringwatch_api_read_failures_total",
			Help: "Reads that no source could answer.",
		}),
		flights: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ringwatch_api_flights_total",
			Help: "Readings of a node's values; requests that want the same at the same " +
				"time share one.",
		}),
	}
	m.results = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ringwatch_api_results_total",
		Help: "Range queries, by whether steps of them were kept (hit), might have been (miss), " +
			"or cannot be (around).",
	}, []string{"result"})
	m.resultSteps = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "ringwatch_api_result_steps_total",
		Help: "Steps of range queries that were kept and not evaluated again.",
	})
	var kept atomic.Pointer[resultCache]
	m.keeps = kept.Store
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ringwatch_api_results_bytes",
		Help: "Bytes of steps of range queries that are kept.",
	}, func() float64 { return float64(kept.Load().held()) })
	for _, of := range []string{resultHit, resultMiss, resultAround} {
		m.results.WithLabelValues(of)
	}
	for _, r := range fallReasons {
		m.fallbacks.WithLabelValues(r)
	}
	for _, call := range []string{"latest", "range", "last_seen", "heard"} {
		m.reads.WithLabelValues(call, fromRecent)
		m.reads.WithLabelValues(call, fromStore)
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.reads, m.fallbacks, m.failures, m.flights,
		m.results, m.resultSteps, held} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

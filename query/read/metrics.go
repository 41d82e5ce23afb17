package read

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
	// the store may know a newer frame: its newest is two intervals old
	fallStale      = "stale"
	fallUnreadable = "unreadable" // what it holds cannot be decoded
)

var fallReasons = []string{fallMiss, fallAway, fallIncomplete, fallStale, fallUnreadable}

// metrics tell for each read of values its source. They are named after the API, which all reads
// were once of: dashboards and alerts know them so.
type metrics struct {
	reads     *prometheus.CounterVec
	fallbacks *prometheus.CounterVec
	failures  prometheus.Counter
	flights   prometheus.Counter
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
	for _, c := range []prometheus.Collector{m.reads, m.fallbacks, m.failures, m.flights} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

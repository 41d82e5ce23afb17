package recent

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Why a frame was not written.
const (
	dropOld       = "old"       // older than Keep when it came
	dropMalformed = "malformed" // no frame
	dropAway      = "away"      // Redis did not answer in time, or had just not answered
	dropInactive  = "inactive"  // of a cluster that nobody has read for a while
	dropRefused   = "refused"   // an error was the answer: out of memory, read-only, loading
)

var dropReasons = []string{dropOld, dropMalformed, dropAway, dropInactive, dropRefused}

// writerMetrics is the writer's ledger: accepted = written + dropped + pending, always.
type writerMetrics struct {
	accepted prometheus.Counter
	written  prometheus.Counter
	dropped  *prometheus.CounterVec
	pending  prometheus.Gauge
	bytes    prometheus.Counter
	seconds  prometheus.Histogram

	active          prometheus.Gauge
	refreshFailures prometheus.Counter
	walks           *prometheus.CounterVec
	walked          prometheus.Counter
	memory          memoryGauges
}

func newWriterMetrics(reg prometheus.Registerer) *writerMetrics {
	m := &writerMetrics{
		accepted: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_recent_accepted_total",
				Help: "Frames taken from the log."}),
		written: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_recent_written_total",
				Help: "Frames written to Redis, or to memory where there is none."}),
		dropped: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_recent_dropped_total",
				Help: "Frames not written, by reason. Readers go to the store for them."},
			[]string{"reason"}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_recent_pending",
			Help: "Frames being written."}),
		bytes: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_recent_written_bytes_total",
				Help: "Bytes of the frames that were written."}),
		seconds: prometheus.NewHistogram(
			prometheus.HistogramOpts{Name: "ringwatch_recent_write_seconds",
				Help: "Time for one batch of frames.", Buckets: latencyBuckets}),
	}
	m.active = prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_recent_active_clusters",
		Help: "Clusters of this process's partitions that are read and therefore kept."})
	m.refreshFailures = prometheus.NewCounter(
		prometheus.CounterOpts{Name: "ringwatch_recent_refresh_failures_total",
			Help: "Times that it was not to be learned which clusters are read, or " +
				"which are kept."})
	m.walks = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ringwatch_recent_walks_total",
		Help: "Readings of a partition's last minutes, for clusters that became active or whose " +
			"frames were lost."}, []string{"result"})
	m.walked = prometheus.NewCounter(
		prometheus.CounterOpts{Name: "ringwatch_recent_walked_frames_total",
			Help: "Frames written while the last minutes were read again; they are not " +
				"in accepted."})
	for _, result := range []string{"done", "failed"} {
		m.walks.WithLabelValues(result)
	}
	for _, r := range dropReasons {
		m.dropped.WithLabelValues(r)
	}
	m.memory = newMemoryGauges(reg)
	reg.MustRegister(m.accepted, m.written, m.dropped, m.pending, m.bytes, m.seconds, m.active,
		m.refreshFailures, m.walks, m.walked)
	return m
}

// latencyBuckets reach from a Redis beside us to the deadlines.
var latencyBuckets = prometheus.ExponentialBuckets(0.0001, 2, 16)

// How a reader's call ended.
const (
	readHit     = "hit"
	readPartial = "partial" // frames, but not provably all
	readMiss    = "miss"
	readError   = "error"
)

// readerMetrics counts a reader's calls.
type readerMetrics struct {
	reads   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newReaderMetrics(reg prometheus.Registerer) *readerMetrics {
	m := &readerMetrics{
		reads: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_recent_reads_total",
				Help: "Reads of the last minutes, by what was asked for and how it ended."},
			[]string{"call", "result"}),
		seconds: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "ringwatch_recent_read_seconds",
				Help: "Time of reads of the last minutes.", Buckets: latencyBuckets},
			[]string{"call"}),
	}
	for _, call := range []string{"latest", "frames", "instants", "last_seen", "claimed"} {
		for _, result := range []string{readHit, readPartial, readMiss, readError} {
			m.reads.WithLabelValues(call, result)
		}
		m.seconds.WithLabelValues(call)
	}
	reg.MustRegister(m.reads, m.seconds)
	return m
}

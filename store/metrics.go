package store

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/ringwatch/ringwatch/store/closing"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/events"
	"github.com/ringwatch/ringwatch/store/hours"
	"github.com/ringwatch/ringwatch/store/reading"
	"github.com/ringwatch/ringwatch/store/schedule"
)

// Metrics are the store's own, by the room that counts.
type Metrics struct {
	frames       frameMetrics
	events       events.Metrics
	dictionaries dictionaries.Metrics
	samples      prometheus.Counter // rows of v1 and v2
	columns      columns.Metrics
	rollupBytes  *prometheus.CounterVec // written, before compression, by level
	reading      reading.Metrics
	hours        hours.Metrics
	schedule     schedule.Metrics
	closing      closing.Metrics
	closingLimit prometheus.Gauge // windows that may be closed at once: see closing.Limiter
	closingAge   age              // see closing.Windows.Age
	hourAge      age              // see schedule.Schedule.Age

	rowsWritten, rowsRead *prometheus.CounterVec // by table
	retries               prometheus.Counter     // of calls to the database
}

// frameMetrics are the ledger of the Writer: accepted = written + dropped + returned + pending.
// pending is 0 when no Handle runs.
type frameMetrics struct {
	accepted      prometheus.Counter     // records given to Handle
	written       prometheus.Counter     // frames that are in Cassandra
	dropped       *prometheus.CounterVec // by reason
	pending       prometheus.Gauge       // frames whose write has not ended
	returned      prometheus.Counter     // of a Handle that failed: its caller gives them again
	badKeyPayload prometheus.Counter     // key frames whose identity could not be read
}

// age is how long something of the newest Writer has waited, 0 if there is no Writer.
type age struct {
	of    atomic.Pointer[func() time.Duration]
	gauge prometheus.GaugeFunc
}

func (a *age) seconds() float64 {
	if of := a.of.Load(); of != nil {
		return (*of)().Seconds()
	}
	return 0
}

// NewMetrics registers the store's metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	made := promauto.With(reg)
	options := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "ringwatch", Subsystem: "store", Name: name, Help: help}
	}
	counter := func(name, help string) prometheus.Counter {
		return made.NewCounter(prometheus.CounterOpts(options(name, help)))
	}
	// What has not happened yet is 0, so that a rule sees the first time, too.
	vec := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := made.NewCounterVec(prometheus.CounterOpts(options(name, help)), []string{label})
		for _, value := range values {
			v.WithLabelValues(value)
		}
		return v
	}
	gauge := func(name, help string) prometheus.Gauge {
		return made.NewGauge(prometheus.GaugeOpts(options(name, help)))
	}
	histogram := func(name, help string, first float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Namespace: "ringwatch", Subsystem: "store", Name: name,
			Help: help, Buckets: prometheus.ExponentialBuckets(first, 2, 15)}
	}
	damaged := counter("damaged_blobs_total", "Stored blobs that could not be decoded.")
	retries := counter("retries_total", "Calls to the database that were tried again.")
	m := &Metrics{
		frames: frameMetrics{
			accepted: counter("frames_accepted_total", "Records the store role was given."),
			written:  counter("frames_written_total", "Frames written to the database."),
			dropped: vec("frames_dropped_total", "Frames that cannot be stored, by reason.",
				"reason", "corrupt", "too_large", "expired"),
			pending: gauge("frames_pending", "Frames being written."),
			returned: counter("frames_returned_total",
				"Frames given back unwritten; the stream brings them again."),
			badKeyPayload: counter("key_payload_errors_total",
				"Key frames whose identity could not be read."),
		},
		events: events.Metrics{
			Results: vec("events_total", "Events that frames brought, by what became of them; of "+
				"corrupt ones the frames.", "result", "written", "excess", "expired", "old",
				"corrupt"),
			Untold: counter("events_untold_total", "Events that came late, too many in a minute "+
				"for who follows events to be told. They are in lists."),
		},
		dictionaries: dictionaries.Metrics{
			Written: counter("dictionaries_written_total",
				"Dictionaries written, those of rollups among them."),
			Known: counter("dictionaries_known_total",
				"Dictionaries that were not written because they are there."),
			Receipts: vec("dictionary_receipts_total",
				"Partitions of which the process did not know what dictionaries they have, and "+
					"asked, by whether it learned of some.", "result"),
			Damaged: damaged,
		},
		samples: counter("samples_total",
			"Samples written as rows of their own, by generations v1 and v2."),
		columns: columns.Metrics{
			Bytes:   counter("column_bytes_total", "Bytes of columns written, before compression."),
			Columns: counter("columns_total", "Columns written."),
		},
		rollupBytes: vec("rollup_bytes_total", "Bytes of rollups written, before compression.",
			"level"),
		reading: reading.Metrics{
			Windows: vec("read_windows_total",
				"Windows answered, by layer; kept: this process had read them before.", "layer"),
			Damaged: damaged,
		},
		hours: hours.Metrics{
			Hours: vec("hours_total", "Hours of nodes that were due, by what making them took.",
				"result", "written", "unchanged", "empty"),
			Days: vec("days_total", "Days of nodes that were due, by what making them took.",
				"result", "written", "unchanged", "empty", "damaged"),
			Seconds: made.NewHistogram(histogram("hour_make_seconds",
				"Time to make an hour of a node.", 0.001)),
			Bytes: counter("hour_bytes_total", "Bytes of hours written, before compression."),
			RollupSeconds: made.NewHistogramVec(histogram("rollup_compute_seconds",
				"Time to compute a rollup, without the database's.", 0.0001), []string{"level"}),
			Damaged: damaged,
		},
		schedule: schedule.Metrics{
			Owed: gauge("spans_owed",
				"Hours and days of nodes that are to be made of what was closed in them."),
			Retries: retries,
		},
		closing: closing.Metrics{
			OpenWindows: gauge("windows_open", "Windows with frames that are not in columns yet."),
			Deferred: gauge("windows_set_aside", "Windows that are not closed because they need "+
				"more memory than their account may have."),
			Closed: vec("windows_closed_total", "Windows closed, by what that took.", "result",
				"written", "merged", "unchanged", "empty", "expired"),
			Seconds: made.NewHistogram(histogram("window_close_seconds",
				"Time to close a window.", 0.001)),
			LostFrames: vec("lost_frames_total",
				"Frames of closed windows that could not be read, by reason.", "reason", "corrupt",
				"missing_key", "excess", "memory"),
			Damaged: damaged,
			Retries: retries,
		},
		closingLimit: gauge("windows_closing_limit",
			"Windows that may be closed at once; it follows how fast the database answers."),
		rowsWritten: vec("rows_written_total", "Rows written to the database, by table.", "table"),
		rowsRead:    vec("rows_read_total", "Rows that the database answered, by table.", "table"),
		retries:     retries,
	}
	m.closingAge.gauge = made.NewGaugeFunc(prometheus.GaugeOpts(options("closing_age_seconds",
		"How long the window that is due longest has waited to be closed; 0: none waits. Those "+
			"set aside do not count.")), m.closingAge.seconds)
	m.hourAge.gauge = made.NewGaugeFunc(prometheus.GaugeOpts(options("hour_age_seconds",
		"How long the hour that is due longest has waited to be made of its windows, whose rows "+
			"live three hours; 0: none waits.")), m.hourAge.seconds)
	return m
}

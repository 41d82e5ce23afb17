package store

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the store's own. The ledger of the Writer is Accepted = Written + Dropped + Returned
// + Pending; Pending is 0 when no Handle runs.
type Metrics struct {
	Accepted prometheus.Counter     // records given to Handle
	Written  prometheus.Counter     // frames that are in Cassandra
	Dropped  *prometheus.CounterVec // by reason: corrupt, too_large, expired
	Pending  prometheus.Gauge       // frames whose write has not ended
	Returned prometheus.Counter     // frames of a Handle that failed: its caller gives them again

	OpenWindows prometheus.Gauge
	ClosingAge  prometheus.GaugeFunc                 // see closing.Windows.Age
	closingAge  atomic.Pointer[func() time.Duration] // the newest Writer's; nil: there is none
	HourAge     prometheus.GaugeFunc                 // see schedule.Schedule.Age
	hourAge     atomic.Pointer[func() time.Duration]
	// windows, by result: written, merged, unchanged, empty, expired
	Closed        *prometheus.CounterVec
	CloseSeconds  prometheus.Histogram
	ClosingAtOnce prometheus.Gauge // windows that may be closed at once: see closing.Limiter
	// windows that need more memory than their account may have: see Writer.Deferred
	Deferred prometheus.Gauge
	// Dictionaries of closed windows and of rollups. Written and known together are those that a
	// window or rollup refers to.
	DictionariesWritten, DictionariesKnown prometheus.Counter
	// read because a process did not know which dictionaries are there, by result: found, none
	Receipts *prometheus.CounterVec

	ColumnBytes prometheus.Counter
	Columns     prometheus.Counter
	Samples     prometheus.Counter // rows of v1 and v2
	// frames of closed windows that could not be read, by reason: corrupt, missing_key, excess,
	// memory
	LostFrames *prometheus.CounterVec
	Damaged    prometheus.Counter // blobs that could not be decoded
	Retries    prometheus.Counter
	Owed       prometheus.Gauge // hours and days that are to be made: see package schedule
	// hours that were due, by result: written, unchanged, empty
	Hours       *prometheus.CounterVec
	HourSeconds prometheus.Histogram // time to make one
	HourBytes   prometheus.Counter   // theirs, before compression
	// days that were due, by result: written, unchanged, empty, damaged
	Days *prometheus.CounterVec
	// time to compute a rollup without reading and writing, by level
	RollupSeconds *prometheus.HistogramVec
	RollupBytes   *prometheus.CounterVec // written, before compression, by level
	ReadWindows   *prometheus.CounterVec // by layer: raw, fresh, kept
	BadKeyPayload prometheus.Counter     // key frames whose identity could not be read

	// events of frames, by result: written, excess, expired, old; corrupt counts frames
	Events *prometheus.CounterVec
	Untold prometheus.Counter // events that came late, and that no follower hears of

	RowsWritten, RowsRead *prometheus.CounterVec // by table
}

// NewMetrics registers the store's metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "ringwatch",
			Subsystem: "store", Name: name, Help: help})
	}
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "ringwatch",
			Subsystem: "store", Name: name, Help: help}, []string{label})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "ringwatch", Subsystem: "store",
			Name: name, Help: help})
	}
	m := &Metrics{
		Accepted: counter("frames_accepted_total", "Records the store role was given."),
		Written:  counter("frames_written_total", "Frames written to the database."),
		Dropped: vec("frames_dropped_total", "Frames that cannot be stored, by reason.",
			"reason"),
		Pending: gauge("frames_pending", "Frames being written."),
		Returned: counter("frames_returned_total",
			"Frames given back unwritten; the stream brings them again."),
		OpenWindows: gauge("windows_open", "Windows with frames that are not in columns yet."),
		Closed:      vec("windows_closed_total", "Windows closed, by what that took.", "result"),
		CloseSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "ringwatch",
			Subsystem: "store", Name: "window_close_seconds",
			Help: "Time to close a window.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}),
		ClosingAtOnce: gauge("windows_closing_limit",
			"Windows that may be closed at once; it follows how fast the database answers."),
		Deferred: gauge("windows_set_aside",
			"Windows that are not closed because they need more memory than their "+
				"account may have."),
		DictionariesWritten: counter("dictionaries_written_total",
			"Dictionaries written, those of rollups among them."),
		DictionariesKnown: counter("dictionaries_known_total",
			"Dictionaries that were not written because they are there."),
		Receipts: vec("dictionary_receipts_total",
			"Partitions of which the process did not know what dictionaries they have, and "+
				"asked, by whether it learned of some.", "result"),

		ColumnBytes: counter("column_bytes_total", "Bytes of columns written, before compression."),
		Columns:     counter("columns_total", "Columns written."),
		Samples: counter("samples_total",
			"Samples written as rows of their own, by generations v1 and v2."),
		LostFrames: vec("lost_frames_total",
			"Frames of closed windows that could not be read, by reason.", "reason"),
		Damaged: counter("damaged_blobs_total", "Stored blobs that could not be decoded."),
		Retries: counter("retries_total", "Calls to the database that were tried again."),
		Owed: gauge("spans_owed",
			"Hours and days of nodes that are to be made of what was closed in them."),
		Hours: vec("hours_total", "Hours of nodes that were due, by what making them took.",
			"result"),
		HourSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "ringwatch",
			Subsystem: "store", Name: "hour_make_seconds",
			Help: "Time to make an hour of a node.", Buckets: prometheus.ExponentialBuckets(0.001,
				2, 15)}),
		HourBytes: counter("hour_bytes_total", "Bytes of hours written, before compression."),
		Days: vec("days_total", "Days of nodes that were due, by what making them took.",
			"result"),
		RollupSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "ringwatch",
			Subsystem: "store", Name: "rollup_compute_seconds",
			Help:    "Time to compute a rollup, without the database's.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 15)}, []string{"level"}),
		RollupBytes: vec("rollup_bytes_total", "Bytes of rollups written, before compression.",
			"level"),
		ReadWindows: vec("read_windows_total",
			"Windows answered, by layer; kept: this process had read them before.", "layer"),
		BadKeyPayload: counter("key_payload_errors_total",
			"Key frames whose identity could not be read."),

		Events: vec("events_total", "Events that frames brought, by what became of them; of "+
			"corrupt ones the frames.", "result"),
		Untold: counter("events_untold_total", "Events that came late, too many in a minute for "+
			"who follows events to be told. They are in lists."),
		RowsWritten: vec("rows_written_total", "Rows written to the database, by table.", "table"),
		RowsRead:    vec("rows_read_total", "Rows that the database answered, by table.", "table"),
	}
	seconds := func(age *atomic.Pointer[func() time.Duration]) func() float64 {
		return func() float64 {
			if f := age.Load(); f != nil {
				return (*f)().Seconds()
			}
			return 0
		}
	}
	m.ClosingAge = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "ringwatch",
		Subsystem: "store", Name: "closing_age_seconds",
		Help: "How long the window that is due longest has waited to be closed; 0: none waits. " +
			"Those set aside do not count."}, seconds(&m.closingAge))
	m.HourAge = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "ringwatch",
		Subsystem: "store", Name: "hour_age_seconds",
		Help: "How long the hour that is due longest has waited to be made of its windows, whose " +
			"rows live three hours; 0: none waits."}, seconds(&m.hourAge))
	// What has not happened yet is 0, so that a rule sees the first time, too.
	for _, of := range []struct {
		vec    *prometheus.CounterVec
		values []string
	}{
		{m.Dropped, []string{"corrupt", "too_large", "expired"}},
		{m.LostFrames, []string{"corrupt", "missing_key", "excess", "memory"}},
		{m.Closed, []string{"written", "merged", "unchanged", "empty", "expired"}},
		{m.Hours, []string{"written", "unchanged", "empty"}},
		{m.Days, []string{"written", "unchanged", "empty", "damaged"}},
		{m.Events, []string{"written", "excess", "expired", "old", "corrupt"}},
	} {
		for _, value := range of.values {
			of.vec.WithLabelValues(value)
		}
	}
	if reg != nil {
		reg.MustRegister(m.Accepted, m.Written, m.Dropped, m.Pending, m.Returned, m.OpenWindows,
			m.ClosingAge, m.HourAge, m.Closed, m.CloseSeconds,
			m.ClosingAtOnce, m.Deferred, m.DictionariesWritten, m.DictionariesKnown, m.Receipts,
			m.ColumnBytes, m.Columns, m.Samples,
			m.LostFrames, m.Damaged, m.Retries, m.Owed, m.Hours, m.HourSeconds, m.HourBytes, m.Days,
			m.RollupSeconds, m.RollupBytes, m.ReadWindows, m.BadKeyPayload,
			m.Events, m.Untold, m.RowsWritten, m.RowsRead)
	}
	return m
}

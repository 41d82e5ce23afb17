package ring

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// cacheMetrics count what a row cache does. Hit rate: kept / (kept + joined + read).
type cacheMetrics struct {
	keys      *prometheus.CounterVec
	evicted   prometheus.Counter
	forgotten prometheus.Counter
	tooLarge  prometheus.Counter
	gauges    []prometheus.Collector

	adding sync.Mutex
	// replaced whole, as each table comes once and each load asks
	tables atomic.Pointer[map[string]*tableCounts]
}

// tableCounts are the keys of a table that were answered from what is kept, that waited for
// another's read, and that were read.
type tableCounts struct{ kept, joined, read prometheus.Counter }

func newCacheMetrics(c *rowCache, limit int64) *cacheMetrics {
	m := &cacheMetrics{
		keys: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_ring_cache_keys_total",
				Help: "Keys asked of the row cache, by table and by what answered: kept rows, " +
					"another's read that was joined, or a read. A key whose joined read failed " +
					"is counted again."}, []string{"table", "by"}),
		evicted: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_ring_cache_evicted_total",
				Help: "Answers dropped to make room for others."}),
		forgotten: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_ring_cache_forgotten_total",
				Help: "Partitions that were named by writers of this process, kept or not."}),
		tooLarge: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_ring_cache_too_large_total",
				Help: "Answers not kept because they take more than a sixteenth of the cache."}),
	}
	m.tables.Store(&map[string]*tableCounts{})
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_ring_cache_" + name,
			Help: help}, value)
	}
	m.gauges = []prometheus.Collector{
		gauge("bytes", "What the kept answers take of the heap, estimated. What has expired or "+
			"was forgotten counts until it goes.", func() float64 {
			return float64(c.entries.WeightedSize())
		}),
		gauge("answers", "Kept answers.", func() float64 {
			return float64(c.entries.EstimatedSize())
		}),
		gauge("limit_bytes", "What the kept answers may take.", func() float64 {
			return float64(limit)
		}),
	}
	return m
}

func (m *cacheMetrics) all() []prometheus.Collector {
	return append([]prometheus.Collector{m.keys, m.evicted, m.forgotten, m.tooLarge}, m.gauges...)
}

// of returns a table's counters.
func (m *cacheMetrics) of(table string) *tableCounts {
	if t := (*m.tables.Load())[table]; t != nil {
		return t
	}
	m.adding.Lock()
	defer m.adding.Unlock()
	more := maps.Clone(*m.tables.Load())
	t := more[table]
	if t == nil {
		t = &tableCounts{m.keys.WithLabelValues(table, "kept"),
			m.keys.WithLabelValues(table, "joined"), m.keys.WithLabelValues(table, "read")}
		more[table] = t
	}
	m.tables.Store(&more)
	return t
}

// left counts an answer that is no longer kept.
func (m *cacheMetrics) left(cause otter.DeletionCause) {
	if cause == otter.CauseOverflow {
		m.evicted.Inc()
	}
}

package results

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// How a range query was answered.
const (
	Hit    = "hit"    // some of its steps were kept
	Miss   = "miss"   // none were
	Around = "around" // its steps cannot be kept, or were not to be
)

// Metrics tell how range queries were answered. They are named after the API, as those of
// reads are: dashboards and alerts know them so.
type Metrics struct {
	ranges *prometheus.CounterVec
	steps  prometheus.Counter
	cache  atomic.Pointer[Cache] // whose bytes are told
}

// NewMetrics registers them; reg may be nil.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{}
	m.ranges = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ringwatch_api_results_total",
		Help: "Range queries, by whether steps of them were kept (hit), might have been (miss), " +
			"or cannot be (around).",
	}, []string{"result"})
	m.steps = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "ringwatch_api_result_steps_total",
		Help: "Steps of range queries that were kept and not evaluated again.",
	})
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ringwatch_api_results_bytes",
		Help: "Bytes of steps of range queries that are kept.",
	}, func() float64 { return float64(m.cache.Load().held()) })
	for _, of := range []string{Hit, Miss, Around} {
		m.ranges.WithLabelValues(of)
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.ranges, m.steps, held} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// TellOf says which cache's bytes are told.
func (m *Metrics) TellOf(c *Cache) { m.cache.Store(c) }

// Answered counts a range query by how it was answered.
func (m *Metrics) Answered(how string) { m.ranges.WithLabelValues(how).Inc() }

// Reused counts steps that were not evaluated again.
func (m *Metrics) Reused(steps int64) { m.steps.Add(float64(steps)) }

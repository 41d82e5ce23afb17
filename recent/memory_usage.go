package recent

import (
	"context"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// memoryGauges say how full Redis is. They have no value until it has said so, and while it does
// not, or may not: INFO needs a right of its own.
type memoryGauges struct{ used, most *prometheus.GaugeVec }

func newMemoryGauges(reg prometheus.Registerer) memoryGauges {
	g := memoryGauges{
		used: prometheus.NewGaugeVec(
			prometheus.GaugeOpts{Name: "ringwatch_recent_redis_memory_bytes",
				Help: "Memory that Redis uses, all of its nodes together."}, nil),
		most: prometheus.NewGaugeVec(
			prometheus.GaugeOpts{Name: "ringwatch_recent_redis_memory_max_bytes",
				Help: "Memory that Redis may use, all of its nodes together; 0: there " +
					"is no limit."},
			nil),
	}
	reg.MustRegister(g.used, g.most)
	return g
}

func (g memoryGauges) set(used, most float64, known bool) {
	if !known {
		g.used.Reset()
		g.most.Reset()
		return
	}
	g.used.WithLabelValues().Set(used)
	g.most.WithLabelValues().Set(most)
}

// memoryUsage asks each node of Redis how full it is.
func (l *redisBackend) memoryUsage(ctx context.Context) (used, most float64, known bool) {
	client, err := l.get(ctx)
	if err != nil {
		return 0, 0, false
	}
	for _, node := range client.Nodes() {
		text, err := node.Do(ctx, node.B().Info().Section("memory").Build()).ToString()
		if err != nil {
			return 0, 0, false
		}
		known = true
		used += infoNumber(text, "used_memory")
		most += infoNumber(text, "maxmemory")
	}
	return used, most, known
}

// infoNumber returns a number of what INFO says, 0 if it does not say it.
func infoNumber(text, name string) float64 {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+":"); found {
			n, _ := strconv.ParseFloat(value, 64)
			return n
		}
	}
	return 0
}

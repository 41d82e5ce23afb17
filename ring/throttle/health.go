package throttle

import (
	"math"
	"time"
)

// Pressure is one number for all classes. It is 0 while the cluster is well. From 0 to 1 the
// classes with shrink 1 go from their whole limits down to their floor, from 1 to 2 those with
// shrink 2, and so on. Each window in which too many operations were slow or failed raises it by
// pressureUp; each other one lowers it by pressureDown. So bulk is at its floor after 4 windows
// (2 s), and has its whole limits back after 40 (20 s). All processes feed one pressure, in
// Redis. A process without Redis has its own.
const (
	pressureUp   = 0.25
	pressureDown = 0.025
	healthLeast  = 10 // operations that are judged at least, unless fewer come in
	healthMost   = 4  // windows
	maxOrder     = 10
)

// factor returns the part of its limits that a class has under a pressure.
func (k *Class) factor(pressure float64) float64 {
	return 1 - min(max(pressure-float64(k.Shrink-1), 0), 1)*(1-k.Floor)
}

// observed is what was seen of the cluster's health.
type observed struct {
	n, slow, failed float64 // requests
}

func (o *observed) add(p observed) {
	o.n += p.n
	o.slow += p.slow
	o.failed += p.failed
}

func (o *observed) take(p observed) {
	o.n -= p.n
	o.slow -= p.slow
	o.failed -= p.failed
}

// gauge turns observations into pressure. The script does the same in Redis.
type gauge struct {
	pressure float64
	began    time.Time
	seen     observed
}

// feed adds what was observed until now, and returns the pressure.
func (g *gauge) feed(c *Config, most float64, now time.Time, o observed) float64 {
	if g.began.IsZero() {
		g.began = now
	}
	g.seen.add(o)
	windows := float64(now.Sub(g.began)) / float64(c.HealthWindow)
	if windows >= 1 && g.seen.n >= healthLeast || windows >= healthMost {
		// One alone proves nothing.
		if g.seen.failed > math.Max(1, g.seen.n*c.FailedShare) ||
			g.seen.slow > math.Max(1, g.seen.n*c.SlowShare) {
			g.pressure = math.Min(most, g.pressure+pressureUp)
		} else {
			g.pressure = math.Max(0, g.pressure-pressureDown*windows)
		}
		g.began, g.seen = now, observed{}
	}
	return g.pressure
}

package profile

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// state is a node's newest values and those of a while before.
type state struct {
	node   *window.Node
	now    []window.Series
	given  int                       // of those, how many frames have; the others are derived
	before map[uint64]*window.Series // by labels, hashed
	start  int64                     // when the JVM began, ms; 0: unknown
}

func newState(node *window.Node, now, before []window.Series) *state {
	s := &state{node: node, now: derive(now), given: len(now), before: map[uint64]*window.Series{}}
	before = derive(before)
	for i := range before {
		s.before[before[i].Labels.Hash()] = &before[i]
	}
	for i := range now {
		if now[i].Metric.Name == "jvm_start_time_seconds" {
			s.start = int64(scaled(&now[i]) * 1000)
		}
	}
	s.now = append(s.now, s.loads()...)
	return s
}

// was returns what a series was before; nil if it was not there.
func (s *state) was(of *window.Series) *window.Series {
	was := s.before[of.Labels.Hash()]
	if was == nil || !labels.Equal(was.Labels, of.Labels) || was.Metric.Kind != of.Metric.Kind {
		return nil
	}
	return was
}

// scaled returns the value of a series that is a number.
func scaled(s *window.Series) float64 {
	last := len(s.At) - 1
	if s.Metric.Kind == frame.GaugeDouble {
		return s.Doubles[last]
	}
	return shifted(float64(s.Ints[last]), s.Metric.Exponent)
}

// shifted returns v × 10^exponent, rounded once.
func shifted(v float64, exponent int) float64 {
	if exponent < 0 {
		return v / math.Pow10(-exponent)
	}
	return v * math.Pow10(exponent)
}

// isNumber reports whether a series is one.
func isNumber(s *window.Series) bool {
	return s.Ints != nil || s.Doubles != nil
}

// value returns a statistic of a series; false: there is none.
func (s *state) value(of *window.Series, f statistic, asItIs bool) (float64, bool) {
	last := len(of.At) - 1
	switch f {
	case statValue, statPercent, statCount:
		switch {
		case of.Metric.Kind.IsHistogram():
			return float64(of.Histograms[last].Count()), f == statCount
		case of.Doubles != nil && f == statPercent:
			return of.Doubles[last] * 100, true
		case of.Doubles != nil:
			return of.Doubles[last], true
		case of.Ints != nil:
			return float64(of.Ints[last]), true
		}
		return 0, false
	case statTotal:
		if !of.Metric.Kind.IsHistogram() || !of.Metric.HasSum {
			return 0, false
		}
		return shifted(float64(of.Histograms[last].Sum), of.Metric.Exponent+6), true
	case statRate:
		return s.rate(of), true
	}
	if !of.Metric.Kind.IsHistogram() {
		return 0, false
	}
	var d distribution
	if asItIs {
		if d = newDistribution(of, nil); d.total == 0 {
			return 0, false // a table without data
		}
	} else {
		d = newDistribution(of, s.was(of))
	}
	v, ok := d.statistic(f)
	return shifted(v, d.exponent()), ok
}

// rate returns how much was counted a second, lately.
func (s *state) rate(of *window.Series) float64 {
	last := len(of.At) - 1
	count := func(s *window.Series, i int) float64 {
		if s.Metric.Kind.IsHistogram() {
			return float64(s.Histograms[i].Count())
		}
		return float64(s.Ints[i])
	}
	if of.Ints == nil && !of.Metric.Kind.IsHistogram() {
		return 0
	}
	counted, since := count(of, last), s.start
	if was := s.was(of); was != nil {
		i := len(was.At) - 1
		if n := counted - count(was, i); n >= 0 {
			counted, since = n, was.At[i]
		}
	}
	if since <= 0 || since >= of.At[last] {
		return 0
	}
	return counted / (float64(of.At[last]-since) / 1000)
}

// distribution is what a histogram counted lately, by bucket.
type distribution struct {
	metric *window.Metric
	filled []uint16
	counts []int64
	total  int64
}

// newDistribution returns what was counted since a state of the same series; nil: ever.
func newDistribution(of, since *window.Series) distribution {
	h := &of.Histograms[len(of.At)-1]
	d := distribution{metric: of.Metric}
	var was *window.Histogram
	if since != nil && of.Metric.Kind == frame.Histogram {
		was = &since.Histograms[len(since.At)-1]
	}
	next := 0
	for i, b := range h.Filled {
		n := h.Counts[i]
		if was != nil {
			for next < len(was.Filled) && was.Filled[next] < b {
				next++
			}
			if next < len(was.Filled) && was.Filled[next] == b {
				n -= was.Counts[next]
			}
		}
		if n > 0 {
			d.filled, d.counts, d.total = append(d.filled, b), append(d.counts, n), d.total+n
		}
	}
	return d
}

// exponent is that of bounds: of durations in microseconds, as Cassandra's beans have them.
func (d *distribution) exponent() int {
	if d.metric.Unit == "seconds" {
		return d.metric.Bounds.Exponent + 6
	}
	return d.metric.Bounds.Exponent
}

// statistic returns the statistic in the unit of the bounds, as a snapshot of Cassandra's does.
// There is none if the last bucket, which has no bound, is filled.
func (d *distribution) statistic(f statistic) (float64, bool) {
	upper := d.metric.Bounds.Upper
	if n := len(d.filled); n > 0 && int(d.filled[n-1]) >= len(upper) {
		return 0, false
	}
	if d.total == 0 && f == statMean {
		return math.NaN(), true
	}
	if d.total == 0 {
		return 0, true
	}
	switch f {
	case statMean:
		sum := 0.0
		for i, b := range d.filled {
			sum += float64(d.counts[i]) * float64(upper[b])
		}
		return sum / float64(d.total), true
	case statMax:
		return float64(upper[d.filled[len(d.filled)-1]]), true
	}
	return d.quantile(fraction[f]), true
}

var fraction = map[statistic]float64{stat50: .5, stat75: .75, stat95: .95, stat98: .98,
	stat99: .99, stat999: .999}

// quantile returns the upper bound of the bucket that a fraction of what was counted reaches into.
func (d *distribution) quantile(q float64) float64 {
	wanted := int64(math.Ceil(q * float64(d.total)))
	seen := int64(0)
	for i, b := range d.filled {
		if seen += d.counts[i]; seen >= wanted {
			return float64(d.metric.Bounds.Upper[b])
		}
	}
	return 0
}

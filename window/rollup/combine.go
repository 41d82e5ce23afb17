package rollup

import (
	"math"

	"github.com/ringwatch/ringwatch/frame"
)

// single returns the cell of one sample, not of a histogram.
func single(kind frame.Kind, word int64) cell {
	c := cell{first: word, last: word}
	switch kind {
	case frame.Gauge:
		c.min, c.max, c.total = word, word, integerTotal(wide(word))
	case frame.GaugeDouble:
		c.min, c.max, c.total = word, word, doubleTotal(double(word))
	}
	return c
}

// followedBy returns the cell of a's samples followed by b's, not of a histogram.
func (a *cell) followedBy(kind frame.Kind, b *cell) cell {
	c := cell{first: a.first, last: b.last}
	switch kind {
	case frame.Gauge:
		c.min, c.max = min(a.min, b.min), max(a.max, b.max)
		c.total = integerTotal(a.total.integerSum().Add(b.total.integerSum()))
	case frame.GaugeDouble:
		c.min, c.max = lower(a.min, b.min), higher(a.max, b.max)
		c.total = doubleTotal(a.total.doubleSum() + b.total.doubleSum())
	case frame.Counter:
		c.total = increaseTotal(
			a.total.increase() + increase(a.last, b.first) + b.total.increase())
	}
	return c
}

// increase is a counter's from one sample to the next.
func increase(before, now int64) int64 {
	if now < before {
		return now // it started again
	}
	return now - before
}

func double(word int64) float64 { return math.Float64frombits(uint64(word)) }

// canonical gives all NaN one form: which one a sum ends with depends on the processor.
func canonical(v float64) float64 {
	if math.IsNaN(v) {
		return math.NaN()
	}
	return v
}

// lower returns the lower of two doubles as bits: a if they are equal or b is NaN.
func lower(a, b int64) int64 {
	if x, y := double(a), double(b); y < x || math.IsNaN(x) && !math.IsNaN(y) {
		return b
	}
	return a
}

func higher(a, b int64) int64 {
	if x, y := double(a), double(b); y > x || math.IsNaN(x) && !math.IsNaN(y) {
		return b
	}
	return a
}

func (c *cell) firsts() sparse { return c.hist.firsts() }

func (b *buckets) firsts() sparse {
	if b == nil {
		return sparse{}
	}
	return b.first
}

func (c *cell) lasts() sparse { return c.hist.lasts() }

func (b *buckets) lasts() sparse {
	if b == nil {
		return sparse{}
	}
	return b.last
}

func (c *cell) totals() sparse { return c.hist.totals() }

func (b *buckets) totals() sparse {
	if b == nil {
		return sparse{}
	}
	return b.total
}

// above reports whether any bucket of s has more than that of o.
func (s sparse) above(o sparse) bool {
	j := 0
	for i, bucket := range s.index {
		for j < len(o.index) && o.index[j] < bucket {
			if o.count[j] < 0 {
				return true
			}
			j++
		}
		there := int64(0)
		if j < len(o.index) && o.index[j] == bucket {
			there = o.count[j]
			j++
		}
		if s.count[i] > there {
			return true
		}
	}
	for ; j < len(o.index); j++ {
		if o.count[j] < 0 {
			return true
		}
	}
	return false
}

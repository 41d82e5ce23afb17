package rollup

import (
	"math"

	"github.com/ringwatch/ringwatch/frame"
)

// single returns the cell of one sample.
func single(kind frame.Kind, word int64, counts sparse) cell {
	c := cell{first: word, last: word}
	switch kind {
	case frame.Gauge:
		c.min, c.max, c.total = word, word, wide(word)
	case frame.GaugeDouble:
		c.min, c.max, c.total = word, word, Int128{Lo: math.Float64bits(canonical(double(word)))}
	case frame.Histogram:
		if len(counts.index) > 0 {
			c.hist = &buckets{first: counts, last: counts}
		}
	case frame.GaugeHistogram:
		c.total.Lo = uint64(word)
		if len(counts.index) > 0 {
			c.hist = &buckets{first: counts, last: counts, total: counts}
		}
	}
	return c
}

// then returns the cell of a's samples followed by b's.
func (a *cell) then(kind frame.Kind, b *cell) cell {
	c := cell{first: a.first, last: b.last}
	switch kind {
	case frame.Gauge:
		c.min, c.max, c.total = min(a.min, b.min), max(a.max, b.max), a.total.Add(b.total)
	case frame.GaugeDouble:
		c.min, c.max = lower(a.min, b.min), higher(a.max, b.max)
		c.total.Lo = math.Float64bits(canonical(math.Float64frombits(a.total.Lo) + math.Float64frombits(b.total.Lo)))
	case frame.Counter:
		c.total.Lo = a.total.Lo + uint64(increase(a.last, b.first)) + b.total.Lo
	case frame.Histogram:
		between, sum := bucketIncrease(a, b)
		c.total.Lo = a.total.Lo + uint64(sum) + b.total.Lo
		c.hist = bucketsOf(a.firsts(), b.lasts(), a.totals().plus(between, 1).plus(b.totals(), 1))
	case frame.GaugeHistogram:
		c.total.Lo = a.total.Lo + b.total.Lo
		c.hist = bucketsOf(a.firsts(), b.lasts(), a.totals().plus(b.totals(), 1))
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

// bucketIncrease is a histogram's from a's last sample to b's first.
func bucketIncrease(a, b *cell) (sparse, int64) {
	before, now := a.lasts(), b.firsts()
	d := now.plus(before, -1)
	if before.above(now) { // it started again
		return now, b.first
	}
	return d, b.first - a.last
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

func (c *cell) firsts() sparse {
	if c.hist == nil {
		return sparse{}
	}
	return c.hist.first
}

func (c *cell) lasts() sparse {
	if c.hist == nil {
		return sparse{}
	}
	return c.hist.last
}

func (c *cell) totals() sparse {
	if c.hist == nil {
		return sparse{}
	}
	return c.hist.total
}

// bucketsOf returns nil if there are no counts.
func bucketsOf(first, last, total sparse) *buckets {
	if len(first.index)+len(last.index)+len(total.index) == 0 {
		return nil
	}
	return &buckets{first, last, total}
}

// plus returns s + sign × o.
func (s sparse) plus(o sparse, sign int64) sparse {
	if len(o.index) == 0 {
		return s
	}
	if len(s.index) == 0 && sign == 1 {
		return o
	}
	size := len(s.index) + len(o.index)
	out := sparse{make([]uint16, 0, size), make([]int64, 0, size)}
	add := func(i uint16, n int64) {
		if n != 0 {
			out.index, out.count = append(out.index, i), append(out.count, n)
		}
	}
	i, j := 0, 0
	for i < len(s.index) || j < len(o.index) {
		switch {
		case j == len(o.index) || i < len(s.index) && s.index[i] < o.index[j]:
			add(s.index[i], s.count[i])
			i++
		case i == len(s.index) || o.index[j] < s.index[i]:
			add(o.index[j], sign*o.count[j])
			j++
		default:
			add(s.index[i], s.count[i]+sign*o.count[j])
			i, j = i+1, j+1
		}
	}
	return out
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

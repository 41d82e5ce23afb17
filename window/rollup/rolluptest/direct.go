// Package rolluptest computes rollups directly from samples, as plainly as can be, for tests of
// what computes them in steps.
package rolluptest

import (
	"fmt"
	"math"
	"math/big"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// Points are rollups in a form that compares: series → period start → what it says.
type Points map[string]map[int64]string

func (p Points) set(series string, start int64, v string) error {
	if p[series] == nil {
		p[series] = map[int64]string{}
	}
	if _, found := p[series][start]; found {
		return fmt.Errorf("series %s has two points at %d", series, start)
	}
	p[series][start] = v
	return nil
}

func key(l labels.Labels, m *window.Metric) string {
	k := fmt.Sprintf("%s %s %s %d %v", l, m.Kind, m.Unit, m.Exponent, m.HasSum)
	if m.Bounds != nil {
		k += fmt.Sprint(*m.Bounds)
	}
	return k
}

func bits(v float64) string {
	if math.IsNaN(v) {
		return "NaN"
	}
	return fmt.Sprintf("%x", math.Float64bits(v))
}

// Of returns answered series as points, and an error if they are not as rollup.Series promises.
func Of(list []rollup.Series) (Points, error) {
	out := Points{}
	for i := range list {
		s := &list[i]
		k := key(s.Labels, s.Metric)
		if i > 0 && labels.Compare(list[i-1].Labels, s.Labels) > 0 {
			return nil, fmt.Errorf("series %s is out of order", k)
		}
		if out[k] != nil || s.Len() == 0 {
			return nil, fmt.Errorf("series %s is there twice or has no point", k)
		}
		for j := range s.Start {
			p := s.At(j)
			if j > 0 && s.Start[j-1] >= p.Start || p.Start != s.Level.Start(p.Start) ||
				p.Count <= 0 {
				return nil, fmt.Errorf("series %s: point %+v of level %s", k, p, s.Level.Name)
			}
			var v string
			switch s.Metric.Kind {
			case frame.Gauge:
				v = fmt.Sprint(p.Count, p.First, p.Last, p.Min, p.Max, p.Sum)
			case frame.GaugeDouble:
				v = fmt.Sprint(p.Count, bits(p.FirstDouble), bits(p.LastDouble), bits(p.MinDouble),
					bits(p.MaxDouble), bits(p.SumDouble))
			case frame.Counter:
				v = fmt.Sprint(p.Count, p.First, p.Last, p.Increase)
			default:
				v = fmt.Sprint(p.Count, p.First, p.Last, p.Increase, p.FirstCounts, p.LastCounts,
					p.Increases)
			}
			if err := out.set(k, p.Start, v); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Direct computes a level's points from series that hold all samples there are.
func Direct(list []window.Series, level rollup.Level) Points {
	out := Points{}
	for i := range list {
		s := &list[i]
		if s.Metric.Kind == frame.String {
			continue
		}
		for from := 0; from < len(s.At); {
			start := level.Start(s.At[from])
			to := from
			for to < len(s.At) && level.Start(s.At[to]) == start {
				to++
			}
			if err := out.set(key(s.Labels, s.Metric), start,
				direct(s, from, to, level)); err != nil {
				panic(err)
			}
			from = to
		}
	}
	return out
}

// direct is one point: samples from … to−1.
func direct(s *window.Series, from, to int, level rollup.Level) string {
	n := to - from
	switch s.Metric.Kind {
	case frame.Gauge:
		low, high, sum := s.Ints[from], s.Ints[from], new(big.Int)
		for _, v := range s.Ints[from:to] {
			low, high = min(low, v), max(high, v)
			sum.Add(sum, big.NewInt(v))
		}
		return fmt.Sprint(n, s.Ints[from], s.Ints[to-1], low, high, sum)
	case frame.GaugeDouble:
		low, high := math.NaN(), math.NaN()
		for _, v := range s.Doubles[from:to] {
			if math.IsNaN(low) || v < low {
				low = v
			}
			if math.IsNaN(high) || v > high {
				high = v
			}
		}
		return fmt.Sprint(n, bits(s.Doubles[from]), bits(s.Doubles[to-1]), bits(low), bits(high),
			bits(sumOf(s.At[from:to], s.Doubles[from:to], level)))
	case frame.Counter:
		total := int64(0)
		for i := max(from, 1); i < to; i++ {
			if d := s.Ints[i] - s.Ints[i-1]; s.Ints[i] >= s.Ints[i-1] {
				total += d
			} else {
				total += s.Ints[i]
			}
		}
		return fmt.Sprint(n, s.Ints[from], s.Ints[to-1], total)
	}
	total, sum := make([]int64, s.Metric.Buckets()), int64(0)
	for i := from; i < to; i++ {
		now := s.Histograms[i]
		dense := now.Dense(nil)
		add := func(before window.Histogram, again bool) {
			was := before.Dense(nil)
			sum += now.Sum
			if !again {
				sum -= before.Sum
			}
			for b := range total {
				total[b] += dense[b]
				if !again {
					total[b] -= was[b]
				}
			}
		}
		switch {
		case s.Metric.Kind == frame.GaugeHistogram:
			add(window.Histogram{}, true)
		case i > 0:
			before, again := s.Histograms[i-1], false
			for b, n := range before.Dense(nil) {
				again = again || dense[b] < n
			}
			add(before, again)
		}
	}
	first, last := s.Histograms[from], s.Histograms[to-1]
	return fmt.Sprint(n, first.Sum, last.Sum, sum, first.Dense(nil), last.Dense(nil), total)
}

// sumOf adds within five minutes, then what that gives within an hour, and so on, each in order
// of time.
func sumOf(at []int64, values []float64, level rollup.Level) float64 {
	finer, coarse := level.Finer()
	sum, first := 0.0, true
	for from := 0; from < len(at); {
		to, part := from+1, values[from]
		if coarse {
			for to < len(at) && finer.Start(at[to]) == finer.Start(at[from]) {
				to++
			}
			part = sumOf(at[from:to], values[from:to], finer)
		}
		if first {
			sum, first = part, false
		} else {
			sum += part
		}
		from = to
	}
	return sum
}

// Diff says how points differ, or "".
func Diff(got, want Points) string {
	return windowtest.Diff(windowtest.Samples(got), windowtest.Samples(want))
}

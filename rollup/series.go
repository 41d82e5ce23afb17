package rollup

import (
	"context"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
)

// Series is one series' rollups of one level, in ascending order of time.
type Series struct {
	Labels labels.Labels // as window.Series has them
	Metric *window.Metric
	Level  Level
	Points []Point
}

// Point is one period of one series in which it has at least one sample. What is set follows from Metric.Kind; integers stand for v × 10^Metric.Exponent.
type Point struct {
	Start int64 // of the period, milliseconds since the Unix epoch
	Count int64 // samples

	// Integers. In histograms First and Last are of the sum.
	First, Last int64
	Min, Max    int64  // gauges
	Sum         Int128 // gauges
	// Increase is a counter's, or that of a histogram's sum, from the sample before the period to the period's last; from its first if the
	// answer knows none before. In gauge histograms it is the sum of the sums.
	Increase int64

	FirstDouble, LastDouble, MinDouble, MaxDouble, SumDouble float64

	// Histograms: counts by bucket, not cumulative over buckets. Increases are from the sample before the period, as Increase; in gauge histograms they
	// are the sums over all samples.
	FirstCounts, LastCounts, Increases []int64
}

// Select returns the series that match from rollups of one level, in any order, each period once, with points of periods from ≤ Start ≤ to. Rollups of
// periods before from are only asked what the last sample before it was. It is sorted by labels. Series with equal labels whose metrics differ follow each other.
func Select(rollups []*Rollup, from, to int64, matchers ...*labels.Matcher) []Series {
	list, _ := SelectContext(context.Background(), rollups, from, to, matchers...)
	return list
}

// SelectContext is Select until ctx ends, and within the memory that ctx's lease gives, which is asked
// as the answer grows. Then it returns ctx's or the lease's error soon, however long matching would take.
func SelectContext(ctx context.Context, rollups []*Rollup, from, to int64, matchers ...*labels.Matcher) ([]Series, error) {
	rollups = slices.SortedFunc(slices.Values(rollups), func(a, b *Rollup) int { return int((a.Start - b.Start) / FiveMinutes.Millis) })
	var dictionaries []*window.Dictionary
	for _, r := range rollups {
		for _, t := range r.Types {
			dictionaries = append(dictionaries, t.Dictionary)
		}
	}
	var out []Series
	for _, g := range unite(dictionaries) {
		metrics := g.MatchMetrics(ctx, matchers...)
		if len(metrics) == 0 {
			continue
		}
		s := selector{group: g, rollups: rollups, from: from, to: to, lease: memory.Of(ctx)}
		rows := g.MatchRows(ctx, matchers...)
		for _, m := range metrics {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if out = s.append(out, m, rows); s.err != nil {
				return nil, s.err
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Series) int { return labels.Compare(a.Labels, b.Labels) })
	return out, ctx.Err()
}

type selector struct {
	*group
	rollups  []*Rollup
	from, to int64
	lease    *memory.Lease
	owed     int64 // bytes that are taken and not asked for yet
	err      error
}

// What series take, in bytes. A list that grows has as much again.
const (
	seriesBytes = 2*128 + 256 // its labels among them
	pointBytes  = 2 * 272     // without its buckets
)

// take counts memory that is being taken.
func (s *selector) take(bytes int) {
	if s.owed += int64(bytes); s.owed > askEvery && s.err == nil {
		s.err = s.lease.Take(s.owed)
		s.owed = 0
	}
}

func (s *selector) append(out []Series, metric int, rows []int32) []Series {
	b := labels.NewScratchBuilder(5 + len(s.Labels))
	m := &s.Metrics[metric]
	for _, row := range rows {
		series := Series{Metric: m}
		var before *cell
		for _, r := range s.rollups {
			for _, t := range r.Types {
				to := s.maps[t.Dictionary]
				if to == nil {
					continue
				}
				own, own2 := to.metricOf(metric), to.rowOf(row)
				if own < 0 || own2 < 0 || t.columns[own] == unknown {
					continue
				}
				n := t.counts(t.columns[own])[own2]
				if n == 0 {
					continue
				}
				c := t.columns[own].cell(own2)
				if c == nil {
					c = &zeroCell
				}
				if r.Start >= s.from && r.Start <= s.to {
					if s.take(pointBytes + 3*8*m.Buckets()); s.err != nil {
						return nil
					}
					series.Level = r.Level
					series.Points = append(series.Points, c.point(r.Start, m, n, before))
				}
				before = c
				break // another type with values could only be of a rollup that is being written again
			}
		}
		if len(series.Points) > 0 {
			s.take(seriesBytes)
			series.Labels = s.SeriesLabels(&b, metric, row)
			out = append(out, series)
		}
	}
	return out
}

// point returns a cell as a point; before is the cell of the samples before it, or nil.
func (c *cell) point(start int64, m *window.Metric, n uint32, before *cell) Point {
	p := Point{Start: start, Count: int64(n)}
	switch m.Kind {
	case frame.GaugeDouble:
		p.FirstDouble, p.LastDouble, p.MinDouble, p.MaxDouble = double(c.first), double(c.last), double(c.min), double(c.max)
		p.SumDouble = math.Float64frombits(c.total.Lo)
		return p
	case frame.Gauge:
		p.Min, p.Max, p.Sum = c.min, c.max, c.total
	case frame.Counter:
		p.Increase = int64(c.total.Lo)
		if before != nil {
			p.Increase += increase(before.last, c.first)
		}
	default:
		p.Increase = int64(c.total.Lo)
		total := c.totals()
		if m.Kind == frame.Histogram && before != nil {
			between, sum := bucketIncrease(before, c)
			p.Increase += sum
			total = total.plus(between, 1)
		}
		size := m.Buckets()
		p.FirstCounts, p.LastCounts, p.Increases = c.firsts().dense(size), c.lasts().dense(size), total.dense(size)
	}
	p.First, p.Last = c.first, c.last
	return p
}

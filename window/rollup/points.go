package rollup

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Series is one series' rollups of one level: the periods in which it has at least one sample, in
// ascending order of time. Each list has one entry per period. Which lists there are follows from
// Metric.Kind. They are shared, nobody changes them.
type Series struct {
	Labels labels.Labels // as window.Series has them
	Metric *window.Metric
	Level  Level

	Start []int64  // of the period, milliseconds since the Unix epoch
	Count []uint32 // samples

	// First and Last are integers, which stand for v × 10^Metric.Exponent, or doubles' bits. In
	// histograms they are of the sum. Min and Max are gauges' alone.
	First, Last, Min, Max []int64
	// Sum is gauges'; of doubles Lo has the bits.
	Sum []Int128
	// Increase is a counter's, or that of a histogram's sum, from the sample before the period to
	// the period's last; from its first if the answer knows none before. In gauge histograms it is
	// the sum of the sums.
	Increase []int64

	// Histograms: the counts of all buckets, if that is all that was asked for, or those by
	// bucket, not cumulative over buckets. Increases are as Increase; in gauge histograms they are
	// the sums over all samples.
	FirstCount, LastCount, CountIncrease []int64
	FirstCounts, LastCounts, Increases   [][]int64
}

// Point is one period of a series, with the fields of its kind set.
type Point struct {
	Start, Count            int64
	First, Last, Min, Max   int64
	Sum                     Int128
	Increase                int64
	FirstDouble, LastDouble float64
	MinDouble, MaxDouble    float64
	SumDouble               float64
	FirstCounts, LastCounts []int64 // one of all buckets, if the series has no more
	Increases               []int64
}

// Len returns how many periods there are.
func (s *Series) Len() int { return len(s.Start) }

// At returns period number i.
func (s *Series) At(i int) Point {
	p := Point{Start: s.Start[i], Count: int64(s.Count[i])}
	switch s.Metric.Kind {
	case frame.GaugeDouble:
		p.FirstDouble, p.LastDouble = double(s.First[i]), double(s.Last[i])
		p.MinDouble, p.MaxDouble = double(s.Min[i]), double(s.Max[i])
		p.SumDouble = math.Float64frombits(s.Sum[i].Lo)
		return p
	case frame.Gauge:
		p.Min, p.Max, p.Sum = s.Min[i], s.Max[i], s.Sum[i]
	default:
		p.Increase = s.Increase[i]
	}
	p.First, p.Last = s.First[i], s.Last[i]
	switch {
	case s.FirstCounts != nil:
		p.FirstCounts, p.LastCounts, p.Increases = s.FirstCounts[i], s.LastCounts[i], s.Increases[i]
	case s.FirstCount != nil:
		end := i + 1
		p.FirstCounts, p.LastCounts = s.FirstCount[i:end:end], s.LastCount[i:end:end]
		p.Increases = s.CountIncrease[i:end:end]
	}
	return p
}

// Append adds a period, which is later than all others, to a series whose lists are its own.
func (s *Series) Append(p *Point) {
	s.Start, s.Count = append(s.Start, p.Start), append(s.Count, uint32(p.Count))
	switch s.Metric.Kind {
	case frame.GaugeDouble:
		s.First, s.Last = append(s.First, word(p.FirstDouble)), append(s.Last, word(p.LastDouble))
		s.Min, s.Max = append(s.Min, word(p.MinDouble)), append(s.Max, word(p.MaxDouble))
		s.Sum = append(s.Sum, Int128{Lo: math.Float64bits(p.SumDouble)})
		return
	case frame.Gauge:
		s.Min, s.Max = append(s.Min, p.Min), append(s.Max, p.Max)
		s.Sum = append(s.Sum, p.Sum)
	default:
		s.Increase = append(s.Increase, p.Increase)
	}
	s.First, s.Last = append(s.First, p.First), append(s.Last, p.Last)
	if s.Metric.Kind.IsHistogram() {
		s.FirstCounts = append(s.FirstCounts, p.FirstCounts)
		s.LastCounts = append(s.LastCounts, p.LastCounts)
		s.Increases = append(s.Increases, p.Increases)
	}
}

func word(v float64) int64 { return int64(math.Float64bits(v)) }

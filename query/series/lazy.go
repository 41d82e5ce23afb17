package series

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// Lazy is a view of a series as it stands in windows, for kernels: its values are read when
// they are needed, and are nobody's afterwards. For Prometheus's engine, which goes to and fro, it
// reads them once and holds them.
type Lazy struct {
	Line     *selecting.Line
	View     View
	From, To int64 // ms, both inclusive
	// For who asks where the series ended: the node's instants, and where it was silent.
	Instants []int64
	Gaps     []Gap
	Upper    []float64 // a native histogram's bounds

	read Samples
}

func (l *Lazy) IsHistogram() bool {
	return l.Line.Metric.Kind.IsHistogram() && l.View.Suffix == ""
}

// all reads the values for who goes to and fro.
func (l *Lazy) all() Samples {
	if l.read == nil {
		l.read = SamplesOf(l.Line.Series(l.From, l.To), l.View, l.Upper)
	}
	return l.read
}

// Len implements Samples, as do the methods below it.
func (l *Lazy) Len() int            { return l.all().Len() }
func (l *Lazy) Time(i int) int64    { return l.all().Time(i) }
func (l *Lazy) Value(i int) float64 { return l.all().Value(i) }
func (l *Lazy) Histogram(i int, into *histogram.FloatHistogram) *histogram.FloatHistogram {
	return l.all().(histogramSamples).Histogram(i, into)
}

// Numbers reads the values of a view that is no histogram, and after them, if ends are wanted,
// PromQL's stale markers. The lists are scratch and may be grown.
func (l *Lazy) Numbers(v *selecting.Samples, ends bool, times []int64,
	values []float64) ([]int64, []float64) {
	l.Line.Read(v, l.From, l.To, l.View.Suffix == SuffixBucket)
	times, values = append(times[:0], v.At...), values[:0]
	exponent := l.Line.Metric.Exponent
	switch {
	case l.IsHistogram(): // who asks for numbers counts them
		values = append(values, make([]float64, len(times))...)
	case l.View.Suffix == SuffixCount:
		for _, n := range v.Counts {
			values = append(values, float64(n))
		}
	case l.View.Suffix == SuffixBucket:
		var n int64
		from := int32(0)
		for _, end := range v.BucketEnd {
			for ; from < end; from++ {
				if int(v.Bucket[from]) <= l.View.Bucket {
					n += v.Delta[from]
				}
			}
			values = append(values, float64(n))
		}
	case l.Line.Metric.Kind == frame.GaugeDouble:
		for _, w := range v.Words {
			values = append(values, math.Float64frombits(uint64(w)))
		}
	default:
		for _, w := range v.Words {
			values = append(values, frame.Scale(w, exponent))
		}
	}
	if !ends {
		return times, values
	}
	gone := EndsOf(times, l.Instants, l.Gaps)
	if len(gone) == 0 {
		return times, values
	}
	// From the end, in place: each end is behind the value that it ends.
	i, j := len(times)-1, len(gone)-1
	times, values = append(times, gone...), append(values, make([]float64, len(gone))...)
	for k := len(times) - 1; j >= 0; k-- {
		if i >= 0 && times[i] > gone[j] {
			times[k], values[k] = times[i], values[i]
			i--
		} else {
			times[k], values[k] = gone[j], math.Float64frombits(value.StaleNaN)
			j--
		}
	}
	return times, values
}

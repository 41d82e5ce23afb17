package query

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// lazySamples is a view of a series as it stands in windows, for kernels: its values are read when
// they are needed, and are nobody's afterwards. For Prometheus's engine, which goes to and fro, it
// reads them once and holds them.
type lazySamples struct {
	*selecting.Line
	view
	from, to int64 // ms, both inclusive
	// For who asks where the series ended: the node's instants, and where it was silent.
	instants []int64
	gaps     []gap
	upper    []float64 // a native histogram's bounds

	read samples
}

func (l *lazySamples) isHistogram() bool {
	return l.Metric.Kind.IsHistogram() && l.suffix == ""
}

// all reads the values for who goes to and fro.
func (l *lazySamples) all() samples {
	if l.read == nil {
		l.read = samplesOf(l.Line.Series(l.from, l.to), l.view, l.upper)
	}
	return l.read
}

func (l *lazySamples) len() int            { return l.all().len() }
func (l *lazySamples) at(i int) int64      { return l.all().at(i) }
func (l *lazySamples) float(i int) float64 { return l.all().float(i) }
func (l *lazySamples) histogram(i int, into *histogram.FloatHistogram) *histogram.FloatHistogram {
	return l.all().(histogramSamples).histogram(i, into)
}

// numbers reads the values of a view that is no histogram, and after them, if ends are wanted,
// PromQL's stale markers. The lists are scratch and may be grown.
func (l *lazySamples) numbers(v *selecting.Samples, ends bool, times []int64,
	values []float64) ([]int64, []float64) {
	l.Read(v, l.from, l.to, l.suffix == suffixBucket)
	times, values = append(times[:0], v.At...), values[:0]
	exponent := l.Metric.Exponent
	switch {
	case l.isHistogram(): // who asks for numbers counts them
		values = append(values, make([]float64, len(times))...)
	case l.suffix == suffixCount:
		for _, n := range v.Counts {
			values = append(values, float64(n))
		}
	case l.suffix == suffixBucket:
		var n int64
		from := int32(0)
		for _, end := range v.BucketEnd {
			for ; from < end; from++ {
				if int(v.Bucket[from]) <= l.bucket {
					n += v.Delta[from]
				}
			}
			values = append(values, float64(n))
		}
	case l.Metric.Kind == frame.GaugeDouble:
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
	gone := endsOf(times, l.instants, l.gaps)
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

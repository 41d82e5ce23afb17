package payload

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api/budget"
	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// What JSON takes, in bytes.
const (
	headBytes    = 80  // of a series, apart from its labels
	valueBytes   = 62  // of a number and its time
	nanBytes     = 50  // of a step without a value
	summaryBytes = 190 // of a histogram's count, sum and quantiles
	bucketBytes  = 40
	rollupBytes  = 170
)

// Size returns what AppendSeries makes of series.
func (o *Options) Size(list []window.Series) budget.Size {
	size := budget.Size{Series: len(list)}
	for i := range list {
		s := &list[i]
		size.Bytes += headBytes + literal.LabelsBytes(s.Labels)
		filled := o.fills(s)
		size.Values += len(s.At) + filled
		size.Bytes += nanBytes * int64(filled)
		switch {
		case s.Metric.Kind.IsHistogram():
			for j := range s.Histograms {
				size.Bytes += valueBytes/2 + 2*summaryBytes +
					bucketBytes*int64(len(s.Histograms[j].Filled)+1)
			}
		case s.Metric.Kind == frame.String:
			for _, text := range s.Strings {
				size.Bytes += valueBytes + literal.StringBytes(text)
			}
		default:
			size.Bytes += valueBytes * int64(len(s.At))
		}
	}
	return size
}

// NumbersSize returns what a series of n numbers makes.
func NumbersSize(l labels.Labels, n int) budget.Size {
	return budget.Size{Series: 1, Values: n,
		Bytes: headBytes + literal.LabelsBytes(l) + valueBytes*int64(n)}
}

// RollupsSize returns what AppendRollup makes of rollups.
func RollupsSize(list []rollup.Series) budget.Size {
	size := budget.Size{Series: len(list)}
	for i := range list {
		s := &list[i]
		size.Bytes += headBytes + literal.LabelsBytes(s.Labels)
		size.Values += s.Len()
		for j := range s.Start {
			size.Bytes += rollupBytes
			if s.Metric.Kind.IsHistogram() {
				size.Bytes += bucketBytes * (filledBuckets(s.Increases[j]) + 1)
			}
		}
	}
	return size
}

func filledBuckets(counts []int64) (n int64) {
	for _, c := range counts {
		if c != 0 {
			n++
		}
	}
	return n
}

package series

import (
	"github.com/prometheus/prometheus/model/histogram"
)

// Points are samples that were computed. The values are floats, or histograms if there are any.
type Points struct {
	Times  []int64
	Values []float64
	Native []*histogram.FloatHistogram
}

// Len implements Samples, as do the methods below it.
func (p *Points) Len() int          { return len(p.Times) }
func (p *Points) Time(i int) int64  { return p.Times[i] }
func (p *Points) IsHistogram() bool { return len(p.Native) > 0 }

func (p *Points) Value(i int) float64 {
	return p.Values[i]
}

func (p *Points) Histogram(i int, into *histogram.FloatHistogram) *histogram.FloatHistogram {
	if into == nil {
		return p.Native[i].Copy()
	}
	p.Native[i].CopyTo(into)
	return into
}

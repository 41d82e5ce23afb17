package query

import (
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// kernelScratch is what one node's computing uses again for each series.
type kernelScratch struct {
	kernel.Slider
	kernel.Columns
	histograms kernel.Histograms
	iterator   *iterator
	line       selecting.Samples
}

// histogramsOf returns the samples of a series of histograms, if they are wanted where it ended,
// its metric and bounds; nil if its parts must be joined.
func (k *kernelScratch) histogramsOf(
	s *oneSeries, ends bool,
) (*kernel.Histograms, *window.Metric, []float64) {
	if len(s.parts) > 1 {
		return nil, nil, nil
	}
	v, h := &k.line, &k.histograms
	var m *window.Metric
	var bounds []float64
	switch of := s.parts[0].samples.(type) {
	case *lazySamples:
		of.Read(v, of.from, of.to, true)
		m, bounds, h.Gone = of.Metric, of.upper, nil
		if ends {
			h.Gone = endsOf(v.At, of.instants, of.gaps)
		}
	case histograms:
		v.Of(of.Series)
		m, bounds, h.Gone = of.Metric, of.bounds, s.parts[0].ends
	}
	if m == nil || v.NoBuckets && len(v.At) > 0 {
		return nil, nil, nil
	}
	h.Times, h.Ends, h.Bucket, h.Delta = v.At, v.BucketEnd, v.Bucket, v.Delta
	h.Counts, h.Sums = h.Counts[:0], h.Sums[:0]
	for i, n := range v.Counts {
		h.Counts, h.Sums = append(h.Counts, float64(n)), append(h.Sums, histogramSum(m, v.Words[i]))
	}
	return h, m, bounds
}

// columns returns a series' samples, and where it ended unless only samples are asked for. Of
// histograms that are only counted each one is a number.
func (k *kernelScratch) columns(s *oneSeries, of *kernelQuestion) (kernel.Columns, error) {
	onlySamples := of.function != ""
	if of, is := s.parts[0].samples.(*lazySamples); is && len(s.parts) == 1 {
		k.Times, k.Values = of.numbers(&k.line, !onlySamples, k.Times, k.Values)
		return k.Columns, nil
	}
	if of, is := s.parts[0].samples.(*points); is && len(s.parts) == 1 && len(of.native) == 0 &&
		(onlySamples || len(s.parts[0].ends) == 0) {
		return kernel.Columns{Times: of.times, Values: of.values}, nil
	}
	if of, is := s.parts[0].samples.(floats); is && len(s.parts) == 1 &&
		(onlySamples || len(s.parts[0].ends) == 0) {
		return k.columnsOf(of), nil
	}
	times, values := k.Times[:0], k.Values[:0]
	s.Iterator(k.iterator)
	for it := k.iterator; it.Next() != 0; {
		if it.parts[0].isHistogram() && !of.onlyCounts() {
			return kernel.Columns{}, errUseEngine
		}
		t, v := it.AtT(), 0.0
		if it.stale || !it.parts[0].isHistogram() {
			_, v = it.At()
		}
		if kernel.IsMissing(v) && onlySamples {
			continue
		}
		times, values = append(times, t), append(values, v)
	}
	k.Times, k.Values = times, values
	return k.Columns, k.iterator.Err()
}

// columnsOf returns the samples of a counter or a gauge.
func (k *kernelScratch) columnsOf(of floats) kernel.Columns {
	if of.Metric.Kind == frame.GaugeDouble {
		return kernel.Columns{Times: of.At, Values: of.Doubles}
	}
	k.Values = k.Values[:0]
	for _, v := range of.Ints {
		k.Values = append(k.Values, frame.Scale(v, of.Metric.Exponent))
	}
	return kernel.Columns{Times: of.At, Values: k.Values}
}

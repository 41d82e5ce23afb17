package run

import (
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// scratch is what one node's computing uses again for each series.
type scratch struct {
	slider     kernel.Slider
	numbers    kernel.Columns
	histograms kernel.Histograms
	iterator   *series.Iterator
	line       selecting.Samples
}

// histogramsOf returns the samples of a series of histograms, if they are wanted where it ended,
// its metric and bounds; nil if its parts must be joined.
func (k *scratch) histogramsOf(
	s *series.Series, ends bool,
) (*kernel.Histograms, *window.Metric, []float64) {
	if len(s.Segments) > 1 {
		return nil, nil, nil
	}
	v, h := &k.line, &k.histograms
	var m *window.Metric
	var bounds []float64
	switch of := s.Segments[0].Samples.(type) {
	case *series.Lazy:
		of.Line.Read(v, of.From, of.To, true)
		m, bounds, h.Gone = of.Line.Metric, of.Upper, nil
		if ends {
			h.Gone = series.EndsOf(v.At, of.Instants, of.Gaps)
		}
	case series.Histograms:
		v.Of(of.Series)
		m, bounds, h.Gone = of.Metric, of.Bounds, s.Segments[0].Ends
	}
	if m == nil || v.NoBuckets && len(v.At) > 0 {
		return nil, nil, nil
	}
	h.Times, h.Ends, h.Bucket, h.Delta = v.At, v.BucketEnd, v.Bucket, v.Delta
	h.Counts, h.Sums = h.Counts[:0], h.Sums[:0]
	for i, n := range v.Counts {
		h.Counts, h.Sums = append(h.Counts, float64(n)), append(h.Sums,
			series.HistogramSum(m, v.Words[i]))
	}
	return h, m, bounds
}

// columns returns a series' samples, and where it ended unless only samples are asked for. Of
// histograms that are only counted each one is a number.
func (k *scratch) columns(s *series.Series, of *question) (kernel.Columns, error) {
	onlySamples := of.function != ""
	if of, is := s.Segments[0].Samples.(*series.Lazy); is && len(s.Segments) == 1 {
		k.numbers.Times, k.numbers.Values = of.Numbers(&k.line, !onlySamples, k.numbers.Times,
			k.numbers.Values)
		return k.numbers, nil
	}
	if of, is := s.Segments[0].Samples.(*series.Points); is && len(s.Segments) == 1 &&
		len(of.Native) == 0 &&
		(onlySamples || len(s.Segments[0].Ends) == 0) {
		return kernel.Columns{Times: of.Times, Values: of.Values}, nil
	}
	if of, is := s.Segments[0].Samples.(series.Floats); is && len(s.Segments) == 1 &&
		(onlySamples || len(s.Segments[0].Ends) == 0) {
		return k.columnsOf(of), nil
	}
	times, values := k.numbers.Times[:0], k.numbers.Values[:0]
	s.Iterator(k.iterator)
	it := k.iterator
	for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
		if kind == chunkenc.ValFloatHistogram && !of.onlyCounts() {
			return kernel.Columns{}, errUseEngine
		}
		t, v := it.AtT(), 0.0
		if it.IsStale() || kind == chunkenc.ValFloat {
			_, v = it.At()
		}
		if kernel.IsMissing(v) && onlySamples {
			continue
		}
		times, values = append(times, t), append(values, v)
	}
	k.numbers.Times, k.numbers.Values = times, values
	return k.numbers, k.iterator.Err()
}

// columnsOf returns the samples of a counter or a gauge.
func (k *scratch) columnsOf(of series.Floats) kernel.Columns {
	if of.Metric.Kind == frame.GaugeDouble {
		return kernel.Columns{Times: of.At, Values: of.Doubles}
	}
	k.numbers.Values = k.numbers.Values[:0]
	for _, v := range of.Ints {
		k.numbers.Values = append(k.numbers.Values, frame.Scale(v, of.Metric.Exponent))
	}
	return kernel.Columns{Times: of.At, Values: k.numbers.Values}
}

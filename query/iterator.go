package query

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// samples are values of one series in ascending order of time, in ms. float is for those that are
// no histograms; those that are have histogram (see histogramSamples).
type samples interface {
	len() int
	at(i int) int64
	float(i int) float64
	isHistogram() bool
}

// histogramSamples are samples whose values are native histograms.
type histogramSamples interface {
	samples
	// histogram writes the value into a histogram, or a new one if that is nil, and returns it.
	histogram(i int, into *histogram.FloatHistogram) *histogram.FloatHistogram
}

func (s histograms) float(int) float64 { return math.NaN() }
func (s histograms) histogram(i int, into *histogram.FloatHistogram) *histogram.FloatHistogram {
	into = native(s.Metric, s.bounds, &s.Histograms[i], into)
	if i > 0 && s.Metric.Kind == frame.Histogram {
		into.CounterResetHint = histogram.NotCounterReset
		if isReset(&s.Histograms[i-1], &s.Histograms[i]) {
			into.CounterResetHint = histogram.CounterReset
		}
	}
	return into
}

// isReset reports whether a histogram has counted less than the one before it in any bucket.
func isReset(before, h *window.Histogram) bool {
	j := 0
	for i, b := range before.Filled {
		for j < len(h.Filled) && h.Filled[j] < b {
			j++
		}
		if j == len(h.Filled) || h.Filled[j] != b || h.Counts[j] < before.Counts[i] {
			return true
		}
	}
	return false
}

// part is what one source says of a series.
type part struct {
	samples
	// ends are the instants, ascending, at which the series was found to be there no more: PromQL's
	// stale markers. None is an instant of a sample.
	ends     []int64
	increase *increaseStart // of what rollups show to rate and increase
}

// oneSeries is a series of an answer. It implements storage.Series.
type oneSeries struct {
	labels labels.Labels
	parts  []part // by time
	// ctx is the query's, whose end ends the iterators; nil: nothing does.
	ctx context.Context
}

// buckets returns how many buckets the series' histograms have at most; 0 if it has none.
func (s *oneSeries) buckets() (n int) {
	for i := range s.parts {
		switch of := s.parts[i].samples.(type) {
		case histograms:
			n = max(n, len(of.bounds)+1)
		case *points:
			for _, h := range of.native {
				n = max(n, len(h.PositiveBuckets))
			}
		}
	}
	return n
}

// Labels implements storage.Series.
func (s *oneSeries) Labels() labels.Labels { return s.labels }

// Iterator implements storage.Series.
func (s *oneSeries) Iterator(again chunkenc.Iterator) chunkenc.Iterator {
	it, ok := again.(*iterator)
	if !ok {
		it = &iterator{}
	}
	*it = iterator{parts: s.parts, next: -1, t: math.MinInt64, ctx: s.ctx}
	return it
}

// iterator walks over the samples and ends of a series' parts. It implements chunkenc.Iterator.
type iterator struct {
	parts []part
	next  int // the sample it is at; -1: before the first
	ended int // ends that are behind it
	t     int64
	stale bool // it is at an end
	over  bool

	ctx   context.Context // nil: nobody ends it
	calls uint
	err   error
}

// checkEvery is after how many calls an iterator looks at the time. A function over a range does
// much between two of them, so that they are few.
const checkEvery = 16

// stopped reports whether the query is over: Prometheus's engine looks at the time between series
// only, and one of them can take minutes.
func (it *iterator) stopped() bool {
	if it.calls++; it.ctx == nil || it.calls%checkEvery != 0 {
		return it.err != nil
	}
	if err := it.ctx.Err(); err != nil {
		it.err, it.over = err, true
	}
	return it.err != nil
}

// Next implements chunkenc.Iterator.
func (it *iterator) Next() chunkenc.ValueType {
	if it.stopped() {
		return chunkenc.ValNone
	}
	for len(it.parts) > 0 {
		p := &it.parts[0]
		sample, end := int64(math.MaxInt64), int64(math.MaxInt64)
		if it.next+1 < p.len() {
			sample = p.at(it.next + 1)
		}
		if it.ended < len(p.ends) {
			end = p.ends[it.ended]
		}
		switch {
		case sample == math.MaxInt64 && end == math.MaxInt64:
			it.parts, it.next, it.ended = it.parts[1:], -1, 0
			continue
		case end < sample:
			it.ended++
			if end <= it.t || len(it.parts) > 1 && it.parts[1].len() > 0 &&
				it.parts[1].at(0) <= end {
				continue // another source has a sample then
			}
			it.t, it.stale = end, true
		default:
			it.next++
			if sample <= it.t {
				continue
			}
			it.t, it.stale = sample, false
		}
		return it.kind()
	}
	it.over = true
	return chunkenc.ValNone
}

func (it *iterator) kind() chunkenc.ValueType {
	if it.parts[0].isHistogram() {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

// Seek implements chunkenc.Iterator.
func (it *iterator) Seek(t int64) chunkenc.ValueType {
	if it.stopped() {
		return chunkenc.ValNone
	}
	if it.over || len(it.parts) == 0 {
		it.over = true
		return chunkenc.ValNone
	}
	if it.t >= t && it.t != math.MinInt64 {
		return it.kind()
	}
	for len(it.parts) > 0 {
		p := &it.parts[0]
		first := it.next + 1
		n := sort.Search(p.len()-first, func(i int) bool { return p.at(first+i) >= t })
		ends, _ := slices.BinarySearch(p.ends[it.ended:], t)
		it.next, it.ended = it.next+n, it.ended+ends
		if it.next+1 < p.len() || it.ended < len(p.ends) {
			break
		}
		it.parts, it.next, it.ended = it.parts[1:], -1, 0
	}
	kind := it.Next()
	if kind != chunkenc.ValNone && it.t < t {
		// an end that was sought does not count, and the next part begins before it
		return it.Seek(t)
	}
	return kind
}

// At implements chunkenc.Iterator.
func (it *iterator) At() (int64, float64) {
	if it.stale {
		return it.t, math.Float64frombits(value.StaleNaN)
	}
	return it.t, it.parts[0].float(it.next)
}

// AtHistogram implements chunkenc.Iterator; all histograms here have floating-point counts.
func (it *iterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	panic("query: a histogram of integers is never announced")
}

// AtFloatHistogram implements chunkenc.Iterator.
func (it *iterator) AtFloatHistogram(
	into *histogram.FloatHistogram,
) (int64, *histogram.FloatHistogram) {
	if it.stale {
		return it.t, &histogram.FloatHistogram{Sum: math.Float64frombits(value.StaleNaN)}
	}
	return it.t, it.parts[0].samples.(histogramSamples).histogram(it.next, into)
}

// AtT implements chunkenc.Iterator.
func (it *iterator) AtT() int64 { return it.t }

// AtST implements chunkenc.Iterator: frames do not say since when a counter counts.
func (it *iterator) AtST() int64 { return 0 }

// Err implements chunkenc.Iterator.
func (it *iterator) Err() error { return it.err }

// seriesSet is an answer that is read when it is first asked for. It implements storage.SeriesSet.
type seriesSet struct {
	read func() ([]*oneSeries, annotations.Annotations, error)

	begun    bool
	list     []*oneSeries
	at       int
	warnings annotations.Annotations
	err      error
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	if !s.begun {
		s.begun, s.at = true, -1
		s.list, s.warnings, s.err = s.read()
	}
	s.at++
	return s.err == nil && s.at < len(s.list)
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.list[s.at] }

// Err implements storage.SeriesSet.
func (s *seriesSet) Err() error { return s.err }

// Warnings implements storage.SeriesSet.
func (s *seriesSet) Warnings() annotations.Annotations { return s.warnings }

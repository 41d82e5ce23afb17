package series

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Iterator walks over the samples and ends of a series. segments. It implements chunkenc.Iterator.
type Iterator struct {
	segments []Segment
	next     int // the sample it is at; -1: before the first
	ended    int // ends that are behind it
	t        int64
	stale    bool // it is at an end
	over     bool

	ctx   context.Context // nil: nobody ends it
	calls uint
	err   error
}

// checkEvery is after how many calls an iterator looks at the time. A function over a range does
// much between two of them, so that they are few.
const checkEvery = 16

// stopped reports whether the query is over: Prometheus's engine looks at the time between series
// only, and one of them can take minutes.
func (it *Iterator) stopped() bool {
	if it.calls++; it.ctx == nil || it.calls%checkEvery != 0 {
		return it.err != nil
	}
	if err := it.ctx.Err(); err != nil {
		it.err, it.over = err, true
	}
	return it.err != nil
}

// Next implements chunkenc.Iterator.
func (it *Iterator) Next() chunkenc.ValueType {
	if it.stopped() {
		return chunkenc.ValNone
	}
	for len(it.segments) > 0 {
		p := &it.segments[0]
		sample, end := int64(math.MaxInt64), int64(math.MaxInt64)
		if it.next+1 < p.Len() {
			sample = p.Time(it.next + 1)
		}
		if it.ended < len(p.Ends) {
			end = p.Ends[it.ended]
		}
		switch {
		case sample == math.MaxInt64 && end == math.MaxInt64:
			it.segments, it.next, it.ended = it.segments[1:], -1, 0
			continue
		case end < sample:
			it.ended++
			if end <= it.t || len(it.segments) > 1 && it.segments[1].Len() > 0 &&
				it.segments[1].Time(0) <= end {
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

func (it *Iterator) kind() chunkenc.ValueType {
	if it.segments[0].IsHistogram() {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

// Seek implements chunkenc.Iterator.
func (it *Iterator) Seek(t int64) chunkenc.ValueType {
	if it.stopped() {
		return chunkenc.ValNone
	}
	if it.over || len(it.segments) == 0 {
		it.over = true
		return chunkenc.ValNone
	}
	if it.t >= t && it.t != math.MinInt64 {
		return it.kind()
	}
	for len(it.segments) > 0 {
		p := &it.segments[0]
		first := it.next + 1
		n := sort.Search(p.Len()-first, func(i int) bool { return p.Time(first+i) >= t })
		ends, _ := slices.BinarySearch(p.Ends[it.ended:], t)
		it.next, it.ended = it.next+n, it.ended+ends
		if it.next+1 < p.Len() || it.ended < len(p.Ends) {
			break
		}
		it.segments, it.next, it.ended = it.segments[1:], -1, 0
	}
	kind := it.Next()
	if kind != chunkenc.ValNone && it.t < t {
		// an end that was sought does not count, and the next segment begins before it
		return it.Seek(t)
	}
	return kind
}

// At implements chunkenc.Iterator.
func (it *Iterator) At() (int64, float64) {
	if it.stale {
		return it.t, math.Float64frombits(value.StaleNaN)
	}
	return it.t, it.segments[0].Value(it.next)
}

// AtHistogram implements chunkenc.Iterator; all histograms here have floating-point counts.
func (it *Iterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	panic("query: a histogram of integers is never announced")
}

// AtFloatHistogram implements chunkenc.Iterator.
func (it *Iterator) AtFloatHistogram(
	into *histogram.FloatHistogram,
) (int64, *histogram.FloatHistogram) {
	if it.stale {
		return it.t, &histogram.FloatHistogram{Sum: math.Float64frombits(value.StaleNaN)}
	}
	return it.t, it.segments[0].Samples.(histogramSamples).Histogram(it.next, into)
}

// IsStale reports whether it is at an end, not at a sample.
func (it *Iterator) IsStale() bool { return it.stale }

// AtT implements chunkenc.Iterator.
func (it *Iterator) AtT() int64 { return it.t }

// AtST implements chunkenc.Iterator: frames do not say since when a counter counts.
func (it *Iterator) AtST() int64 { return 0 }

// Err implements chunkenc.Iterator.
func (it *Iterator) Err() error { return it.err }

package selecting

import (
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/window"
)

// Samples are the values of one line, in ascending order of time, each instant once. Its lists are
// used again by the next Read.
type Samples struct {
	At    []int64  // milliseconds since the Unix epoch
	Words []int64  // integers, doubles' bits, or histograms' sums
	Texts []string // texts alone
	// Histograms alone: Counts are how many observations there were. Bucket and Delta are how the
	// counts by bucket differ from those of the value before, of the first one from zero: those of
	// value i end at BucketEnd[i]. A bucket may be named more than once.
	Counts    []int64
	BucketEnd []int32
	Bucket    []uint16
	Delta     []int64
	// NoBuckets says that some of the values were read without their buckets, so that there are
	// none.
	NoBuckets bool

	before, now []int64 // counts by bucket: of the last value, and scratch
}

// Of takes the values of a series, of histograms with their buckets.
func (v *Samples) Of(s *window.Series) {
	v.reset(s.Metric, true)
	v.series(s)
}

func (v *Samples) series(s *window.Series) {
	v.At, v.Texts = append(v.At, s.At...), append(v.Texts, s.Strings...)
	v.Words = append(v.Words, s.Ints...)
	for _, d := range s.Doubles {
		v.Words = append(v.Words, int64(math.Float64bits(d)))
	}
	for i := range s.Histograms {
		h := &s.Histograms[i]
		v.NoBuckets = v.NoBuckets || len(h.Counts) == 0 && h.Total != 0
		v.Words, v.Counts = append(v.Words, h.Sum), append(v.Counts, h.Count())
	}
	for i := 0; i < len(s.Histograms) && !v.NoBuckets; i++ {
		clear(v.now)
		for j, b := range s.Histograms[i].Filled {
			v.now[b] = s.Histograms[i].Counts[j]
		}
		v.appendDeltas()
		v.before, v.now = v.now, v.before
		v.BucketEnd = append(v.BucketEnd, int32(len(v.Bucket)))
	}
}

func (v *Samples) reset(m *window.Metric, buckets bool) {
	v.At, v.Words, v.Texts, v.Counts = v.At[:0], v.Words[:0], v.Texts[:0], v.Counts[:0]
	v.BucketEnd, v.Bucket, v.Delta = v.BucketEnd[:0], v.Bucket[:0], v.Delta[:0]
	v.NoBuckets = !m.Kind.IsHistogram() || !buckets
	if n := m.Buckets(); !v.NoBuckets {
		v.before, v.now = slices.Grow(v.before[:0], n)[:n], slices.Grow(v.now[:0], n)[:n]
		clear(v.before)
	}
}

// appendDeltas appends how the counts differ from those of the value before.
func (v *Samples) appendDeltas() {
	for i, n := range v.now {
		if d := n - v.before[i]; d != 0 {
			v.Bucket, v.Delta = append(v.Bucket, uint16(i)), append(v.Delta, d)
		}
	}
}

package blobs

import (
	"iter"

	"github.com/ringwatch/ringwatch/window"
)

// HeadType is what a head says of one entity type.
type HeadType struct {
	Key     string
	Hash    window.Hash
	metrics int
	states  []byte // packed
	rest    []byte // pieces and presence: what needs the dictionary
}

// Stored reports whether metric number m has parts of its own.
func (t *HeadType) Stored(m int) bool {
	s := t.state(m)
	return s == stateStored || s == stateSmall
}

// Small reports whether metric number m has parts that take at most SmallBytes together.
func (t *HeadType) Small(m int) bool { return t.state(m) == stateSmall }

func (t *HeadType) state(m int) byte {
	if m < 0 || m >= t.metrics {
		return stateZero
	}
	return t.states[m/4] >> (2 * (m % 4)) & 3
}

// cutMetrics reads which metrics are cut, and the first rows of their pieces but the first one.
func (t *HeadType) cutMetrics(r *reader, rows int) iter.Seq2[int, []int32] {
	return func(yield func(metric int, starts []int32) bool) {
		metric := -1
		for range r.Count("metrics in pieces", t.metrics) {
			metric = r.Gap("a metric", metric, t.metrics)
			n := r.Count("pieces", rows)
			if n == 0 {
				r.Fail("a metric in pieces has one")
			}
			starts := make([]int32, n)
			row := 0
			for i := range starts {
				row = r.Gap("a piece's first row", row, rows)
				starts[i] = int32(row)
			}
			if r.Err != nil || !yield(metric, starts) {
				return
			}
		}
	}
}

// startsOf returns the first rows of a metric's pieces but the first one; none if it is not cut.
func (t *HeadType) startsOf(metric, rows int) (starts []int32) {
	if len(t.rest) == 0 || t.rest[0] == 0 {
		return nil
	}
	r := read(t.rest)
	for m, s := range t.cutMetrics(&r, rows) {
		if m == metric {
			starts = s
		}
		if m >= metric {
			break
		}
	}
	return starts
}

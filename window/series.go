// Package window is the type between frames, stores and queries: frames go in, columns and series
// come out. Start with Window: what one node said in five minutes or in an hour.
//
//	frames ──Build──▶ Window ──Encode──▶ head, dictionaries, parts   (COLUMNS.md)
//	                  │    ▲                          │
//	                  │    └────────FromParts─────────┘
//	                  ├──Select──▶ Series, for the series somebody asked for
//	                  ├──Lines───▶ Line, Samples: series over several windows
//	                  └──Cells───▶ every value, for rollups
//
// What it promises: frames may come in any order and repeatedly, and the window is the same. A
// Window is immutable. Equal windows give equal bytes. Values stay what the agent counted: integers
// with an exponent, bucket counts, doubles, texts; rates, percentiles and floats are made where
// they are asked for. Whatever bytes a decoder is given, the memory it takes is bounded.
//
// It has no clock and no I/O, and of our packages it imports frame and frame/codec alone.
package window

import (
	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
)

// Node says whose values a window holds.
type Node struct {
	Account  string
	Cluster  string
	ID       uuid.UUID
	Interval int64 // milliseconds between frames as configured
	frame.Identity
}

// Metric is what the values of a series are.
type Metric struct {
	Type     string // entity type
	Name     string
	Kind     frame.Kind
	Unit     string
	Exponent int           // an integer value v stands for v × 10^Exponent
	Bounds   *frame.Bounds // histograms; a value has len(Bounds.Upper)+1 buckets
	HasSum   bool          // histograms: Sum is meant
}

// Series is one entity's metric at some instants, in ascending order of time, each at most once.
// Which of the value slices is set follows from Metric.Kind; it is as long as At.
type Series struct {
	Labels     labels.Labels // __name__, cluster, datacenter, rack, node and the entity's own
	Metric     *Metric
	At         []int64 // milliseconds since the Unix epoch
	Ints       []int64 // counter, gauge
	Doubles    []float64
	Histograms []Histogram
	Strings    []string
}

// Between returns the values i to j-1 of a series, which share its memory.
func (s *Series) Between(i, j int) Series {
	between := *s
	between.At = s.At[i:j]
	switch {
	case s.Ints != nil:
		between.Ints = s.Ints[i:j]
	case s.Doubles != nil:
		between.Doubles = s.Doubles[i:j]
	case s.Histograms != nil:
		between.Histograms = s.Histograms[i:j]
	case s.Strings != nil:
		between.Strings = s.Strings[i:j]
	}
	return between
}

// Histogram is the value of a histogram at an instant: counts per bucket (not cumulative over
// buckets) and their sum, an integer scaled by Metric.Exponent. Most buckets are empty, so only
// the others are there. The lists may be shared between values: do not change them.
//
// One that was read without its buckets has Total instead.
type Histogram struct {
	Size   int      // buckets that there are, the one above the last bound among them
	Filled []uint16 // numbers of those that are not empty, ascending
	Counts []int64  // theirs
	Sum    int64
	Total  int64 // if buckets were not read: the count; else 0
}

// NewHistogram returns the histogram of counts by bucket, empty ones among them.
func NewHistogram(counts []int64, sum int64) Histogram {
	h := Histogram{Size: len(counts), Sum: sum}
	for b, n := range counts {
		if n != 0 {
			h.Filled, h.Counts = append(h.Filled, uint16(b)), append(h.Counts, n)
		}
	}
	return h
}

// Dense appends the counts of all buckets, empty ones among them, to dst.
func (h *Histogram) Dense(dst []int64) []int64 {
	from := len(dst)
	dst = append(dst, make([]int64, h.Size)...)
	for i, b := range h.Filled {
		dst[from+int(b)] = h.Counts[i]
	}
	return dst
}

// Count returns the number of observations.
func (h *Histogram) Count() int64 {
	n := h.Total
	for _, c := range h.Counts {
		n += c
	}
	return n
}

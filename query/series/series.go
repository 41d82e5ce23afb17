// Package series is how PromQL sees what is stored: a Series of an answer, its samples, and where
// it ended.
//
// Start with Series. It is of Segments, each what one source says of it: Samples by time, and the
// instants at which it was found to be there no more.
//
//	stored series ── View: itself, _bucket, _sum or _count ──▶ Samples ──▶ Segment ──▶ Series
//
// What it promises: a Series is what a Prometheus would have that scraped the same node. Histograms
// are native ones with Cassandra's own bounds, and their classic names (Suffixes) show the same
// buckets.
//
// What bites: Samples are views. They share the values of the stored series, which nobody changes
// meanwhile.
//
// It may import frame and window.
package series

import (
	"context"
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Series is a series of an answer. It implements storage.Series.
type Series struct {
	Metric   labels.Labels
	Segments []Segment // by time
	// Context is the query's, whose end ends the iterators; nil: nothing does.
	Context context.Context
}

// Buckets returns how many buckets the series' histograms have at most; 0 if it has none.
func (s *Series) Buckets() (n int) {
	for i := range s.Segments {
		switch of := s.Segments[i].Samples.(type) {
		case Histograms:
			n = max(n, len(of.Bounds)+1)
		case *Points:
			for _, h := range of.Native {
				n = max(n, len(h.PositiveBuckets))
			}
		}
	}
	return n
}

// Labels implements storage.Series.
func (s *Series) Labels() labels.Labels { return s.Metric }

// Iterator implements storage.Series.
func (s *Series) Iterator(again chunkenc.Iterator) chunkenc.Iterator {
	it, ok := again.(*Iterator)
	if !ok {
		it = &Iterator{}
	}
	*it = Iterator{segments: s.Segments, next: -1, t: math.MinInt64, ctx: s.Context}
	return it
}

// Compare orders series by their labels.
func Compare(a, b *Series) int { return labels.Compare(a.Metric, b.Metric) }

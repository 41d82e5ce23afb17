package blobs

import (
	"cmp"

	"github.com/ringwatch/ringwatch/window"
)

// Facet is a side of a metric's values that can be read without the others.
type Facet uint8

// A metric's facets. Scalars and texts have only Values.
const (
	// Values is all that scalars and texts say. Of a histogram it is when it changed, and by how
	// much its count and its sum did.
	Values Facet = iota
	// Buckets is how the counts of Values spread over a histogram's buckets.
	Buckets
)

const (
	// SmallBytes is how many bytes all parts of a small metric take together at most.
	SmallBytes = 128
	// PieceBytes is how many bytes a part may have. One that would have more is cut by entities,
	// down to one entity.
	PieceBytes = 256 << 10
)

// PartID names a part within its head.
type PartID struct {
	Type   int // in Head.Types
	Metric int // in the dictionary
	Facet  Facet
	Piece  int // from 0
}

// Compare orders parts as a window's are: by type, metric, facet and piece.
func (p PartID) Compare(o PartID) int {
	return cmp.Or(cmp.Compare(p.Type, o.Type), cmp.Compare(p.Metric, o.Metric),
		cmp.Compare(p.Facet, o.Facet), cmp.Compare(p.Piece, o.Piece))
}

// Part is a part's blob. Key and Metric name it, as ID does, in words.
type Part struct {
	PartID
	Key    string // Dictionary.Key
	Metric string // Dictionary.MetricKey
	Small  bool   // its metric's parts have at most SmallBytes together
	Blob   []byte
}

// StoredPart is a part's blob as it was found.
type StoredPart struct {
	PartID
	Blob []byte
}

// facetsOf returns how many facets a metric has.
func facetsOf(m *window.Metric) int {
	if m.Kind.IsHistogram() {
		return 2
	}
	return 1
}

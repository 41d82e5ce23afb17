package window

import (
	"cmp"

	"github.com/ringwatch/ringwatch/frame"
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

// Encoded is a window as it is stored. The head and the dictionaries with some of the parts answer
// for the metrics of these parts.
type Encoded struct {
	Head         []byte // times, dictionaries and which parts there are; small
	Dictionaries []EncodedDictionary
	Parts        []Part // by ascending PartID; of metrics that the head does not answer for
}

// EncodedDictionary is a dictionary's blob and its address.
type EncodedDictionary struct {
	Key  string // Dictionary.Key
	Hash Hash
	Blob []byte
}

// Dictionaries finds a decoded dictionary by key and hash. Its error should wrap ErrDictionary or
// be a blob's error.
type Dictionaries func(key string, hash Hash) (*Dictionary, error)

// facetsOf returns how many facets a metric has.
func facetsOf(m *Metric) int {
	if m.Kind.IsHistogram() {
		return 2
	}
	return 1
}

// maxMetrics bounds the metrics of a dictionary: one that changed its definition is there twice.
const maxMetrics = 2 * frame.MaxMetrics

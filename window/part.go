package window

// Facet is which part of a metric's values a stored part has.
type Facet uint8

// The facets of a metric.
const (
	Values  Facet = iota // everything; of histograms the count and the sum of each change, and its instants
	Buckets              // histograms: how a change's count spreads over buckets
)

// A metric whose parts are together at most SmallBytes is small; a part beyond PieceBytes is split by
// entities into pieces.
const (
	SmallBytes = 128
	PieceBytes = 256 << 10
)

// PartID names a part within its head.
type PartID struct {
	Type   int // number of the type in the head
	Metric int // in the dictionary
	Facet  Facet
	Piece  int
}

// Part is one part as it is encoded.
type Part struct {
	PartID
	Key, Metric string // Dictionary.Key, Dictionary.MetricKey
	Small       bool   // the metric is small
	Blob        []byte
}

// StoredPart is a part as it was found.
type StoredPart struct {
	PartID
	Blob []byte
}

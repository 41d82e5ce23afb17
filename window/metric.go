package window

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

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

// Equal reports whether values of the two metrics can stand in one series: name, kind, unit,
// exponent and bounds are the same.
func (m *Metric) Equal(o *Metric) bool {
	if m == o {
		return true
	}
	return m.Name == o.Name && m.Kind == o.Kind && m.Unit == o.Unit && m.Exponent == o.Exponent &&
		m.HasSum == o.HasSum && EqualBounds(m.Bounds, o.Bounds)
}

// Buckets returns how many buckets a value has; 0 if it is no histogram.
func (m *Metric) Buckets() int {
	if m.Bounds == nil {
		return 0
	}
	return len(m.Bounds.Upper) + 1
}

func EqualBounds(a, b *frame.Bounds) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return a.Exponent == b.Exponent && slices.Equal(a.Upper, b.Upper)
}

// Package budget counts what an answer would have, before its first byte, against what the
// configuration allows. Who writes an answer says its Size. Of our packages it imports api/refusal.
package budget

import "github.com/ringwatch/ringwatch/api/refusal"

// Limits are what an answer may have.
type Limits struct {
	Series int
	Values int
	Bytes  int64 // before it is packed
}

// Size is what an answer, or a node of it, has.
type Size struct {
	Series int
	Values int
	Bytes  int64 // before it is packed, to about a fifth
}

// Add adds the size of something else.
func (s *Size) Add(other Size) {
	s.Series += other.Series
	s.Values += other.Values
	s.Bytes += other.Bytes
}

// Budget is what an answer has so far.
type Budget struct {
	limits Limits
	// field and remedy are what a request with too many values should change.
	field, remedy string
	taken         Size
}

// New returns an empty one. Who asks for too many values is told to change field, by remedy.
func New(limits Limits, field, remedy string) *Budget {
	return &Budget{limits: limits, field: field, remedy: remedy}
}

// Values returns how many the answer has so far.
func (b *Budget) Values() int { return b.taken.Values }

// Take adds to the answer. The error is a *listener.Error that says which limit is passed.
func (b *Budget) Take(size Size) error {
	b.taken.Add(size)
	switch {
	case b.taken.Series > b.limits.Series:
		return refusal.Bad("too_many_series", "metrics",
			"the answer would have more than %d series: ask for fewer metrics, or one node "+
				"at a time", b.limits.Series)
	case b.taken.Values > b.limits.Values:
		return refusal.Bad("too_many_values", b.field,
			"the answer would have more than %d values: %s", b.limits.Values, b.remedy)
	case b.taken.Bytes > b.limits.Bytes:
		return refusal.Bad("too_large", b.field, "the answer would have more than %d MiB: %s",
			b.limits.Bytes>>20, b.remedy)
	}
	return nil
}

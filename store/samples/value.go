package samples

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// sampleRow is a row as it is read; what is null stays empty.
type sampleRow struct {
	at     int64
	value  *float64
	exact  *int64
	counts []byte
	state  *string
}

// scaled returns v × 10^exponent. Powers of ten above it are exact in a double, so it divides by
// them instead of multiplying with their inverse.
func scaled(v int64, exponent int) float64 {
	switch {
	case exponent == 0:
		return float64(v)
	case exponent < 0:
		return float64(v) / math.Pow10(-exponent)
	}
	return float64(v) * math.Pow10(exponent)
}

// unscaled is the way back; exact says that it is one.
func unscaled(value float64, exponent int) (v int64, exact bool) {
	f := math.Round(value * math.Pow10(-exponent))
	if exponent > 0 {
		f = math.Round(value / math.Pow10(exponent))
	}
	if !(math.Abs(f) <= 1<<53) {
		return 0, false
	}
	v = int64(f)
	return v, true
}

// sampleValues returns the value columns of a sample. What it does not have is not written.
func sampleValues(s *window.Series, i int) []any {
	switch s.Metric.Kind {
	case frame.Counter, frame.Gauge:
		v := s.Ints[i]
		value := scaled(v, s.Metric.Exponent)
		if back, ok := unscaled(value, s.Metric.Exponent); ok && back == v {
			return []any{value, nil, nil, nil}
		}
		return []any{value, v, nil, nil}
	case frame.GaugeDouble:
		return []any{s.Doubles[i], nil, nil, nil}
	case frame.String:
		return []any{nil, nil, nil, s.Strings[i]}
	}
	return []any{nil, nil, appendHistogram(nil, &s.Histograms[i]), nil}
}

// appendTo adds the row's value to its series. Rows of a service come in ascending order of time.
func (r *sampleRow) appendTo(s *window.Series) error {
	switch s.Metric.Kind {
	case frame.Counter, frame.Gauge:
		if r.value == nil {
			return errSample
		}
		// An integer that stands there from an earlier writing counts only if it is the one meant.
		v, ok := unscaled(*r.value, s.Metric.Exponent)
		if r.exact != nil && (!ok || scaled(*r.exact, s.Metric.Exponent) == *r.value) {
			v, ok = *r.exact, true
		}
		if !ok {
			return errSample
		}
		s.Ints = append(s.Ints, v)
	case frame.GaugeDouble:
		if r.value == nil {
			return errSample
		}
		s.Doubles = append(s.Doubles, *r.value)
	case frame.String:
		if r.state == nil {
			return errSample
		}
		s.Strings = append(s.Strings, *r.state)
	default:
		h, err := decodeHistogram(r.counts, len(s.Metric.Bounds.Upper)+1)
		if err != nil {
			return err
		}
		s.Histograms = append(s.Histograms, h)
	}
	s.At = append(s.At, r.at)
	return nil
}

var errSample = fmt.Errorf("%w: a sample without a value of its kind", blobs.ErrMalformed)

// appendHistogram appends the sum and, for each bucket that is not empty, its distance to the one
// before and its count.
func appendHistogram(dst []byte, h *window.Histogram) []byte {
	dst = binary.AppendVarint(dst, h.Sum)
	last := -1
	for i, b := range h.Filled {
		dst = binary.AppendVarint(binary.AppendUvarint(dst, uint64(int(b)-last-1)), h.Counts[i])
		last = int(b)
	}
	return dst
}

func decodeHistogram(b []byte, buckets int) (window.Histogram, error) {
	h := window.Histogram{Size: buckets}
	sum, n := binary.Varint(b)
	if n <= 0 {
		return h, errSample
	}
	h.Sum, b = sum, b[n:]
	for next := uint64(0); len(b) > 0; next++ {
		gap, n := binary.Uvarint(b)
		if n <= 0 || gap >= uint64(buckets) || next+gap >= uint64(buckets) {
			return h, errSample
		}
		count, m := binary.Varint(b[n:])
		if m <= 0 {
			return h, errSample
		}
		next += gap
		if count != 0 {
			h.Filled, h.Counts = append(h.Filled, uint16(next)), append(h.Counts, count)
		}
		b = b[n+m:]
	}
	return h, nil
}

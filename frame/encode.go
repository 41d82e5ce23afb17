package frame

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Append appends the frame's bytes to dst in canonical form, packed as f.Compression asks (or
// None where packing would not make it smaller), and sets f.Check, f.Length and f.RawLength. key
// is the key frame of a delta frame. What breaks FORMAT.md in the header is an error here; the
// rest is the caller's duty, and Decode tells.
func (f *Frame) Append(dst []byte, key *Frame) ([]byte, error) {
	if f.IsKey() {
		key = nil
	} else {
		if key == nil {
			return dst, fmt.Errorf("%w: a delta frame at %d needs its key frame at %d", ErrKey,
				f.At, f.KeyAt())
		}
		f.KeyCheck = key.Check
		if err := f.names(key); err != nil {
			return dst, err
		}
	}
	if err := f.validate(); err != nil {
		return dst, err
	}
	raw, err := f.appendEvents(nil)
	if err != nil {
		return dst, err
	}
	raw = f.appendPayload(raw, key)
	if len(raw) > MaxRawBytes {
		return dst, fmt.Errorf("%w: a payload of %d bytes where %d are allowed", ErrTooLarge,
			len(raw), MaxRawBytes)
	}
	h := f.Header
	var packed []byte
	h.RawLength, h.HasEvents = len(raw), len(f.Events) > 0
	h.Compression, packed = pack(f.Compression, raw)
	start := len(dst)
	dst = append(h.appendHeader(dst), packed...)
	b := dst[start:]
	if len(b) > MaxFrameBytes {
		return dst[:start], fmt.Errorf("%w: %d bytes where %d are allowed", ErrTooLarge, len(b),
			MaxFrameBytes)
	}
	binary.LittleEndian.PutUint32(b[lengthOffset:], uint32(len(b)))
	h.Check, h.Length = crc32.Checksum(b[lengthOffset:], castagnoli), len(b)
	binary.LittleEndian.PutUint32(b[checkOffset:], h.Check)
	f.Header = h
	return dst, nil
}

func (f *Frame) appendPayload(dst []byte, key *Frame) []byte {
	if key == nil {
		dst = appendText(appendText(dst, f.Identity.Datacenter), f.Identity.Rack)
		dst = appendUvarint(dst, uint64(len(f.Identity.Facts)))
		for _, fact := range f.Identity.Facts {
			dst = appendText(appendText(dst, fact.Name), fact.Value)
		}
	}
	dst = appendUvarint(dst, uint64(len(f.Bounds)))
	for _, b := range f.Bounds {
		dst = appendSvarint(dst, int64(b.Exponent))
		dst = appendUvarint(dst, uint64(len(b.Upper)))
		dst = appendSvarint(dst, b.Upper[0])
		for i := 1; i < len(b.Upper); i++ {
			dst = appendUvarint(dst, uint64(b.Upper[i]-b.Upper[i-1]))
		}
	}
	dst = appendUvarint(dst, uint64(len(f.Templates)))
	for i := range f.Templates {
		dst = f.Templates[i].append(dst)
	}
	dst = appendUvarint(dst, uint64(len(f.Added)))
	previous := -1
	for _, g := range f.Added {
		dst = appendUvarint(dst, uint64(g.Template-previous-1))
		previous = g.Template
		dst = appendUvarint(dst, uint64(len(g.Rows)))
		for _, row := range g.Rows {
			for _, v := range row {
				dst = appendText(dst, v)
			}
		}
	}
	if key != nil {
		dst = appendUvarint(dst, uint64(len(f.Removed)))
		previous = -1
		for _, g := range f.Removed {
			dst = appendUvarint(dst, uint64(g.Template-previous-1))
			previous = g.Template
			dst = appendUvarint(dst, uint64(len(g.Entities)))
			dst = appendGaps(dst, g.Entities)
		}
	}
	dst = f.appendGroups(dst, f.Presence, key, false)
	return f.appendGroups(dst, f.Values, key, true)
}

func (t *Template) append(dst []byte) []byte {
	dst = appendText(dst, t.Type)
	dst = appendUvarint(dst, uint64(len(t.Labels)))
	for _, l := range t.Labels {
		dst = appendText(dst, l)
	}
	dst = appendUvarint(dst, uint64(len(t.Metrics)))
	for i := range t.Metrics {
		m := &t.Metrics[i]
		dst = append(appendText(dst, m.Name), byte(m.Kind))
		dst = appendSvarint(appendText(dst, m.Unit), int64(m.Exponent))
		if m.Kind.IsHistogram() {
			dst = appendUvarint(dst, uint64(m.Bounds))
			if m.HasSum {
				dst = append(dst, 1)
			} else {
				dst = append(dst, 0)
			}
		}
	}
	return dst
}

func (f *Frame) appendGroups(dst []byte, groups []Group, key *Frame, values bool) []byte {
	dst = appendUvarint(dst, uint64(len(groups)))
	template := -1
	for _, g := range groups {
		dst = appendUvarint(dst, uint64(g.Template-template-1))
		template = g.Template
		dst = appendUvarint(dst, uint64(len(g.Columns)))
		metrics := f.Template(key, g.Template).Metrics
		metric := -1
		for i := range g.Columns {
			c := &g.Columns[i]
			dst = appendUvarint(dst, uint64(c.Metric-metric-1))
			metric = c.Metric
			if c.All {
				dst = append(dst, 0)
			} else {
				dst = appendGaps(appendUvarint(dst, uint64(len(c.Entities))), c.Entities)
			}
			if values {
				dst = c.appendValues(dst, &metrics[metric])
			}
		}
	}
	return dst
}

func (c *Column) appendValues(dst []byte, m *Metric) []byte {
	switch m.Kind {
	case Counter:
		for _, v := range c.Ints {
			dst = appendUvarint(dst, uint64(v))
		}
	case Gauge:
		for _, v := range c.Ints {
			dst = appendSvarint(dst, v)
		}
	case GaugeDouble:
		for _, v := range c.Doubles {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
	case Histogram, GaugeHistogram:
		for i := range c.Histograms {
			b := &c.Histograms[i]
			if m.HasSum {
				dst = appendSvarint(dst, b.Sum)
			}
			dst = appendUvarint(dst, uint64(len(b.Index)))
			previous := int32(-1)
			for j, bucket := range b.Index {
				dst = appendUvarint(dst, uint64(bucket-previous-1))
				previous = bucket
				if m.Kind == Histogram {
					dst = appendUvarint(dst, uint64(b.Count[j]))
				} else {
					dst = appendSvarint(dst, b.Count[j])
				}
			}
		}
	case String:
		for _, v := range c.Strings {
			dst = appendText(dst, v)
		}
	}
	return dst
}

// Template returns template number i of the key frame's and this frame's templates; key is nil or
// ignored for a key frame.
func (f *Frame) Template(key *Frame, i int) *Template {
	if !f.IsKey() {
		if i < len(key.Templates) {
			return &key.Templates[i]
		}
		i -= len(key.Templates)
	}
	return &f.Templates[i]
}

// BoundsOf returns bounds set number i of the key frame's and this frame's sets; key is nil or
// ignored for a key frame.
func (f *Frame) BoundsOf(key *Frame, i int) *Bounds {
	if !f.IsKey() {
		if i < len(key.Bounds) {
			return &key.Bounds[i]
		}
		i -= len(key.Bounds)
	}
	return &f.Bounds[i]
}

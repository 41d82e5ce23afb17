package frame

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"unicode"

	"github.com/google/uuid"
)

// Offsets of the fixed part of the header: FORMAT.md §3.
const (
	versionOffset = 3
	checkOffset   = 4
	lengthOffset  = 8
	packingOffset = 12
	nodeOffset    = 13
	clusterOffset = 29
)

// minFrameBytes is the least that any frame has: the fixed part, a one-byte cluster and eight
// one-byte fields.
const minFrameBytes = clusterOffset + 2 + 8

const magic = "RWF"

// eventsBit of the byte that says how the payload is packed says that it begins with events.
const eventsBit = 0x80

// Version is the version of the format that this package reads and writes.
const Version = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Length returns the number of bytes of the frame that b begins with, so that a reader of
// concatenated frames knows what to read. It needs the first 12 bytes. The error wraps
// ErrTruncated, ErrMagic, ErrVersion or ErrTooLarge.
func Length(b []byte) (int, error) {
	switch {
	case len(b) < packingOffset:
		return 0, fmt.Errorf("%w: %d bytes are fewer than any frame has", ErrTruncated, len(b))
	case string(b[:versionOffset]) != magic:
		return 0, fmt.Errorf("%w: it does not begin with %q", ErrMagic, magic)
	case b[versionOffset] != Version:
		return 0, fmt.Errorf("%w: %d, this decoder knows version %d", ErrVersion, b[versionOffset],
			Version)
	}
	n := binary.LittleEndian.Uint32(b[lengthOffset:])
	if n > MaxFrameBytes {
		return 0, fmt.Errorf("%w: %d bytes where %d are allowed", ErrTooLarge, n, MaxFrameBytes)
	}
	if n < minFrameBytes {
		return 0, fmt.Errorf("%w: a length of %d bytes is less than any frame has", ErrTruncated, n)
	}
	return int(n), nil
}

// Parse checks the frame in b from its magic to its last byte, without unpacking the payload, and
// returns its header and packed payload, which shares memory with b.
func Parse(b []byte) (Header, []byte, error) {
	n, err := Length(b)
	if err != nil {
		return Header{}, nil, err
	}
	if n != len(b) {
		return Header{}, nil, fmt.Errorf("%w: the header says %d bytes, there are %d", ErrTruncated,
			n, len(b))
	}
	h := Header{Length: n, Check: binary.LittleEndian.Uint32(b[checkOffset:])}
	if crc32.Checksum(b[lengthOffset:], castagnoli) != h.Check {
		return Header{}, nil, ErrChecksum
	}
	r := reader{b: b[packingOffset:]}
	packing := r.u8()
	h.Compression, h.HasEvents = Compression(packing&^eventsBit), packing&eventsBit != 0
	copy(h.Node[:], r.b)
	r.b = r.b[len(h.Node):]
	h.Cluster = r.text("cluster", MaxNameBytes)
	h.Started = r.uvarint()
	h.Sequence = r.uvarint()
	at, interval, age := r.uvarint(), r.uvarint(), r.uvarint()
	if age > 0 {
		h.KeyCheck = r.u32()
	}
	h.Cost = r.uvarint()
	raw := r.uvarint()
	if r.err != nil {
		return Header{}, nil, r.err
	}
	if raw > MaxRawBytes {
		return Header{}, nil, fmt.Errorf("%w: a payload of %d bytes where %d are allowed",
			ErrTooLarge, raw, MaxRawBytes)
	}
	if at > maxAt || interval > maxIntervalMilli || age > WindowMillis {
		return Header{}, nil, fmt.Errorf("%w: at, interval or key_age out of range", ErrMalformed)
	}
	h.At, h.Interval, h.KeyAge, h.RawLength = int64(at), int64(interval), int64(age), int(raw)
	if err := h.validate(); err != nil {
		return Header{}, nil, err
	}
	if h.Compression == None && len(r.b) != h.RawLength {
		return Header{}, nil, fmt.Errorf("%w: raw_length is %d, the payload has %d bytes",
			ErrMalformed, h.RawLength, len(r.b))
	}
	return h, r.b, nil
}

// validate checks the fields that an encoder can get wrong, too.
func (h *Header) validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
	}
	switch {
	case h.Compression >= compressions:
		return bad("unknown compression %d", h.Compression)
	case h.Node == uuid.Nil:
		return bad("the node id is zero")
	case h.Cluster == "" || len(h.Cluster) > MaxNameBytes:
		return bad("the cluster's name has %d bytes, 1 to %d are allowed", len(h.Cluster),
			MaxNameBytes)
	case h.At < 1 || h.At > maxAt:
		return bad("at is %d", h.At)
	case h.Interval < 1 || h.Interval > maxIntervalMilli:
		return bad("the interval is %d ms, 1 to %d are allowed", h.Interval, maxIntervalMilli)
	case h.KeyAge < 0 || h.KeyAge > h.At || WindowOf(h.KeyAt()) != h.Window():
		return bad("the key frame lies in another window")
	}
	for _, c := range h.Cluster {
		if unicode.IsControl(c) {
			return bad("the cluster's name has a control character")
		}
	}
	return nil
}

// appendHeader appends everything before the payload, check and length still zero.
func (h *Header) appendHeader(dst []byte) []byte {
	dst = append(dst, magic...)
	packing := byte(h.Compression)
	if h.HasEvents {
		packing |= eventsBit
	}
	dst = append(dst, Version, 0, 0, 0, 0, 0, 0, 0, 0, packing)
	dst = append(dst, h.Node[:]...)
	dst = appendText(dst, h.Cluster)
	dst = appendUvarint(dst, h.Started)
	dst = appendUvarint(dst, h.Sequence)
	dst = appendUvarint(dst, uint64(h.At))
	dst = appendUvarint(dst, uint64(h.Interval))
	dst = appendUvarint(dst, uint64(h.KeyAge))
	if h.KeyAge > 0 {
		dst = binary.LittleEndian.AppendUint32(dst, h.KeyCheck)
	}
	dst = appendUvarint(dst, h.Cost)
	return appendUvarint(dst, uint64(h.RawLength))
}

package rollup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// Why a stored blob could not be read.
var (
	// ErrVersion says that a newer program wrote the blob.
	ErrVersion = errors.New("rollup: blob of an unknown version")
	// ErrMalformed says that the blob breaks a rule of FORMAT.md.
	ErrMalformed = errors.New("rollup: malformed blob")
)

// blob walks hostile bytes. The first error sticks and every later read gives zero values, so callers check once per element.
type blob struct {
	b   []byte
	err error
}

func (r *blob) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
		r.b = nil
	}
}

func (r *blob) version(known byte) {
	if v := r.take(1); r.err == nil && v[0] != known {
		r.err = fmt.Errorf("%w: %d, this program knows version %d", ErrVersion, v[0], known)
		r.b = nil
	}
}

// done returns the error, which bytes left over are, too.
func (r *blob) done() error {
	if len(r.b) > 0 {
		r.fail("%d bytes after the end", len(r.b))
	}
	return r.err
}

func (r *blob) take(n int) []byte {
	if n > len(r.b) {
		r.fail("bytes are missing")
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *blob) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("a varint does not end or exceeds 64 bits")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *blob) svarint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// wide reads an svarint of up to 128 bits.
func (r *blob) wide() Int128 {
	var hi, lo uint64
	for shift := uint(0); ; shift += 7 {
		b := r.take(1)
		if r.err != nil {
			return Int128{}
		}
		v := uint64(b[0] & 0x7f)
		if shift > 126 || shift == 126 && v > 3 {
			r.fail("a varint exceeds 128 bits")
			return Int128{}
		}
		if shift < 64 {
			lo |= v << shift
			if shift > 57 {
				hi |= v >> (64 - shift)
			}
		} else {
			hi |= v << (shift - 64)
		}
		if b[0] < 0x80 {
			break
		}
	}
	sign := -(lo & 1)
	return Int128{int64(hi>>1 ^ sign), (hi<<63 | lo>>1) ^ sign}
}

// double reads a double's bits, or the XOR of two.
func (r *blob) double() int64 { return int64(bits.ReverseBytes64(r.uvarint())) }

// count reads a number of elements that take at least one byte each, so that what is allocated for them is bounded by the input.
func (r *blob) count(what string, limit int) int {
	v := r.uvarint()
	if v > uint64(limit) || v > uint64(len(r.b)) {
		r.fail("%d %s, at most %d can be", v, what, min(limit, len(r.b)))
		return 0
	}
	return int(v)
}

// number reads a number below limit.
func (r *blob) number(what string, limit int) int {
	v := r.uvarint()
	if v >= uint64(limit) {
		r.fail("%s is %d, below %d is right", what, v, limit)
		return 0
	}
	return int(v)
}

func (r *blob) text(what string) string {
	s := string(r.take(r.count("bytes of "+what, len(r.b))))
	if !utf8.ValidString(s) {
		r.fail("%s is not UTF-8", what)
	}
	return s
}

func appendUvarint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

func appendSvarint(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v<<1)^uint64(v>>63))
}

func appendWide(dst []byte, v Int128) []byte {
	sign := uint64(v.Hi >> 63)
	hi, lo := (uint64(v.Hi)<<1|v.Lo>>63)^sign, v.Lo<<1^sign
	for hi > 0 || lo >= 0x80 {
		dst = append(dst, byte(lo)|0x80)
		lo, hi = lo>>7|hi<<57, hi>>7
	}
	return append(dst, byte(lo))
}

// appendDouble writes the bytes of a double in reverse as a varint: doubles that people mean end in zeros.
func appendDouble(dst []byte, word int64) []byte {
	return binary.AppendUvarint(dst, bits.ReverseBytes64(uint64(word)))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

package window

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
	ErrVersion = errors.New("window: blob of an unknown version")
	// ErrMalformed says that the blob breaks a rule of COLUMNS.md.
	ErrMalformed = errors.New("window: malformed blob")
	// ErrDictionary says that the blob refers to a dictionary that was not found.
	ErrDictionary = errors.New("window: dictionary not found")
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
	if v := r.u8(); r.err == nil && v != known {
		r.err = fmt.Errorf("%w: %d, this program knows version %d", ErrVersion, v, known)
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

func (r *blob) u8() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// take returns the next n bytes, or nothing and fails.
func (r *blob) take(n int) []byte {
	if n > len(r.b) {
		r.fail("bytes are missing")
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

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

// gap reads the next number of an ascending list below limit; previous is −1 before the first.
func (r *blob) gap(what string, previous, limit int) int {
	return previous + 1 + r.number(what, limit-previous-1)
}

func (r *blob) text(what string) string {
	s := string(r.take(r.count("bytes of "+what, len(r.b))))
	if !utf8.ValidString(s) {
		r.fail("%s is not UTF-8", what)
	}
	return s
}

// double reads a double's bits, or the XOR of two.
func (r *blob) double() int64 { return int64(bits.ReverseBytes64(r.uvarint())) }

func appendUvarint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

func appendSvarint(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v<<1)^uint64(v>>63))
}

// appendDouble writes the bytes of a double in reverse as a varint: doubles that people mean end in zeros.
func appendDouble(dst []byte, word int64) []byte {
	return binary.AppendUvarint(dst, bits.ReverseBytes64(uint64(word)))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendGap appends the next number of an ascending list.
func appendGap(dst []byte, previous, number int32) []byte {
	return appendUvarint(dst, uint64(number-previous-1))
}

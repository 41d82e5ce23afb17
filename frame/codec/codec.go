// Package codec reads and writes the numbers and texts that stored blobs are made of. Begin with
// Reader. It imports none of our packages.
//
// What it promises: a Reader takes hostile bytes. It checks every length against what is there,
// allocates in proportion to the input, and keeps the first error.
package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// Errors are what a format's errors wrap.
type Errors struct {
	Version   error // a newer program wrote the blob
	Malformed error // it breaks a rule of its format
}

// Reader walks a blob. After the first error every read gives zero values and nothing is left, so
// callers check once per element.
type Reader struct {
	Rest []byte // what is not read yet
	Err  error  // wraps one of Errors
	errs *Errors
}

// New returns a Reader of b.
func New(b []byte, errs *Errors) Reader { return Reader{Rest: b, errs: errs} }

// Fail makes the blob malformed.
func (r *Reader) Fail(format string, args ...any) {
	if r.Err == nil {
		r.Err = fmt.Errorf("%w: %s", r.errs.Malformed, fmt.Sprintf(format, args...))
		r.Rest = nil
	}
}

// Version reads the blob's version, which must be the known one.
func (r *Reader) Version(known byte) {
	if v := r.Byte(); r.Err == nil && v != known {
		r.Err = fmt.Errorf("%w: %d, this program knows version %d", r.errs.Version, v, known)
		r.Rest = nil
	}
}

// Done returns the error, which bytes left over are, too.
func (r *Reader) Done() error {
	if len(r.Rest) > 0 {
		r.Fail("%d bytes after the end", len(r.Rest))
	}
	return r.Err
}

// Uvarint reads an unsigned varint (LEB128).
func (r *Reader) Uvarint() uint64 {
	if len(r.Rest) > 0 && r.Rest[0] < 0x80 {
		v := r.Rest[0]
		r.Rest = r.Rest[1:]
		return uint64(v)
	}
	return r.longUvarint()
}

func (r *Reader) longUvarint() uint64 {
	v, n := binary.Uvarint(r.Rest)
	if n <= 0 {
		r.Fail("a varint does not end or exceeds 64 bits")
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

// UvarintAt reads the unsigned varint that begins at, for loops that cannot afford a Reader. It
// returns where the next one begins, or a place beyond b if there is none.
func UvarintAt(b []byte, at int) (uint64, int) {
	if at < len(b) && b[at] < 0x80 {
		return uint64(b[at]), at + 1
	}
	return longUvarintAt(b, at)
}

func longUvarintAt(b []byte, at int) (uint64, int) {
	if at < len(b) {
		if v, n := binary.Uvarint(b[at:]); n > 0 {
			return v, at + n
		}
	}
	return 0, len(b) + 1
}

// Svarint reads a signed one, zigzag.
func (r *Reader) Svarint() int64 {
	v := r.Uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// Take returns the next n bytes, or nothing and fails.
func (r *Reader) Take(n int) []byte {
	if n > len(r.Rest) {
		r.Fail("bytes are missing")
		return nil
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b
}

// Count reads a number of elements that take at least one byte each, so that what is allocated
// for them is bounded by the input.
func (r *Reader) Count(what string, limit int) int {
	v := r.Uvarint()
	if v > uint64(limit) || v > uint64(len(r.Rest)) {
		r.Fail("%d %s, at most %d can be", v, what, min(limit, len(r.Rest)))
		return 0
	}
	return int(v)
}

// Number reads a number below limit.
func (r *Reader) Number(what string, limit int) int {
	v := r.Uvarint()
	if v >= uint64(limit) {
		r.Fail("%s is %d, below %d is right", what, v, limit)
		return 0
	}
	return int(v)
}

// Gap reads the next number of an ascending list below limit; previous is −1 before the first.
func (r *Reader) Gap(what string, previous, limit int) int {
	return previous + 1 + r.Number(what, limit-previous-1)
}

// Text reads UTF-8 behind its length.
func (r *Reader) Text(what string) string {
	s := string(r.Take(r.Count("bytes of "+what, len(r.Rest))))
	if !utf8.ValidString(s) {
		r.Fail("%s is not UTF-8", what)
	}
	return s
}

// Double reads a double's bits, or the XOR of two.
func (r *Reader) Double() int64 { return int64(bits.ReverseBytes64(r.Uvarint())) }

// AppendUvarint writes what Uvarint reads.
func AppendUvarint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

// AppendSvarint writes what Svarint reads.
func AppendSvarint(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v<<1)^uint64(v>>63))
}

// AppendDouble writes the bytes of a double in reverse as a varint: doubles that people mean end
// in zeros.
func AppendDouble(dst []byte, word int64) []byte {
	return binary.AppendUvarint(dst, bits.ReverseBytes64(uint64(word)))
}

// AppendText writes what Text reads.
func AppendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// AppendGap appends the next number of an ascending list.
func AppendGap(dst []byte, previous, number int32) []byte {
	return AppendUvarint(dst, uint64(number-previous-1))
}

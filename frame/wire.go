package frame

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

// reader walks hostile bytes. The first error sticks and every later read gives zero values, so
// callers check once per element.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", err, fmt.Sprintf(format, args...))
		r.b = nil
	}
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	switch {
	case n <= 0:
		r.fail(ErrMalformed, "a varint does not end or exceeds 64 bits")
		return 0
	case n > 1 && r.b[n-1] == 0:
		r.fail(ErrMalformed, "a varint is not in its shortest form")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// passOver passes over n varints.
func (r *reader) passOver(n int) {
	for n >= 8 && len(r.b) >= 8 { // eight bytes end eight varints at most
		n -= bits.OnesCount64(^binary.LittleEndian.Uint64(r.b) & 0x8080808080808080)
		r.b = r.b[8:]
	}
	for i, b := range r.b {
		if n == 0 {
			r.b = r.b[i:]
			return
		}
		if b < 0x80 {
			n--
		}
	}
	if r.b = nil; n > 0 {
		r.fail(ErrMalformed, "bytes are missing")
	}
}

func (r *reader) svarint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) u8() byte {
	if len(r.b) < 1 {
		r.fail(ErrMalformed, "bytes are missing")
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) u32() uint32 {
	if len(r.b) < 4 {
		r.fail(ErrMalformed, "bytes are missing")
		return 0
	}
	v := binary.LittleEndian.Uint32(r.b)
	r.b = r.b[4:]
	return v
}

func (r *reader) double() float64 {
	if len(r.b) < 8 {
		r.fail(ErrMalformed, "bytes are missing")
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	if v != v {
		r.fail(ErrMalformed, "a value is NaN")
	}
	return v
}

// count reads a number of elements that take at least perElement bytes each, so that what is
// allocated for them is bounded by the input.
func (r *reader) count(what string, limit, perElement int) int {
	v := r.uvarint()
	if v > uint64(limit) {
		r.fail(ErrTooLarge, "%d %s where %d are allowed", v, what, limit)
		return 0
	}
	if v > uint64(len(r.b)/perElement) {
		r.fail(ErrMalformed, "%d %s announced, %d bytes left", v, what, len(r.b))
		return 0
	}
	return int(v)
}

func (r *reader) text(what string, limit int) string {
	n := r.count("bytes of "+what, limit, 1)
	s := string(r.b[:n])
	r.b = r.b[n:]
	if !utf8.ValidString(s) {
		r.fail(ErrMalformed, "%s is not UTF-8", what)
	}
	return s
}

// gap reads the next number of an ascending list below limit; previous is -1 before the first.
func (r *reader) gap(what string, previous, limit int) int {
	v := r.uvarint()
	if v >= uint64(limit) || previous+1+int(v) >= limit {
		r.fail(ErrMalformed, "%s beyond the %d there are", what, limit)
		return 0
	}
	return previous + 1 + int(v)
}

func appendUvarint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

func appendSvarint(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v<<1)^uint64(v>>63))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendGaps appends an index list without its count.
func appendGaps(dst []byte, list []int) []byte {
	previous := -1
	for _, i := range list {
		dst = appendUvarint(dst, uint64(i-previous-1))
		previous = i
	}
	return dst
}

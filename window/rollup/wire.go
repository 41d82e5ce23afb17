package rollup

import (
	"errors"

	"github.com/ringwatch/ringwatch/frame/codec"
)

// Why a stored blob could not be read.
var (
	// ErrVersion says that a newer program wrote the blob.
	ErrVersion = errors.New("rollup: blob of an unknown version")
	// ErrMalformed says that the blob breaks a rule of FORMAT.md.
	ErrMalformed = errors.New("rollup: malformed blob")
)

// reader reads the blobs of FORMAT.md.
type reader struct{ codec.Reader }

var blobErrors = codec.Errors{Version: ErrVersion, Malformed: ErrMalformed}

func read(b []byte) reader { return reader{codec.New(b, &blobErrors)} }

// wide reads an svarint of up to 128 bits.
func (r *reader) wide() Int128 {
	var hi, lo uint64
	for shift := uint(0); ; shift += 7 {
		b := r.Take(1)
		if r.Err != nil {
			return Int128{}
		}
		v := uint64(b[0] & 0x7f)
		if shift > 126 || shift == 126 && v > 3 {
			r.Fail("a varint exceeds 128 bits")
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

func appendWide(dst []byte, v Int128) []byte {
	sign := uint64(v.Hi >> 63)
	hi, lo := (uint64(v.Hi)<<1|v.Lo>>63)^sign, v.Lo<<1^sign
	for hi > 0 || lo >= 0x80 {
		dst = append(dst, byte(lo)|0x80)
		lo, hi = lo>>7|hi<<57, hi>>7
	}
	return append(dst, byte(lo))
}

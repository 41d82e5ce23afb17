package reply

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Deflated is text that is kept deflated, in such a way that deflated and plain texts, in any
// order, are one gzip member: its blocks end on a byte and refer to nothing before them. Members
// after one another would be a gzip file, too, but many HTTP clients stop after the first.
type Deflated struct {
	blocks []byte
	size   int64  // of the text
	check  uint32 // CRC-32 of the text
	shift  uint32 // what a CRC-32 is multiplied by when the text comes after it
}

// deflateLevel is what makes answers small for little: of a node's JSON it leaves 5.6 % in 2 ms,
// level 1 6.8 % in 0.5 ms, level 9 5.4 % in 30 ms.
const deflateLevel = 6

var deflaters = sync.Pool{New: func() any {
	z, err := flate.NewWriter(io.Discard, deflateLevel)
	if err != nil {
		panic(err) // constant level
	}
	return z
}}

// Deflate deflates a text.
func Deflate(text []byte) Deflated {
	var b bytes.Buffer
	b.Grow(len(text)/16 + 64)
	z := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(z)
	z.Reset(&b)
	_, _ = z.Write(text) // into memory
	_ = z.Flush()
	return Deflated{blocks: bytes.Clone(b.Bytes()), size: int64(len(text)),
		check: crc32.ChecksumIEEE(text), shift: crcShift(int64(len(text)))}
}

// Bytes returns what is kept of it.
func (d *Deflated) Bytes() int { return len(d.blocks) }

var inflaters = sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}

// joiner writes an answer that is put together from deflated and plain texts: as one gzip member,
// or inflated for who takes none.
type joiner struct {
	w     *bufio.Writer
	plain bool
	begun bool
	size  int64
	check uint32
}

// joinBuffers are what answers are collected in before they go to the network: few and large
// writes.
var joinBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 128<<10) }}

func newJoiner(w io.Writer, plain bool) *joiner {
	b := joinBuffers.Get().(*bufio.Writer)
	b.Reset(w)
	return &joiner{w: b, plain: plain}
}

// gzipHeader is that of a member without a name or a time.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

func (j *joiner) begin() {
	if !j.begun && !j.plain {
		_, _ = j.w.Write(gzipHeader) // errors stay in the buffer and come back from the next call
	}
	j.begun = true
}

// stored is how much text a deflate block can hold as it is.
const stored = 1<<16 - 1

// Write adds text as it is: it is what stands between deflated ones, a hundred bytes or so.
func (j *joiner) Write(text []byte) (int, error) {
	j.begin()
	if j.plain {
		return j.w.Write(text)
	}
	for rest := text; len(rest) > 0; {
		n := min(len(rest), stored)
		var head [5]byte // not the last block, stored, on a byte's boundary
		binary.LittleEndian.PutUint16(head[1:], uint16(n))
		binary.LittleEndian.PutUint16(head[3:], ^uint16(n))
		_, _ = j.w.Write(head[:])
		if _, err := j.w.Write(rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	j.check = crc32.Update(j.check, crc32.IEEETable, text)
	j.size += int64(len(text))
	return len(text), nil
}

func (j *joiner) add(d *Deflated) error {
	j.begin()
	if j.plain {
		r := inflaters.Get().(io.Reader)
		defer inflaters.Put(r)
		if err := r.(flate.Resetter).Reset(io.MultiReader(bytes.NewReader(d.blocks),
			bytes.NewReader(lastBlock)), nil); err != nil {
			return err
		}
		_, err := io.Copy(j.w, r)
		return err
	}
	j.check = crcMultiply(d.shift, j.check) ^ d.check
	j.size += d.size
	_, err := j.w.Write(d.blocks)
	return err
}

// lastBlock ends a deflate stream.
var lastBlock = []byte{3, 0}

func (j *joiner) end() {
	if j.begin(); !j.plain {
		b := append([]byte(nil), lastBlock...)
		b = binary.LittleEndian.AppendUint32(b, j.check)
		b = binary.LittleEndian.AppendUint32(b, uint32(j.size))
		_, _ = j.w.Write(b)
	}
	_ = j.w.Flush()
	j.w.Reset(nil)
	joinBuffers.Put(j.w)
	j.w = nil
}

// CRC-32s are polynomials over GF(2) modulo crc32.IEEE, the lowest power in the highest bit. The
// CRC-32 of two texts one after the other is that of the first times x to the power of the
// second's bits, plus that of the second.

const crcOne = 1 << 31

func crcMultiply(a, b uint32) (product uint32) {
	for bit := uint32(crcOne); bit != 0 && a != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
			a ^= bit
		}
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}

// crcShift returns x to the power of a number of bytes' bits.
func crcShift(bytes int64) uint32 {
	result, square := uint32(crcOne), uint32(crcOne>>8) // x^8
	for ; bytes > 0; bytes >>= 1 {
		if bytes&1 != 0 {
			result = crcMultiply(square, result)
		}
		square = crcMultiply(square, square)
	}
	return result
}

package blobs

import (
	"math/bits"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window"
)

// appendTimes appends ascending instants of a window: a grid, and by how much each instant is off
// it.
func appendTimes(dst []byte, start int64, times []int64) []byte {
	n := int64(len(times))
	dst = codec.AppendUvarint(dst, uint64(n))
	if n == 0 {
		return dst
	}
	first := times[0] - start
	step := int64(1)
	if n > 1 { // the median, which lost passes do not bend
		gaps := make([]int64, 0, n-1)
		for i := int64(1); i < n; i++ {
			gaps = append(gaps, times[i]-times[i-1])
		}
		slices.Sort(gaps)
		step = gaps[len(gaps)/2]
	}
	dst = codec.AppendUvarint(codec.AppendUvarint(dst, uint64(first)), uint64(step))
	// Each instant is where the step after its predecessor leads, plus an offset.
	offsets, width := make([]uint64, 0, n), 0
	for i := int64(1); i < n; i++ {
		d := times[i] - times[i-1] - step
		z := uint64(d<<1) ^ uint64(d>>63)
		offsets = append(offsets, z)
		width = max(width, bits.Len64(z))
	}
	varints := 0
	for _, z := range offsets {
		varints += (bits.Len64(z|1) + 6) / 7
	}
	if packed := (len(offsets)*width + 7) / 8; packed > varints {
		dst = append(dst, timesVarint)
		for _, z := range offsets {
			dst = codec.AppendUvarint(dst, z)
		}
		return dst
	}
	dst = append(dst, byte(width))
	return appendPacked(dst, offsets, width)
}

// timesVarint stands where the width does if the offsets are varints.
const timesVarint = 255

// maxOffsetBits is the widest offset: twice the longest window's length in zigzag.
const maxOffsetBits = 23

// times reads the instants of the window that begins at start.
func (r *reader) times(start, length int64) []int64 {
	n := r.Uvarint()
	if n == 0 || r.Err != nil {
		return nil
	}
	// an hour has what its windows have
	if most := window.MaxInstants * max(1, uint64(length)/uint64(frame.WindowMillis)); n > most {
		r.Fail("%d instants, %d are allowed", n, most)
		return nil
	}
	first := r.Number("the first instant", int(length))
	step := int64(r.Number("the step", int(length)+1))
	width := int(r.Byte())
	var packed []byte
	switch {
	case width == timesVarint:
		if int(n)-1 > len(r.Rest) {
			r.Fail("offsets are missing")
		}
	case width > maxOffsetBits:
		r.Fail("offsets of %d bits", width)
	default:
		packed = r.Take(((int(n)-1)*width + 7) / 8)
	}
	if r.Err != nil {
		return nil
	}
	times := make([]int64, n)
	times[0] = start + int64(first)
	var acc uint64 // packed bits that are not used yet
	have := 0
	for i := 1; i < len(times); i++ {
		var z uint64
		if width == timesVarint {
			z = r.Uvarint()
		} else {
			for ; have < width; have += 8 {
				acc |= uint64(packed[0]) << have
				packed = packed[1:]
			}
			z = acc & (1<<width - 1)
			acc >>= width
			have -= width
		}
		d := step + (int64(z>>1) ^ -int64(z&1))
		times[i] = times[i-1] + d
		if d < 1 || d > length || times[i]-start >= length {
			r.Fail("instants do not rise or leave the window")
			return nil
		}
	}
	return times
}

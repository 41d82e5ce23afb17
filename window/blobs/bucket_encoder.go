package blobs

import "github.com/ringwatch/ringwatch/frame/codec"

// maxZeros is how many buckets that do not differ may stand in a run of buckets that do. Each
// takes a byte, and another run takes two.
const maxZeros = 3

// appendBuckets appends the Buckets of a piece: first, per change, which buckets differ, in runs,
// and then by how much. The last one's difference follows from the count's.
func (e *partEncoder) appendBuckets(dst []byte, p piece) []byte {
	from, to := e.cut(p)
	if from == to {
		return append(dst, 0)
	}
	first, _ := e.column.ChangesOf(from)
	_, end := e.column.ChangesOf(to - 1)
	places := e.scratch[:0]
	for k := first; k < end; k++ {
		places = e.appendRuns(places, k)
	}
	e.scratch = places
	signed := e.signed(first, end)
	head := uint64(len(places)) << 1
	if signed {
		head |= 1
	}
	dst = append(codec.AppendUvarint(dst, head), places...)
	for k := first; k < end; k++ {
		dst = e.appendCounts(dst, k, signed)
	}
	return dst
}

// runEnd returns where the run of buckets that begins with difference i ends.
func (e *partEncoder) runEnd(i, end int) int {
	for i++; i < end && e.column.Bucket[i]-e.column.Bucket[i-1] <= maxZeros+1; i++ {
	}
	return i
}

// appendRuns appends which buckets differ at a change: how many runs, and of each the buckets
// between it and the one before, and its length less 1.
func (e *partEncoder) appendRuns(dst []byte, change int) []byte {
	from, end := e.column.BucketsOf(change)
	runs := uint64(0)
	for i := from; i < end; i = e.runEnd(i, end) {
		runs++
	}
	dst = codec.AppendUvarint(dst, runs)
	previous := int32(-1)
	for i := from; i < end; {
		to := e.runEnd(i, end)
		dst = codec.AppendGap(dst, previous, int32(e.column.Bucket[i]))
		previous = int32(e.column.Bucket[to-1])
		dst = codec.AppendUvarint(dst, uint64(previous)-uint64(e.column.Bucket[i]))
		i = to
	}
	return dst
}

// signed reports whether a difference of the changes first … end−1 is negative.
func (e *partEncoder) signed(first, end int) bool {
	from, _ := e.column.BucketsOf(first)
	_, to := e.column.BucketsOf(end - 1)
	for _, n := range e.column.Count[from:to] {
		if n < 0 {
			return true
		}
	}
	return false
}

// appendCounts appends the differences of a change's runs, zeros among them, but for the last.
func (e *partEncoder) appendCounts(dst []byte, change int, signed bool) []byte {
	from, end := e.column.BucketsOf(change)
	for i := from; i < end-1; i++ {
		if signed {
			dst = codec.AppendSvarint(dst, e.column.Count[i])
		} else {
			dst = codec.AppendUvarint(dst, uint64(e.column.Count[i]))
		}
		if zeros := e.column.Bucket[i+1] - e.column.Bucket[i] - 1; zeros <= maxZeros {
			for range zeros {
				dst = append(dst, 0)
			}
		}
	}
	return dst
}

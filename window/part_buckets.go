package window

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
	first, _ := e.column.changes(from)
	_, end := e.column.changes(to - 1)
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
	for i++; i < end && e.column.bucket[i]-e.column.bucket[i-1] <= maxZeros+1; i++ {
	}
	return i
}

// appendRuns appends which buckets differ at a change: how many runs, and of each the buckets
// between it and the one before, and its length less 1.
func (e *partEncoder) appendRuns(dst []byte, change int) []byte {
	from, end := e.column.buckets(change)
	runs := uint64(0)
	for i := from; i < end; i = e.runEnd(i, end) {
		runs++
	}
	dst = codec.AppendUvarint(dst, runs)
	previous := int32(-1)
	for i := from; i < end; {
		to := e.runEnd(i, end)
		dst = codec.AppendGap(dst, previous, int32(e.column.bucket[i]))
		previous = int32(e.column.bucket[to-1])
		dst = codec.AppendUvarint(dst, uint64(previous)-uint64(e.column.bucket[i]))
		i = to
	}
	return dst
}

// signed reports whether a difference of the changes first … end−1 is negative.
func (e *partEncoder) signed(first, end int) bool {
	from, _ := e.column.buckets(first)
	_, to := e.column.buckets(end - 1)
	for _, n := range e.column.count[from:to] {
		if n < 0 {
			return true
		}
	}
	return false
}

// appendCounts appends the differences of a change's runs, zeros among them, but for the last.
func (e *partEncoder) appendCounts(dst []byte, change int, signed bool) []byte {
	from, end := e.column.buckets(change)
	for i := from; i < end-1; i++ {
		if signed {
			dst = codec.AppendSvarint(dst, e.column.count[i])
		} else {
			dst = codec.AppendUvarint(dst, uint64(e.column.count[i]))
		}
		if zeros := e.column.bucket[i+1] - e.column.bucket[i] - 1; zeros <= maxZeros {
			for range zeros {
				dst = append(dst, 0)
			}
		}
	}
	return dst
}

// buckets reads the Buckets of a piece, whose Values were read last and began with change from.
func (r *pieceReader) buckets(from int) {
	o := &r.column.out
	size := r.column.m.Buckets()
	head := r.in.Uvarint()
	if head>>1 > uint64(len(r.in.Rest)) {
		r.in.Fail("bytes are missing")
		return
	}
	places, counts := r.in.Take(int(head>>1)), r.in.Rest
	ends, list, differences := o.bucketEnd, o.bucket, o.count
	at, next := 0, 0 // in places and in counts
	for k := from; k < len(o.totals); k++ {
		var runs uint64
		runs, at = codec.UvarintAt(places, at)
		left := o.totals[k] // what the change's last bucket gets
		if runs == 0 && (left != 0 || o.words[k] == 0) {
			r.in.Fail("a change of no bucket")
			return
		}
		bucket := 0
		for ; runs > 0; runs-- {
			var gap, more uint64
			gap, at = codec.UvarintAt(places, at)
			more, at = codec.UvarintAt(places, at)
			if gap >= uint64(size-bucket) || more >= uint64(size-bucket)-gap || at > len(places) {
				r.in.Fail("a bucket beyond the last, or bytes are missing")
				return
			}
			bucket += int(gap)
			end := bucket + int(more)
			for ; bucket <= end; bucket++ {
				count := left
				if runs > 1 || bucket < end {
					var u uint64
					if next < len(counts) && counts[next] < 0x80 {
						u = uint64(counts[next])
						next++
					} else {
						u, next = codec.UvarintAt(counts, next)
					}
					if count = int64(u); head&1 == 1 {
						count = int64(u>>1) ^ -int64(u&1)
					}
					if left -= count; count == 0 {
						continue
					}
				}
				list, differences = append(list, uint16(bucket)), append(differences, count)
			}
			if next > len(counts) || left == 0 && runs == 1 {
				r.in.Fail("a bucket that does not change, or bytes are missing")
				return
			}
		}
		ends = append(ends, int32(len(list)))
	}
	if at != len(places) {
		r.in.Fail("places of no change")
		return
	}
	o.bucketEnd, o.bucket, o.count = ends, list, differences
	r.in.Rest = counts[next:]
}

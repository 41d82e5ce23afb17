package blobs

import "github.com/ringwatch/ringwatch/frame/codec"

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
	ends, list, differences := o.BucketEnd, o.Bucket, o.Count
	at, next := 0, 0 // in places and in counts
	for k := from; k < len(o.Totals); k++ {
		var runs uint64
		runs, at = codec.UvarintAt(places, at)
		remaining := o.Totals[k] // what the change's last bucket gets
		if runs == 0 && (remaining != 0 || o.Words[k] == 0) {
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
				count := remaining
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
					if remaining -= count; count == 0 {
						continue
					}
				}
				list, differences = append(list, uint16(bucket)), append(differences, count)
			}
			if next > len(counts) || remaining == 0 && runs == 1 {
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
	o.BucketEnd, o.Bucket, o.Count = ends, list, differences
	r.in.Rest = counts[next:]
}

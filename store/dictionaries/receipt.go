package dictionaries

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/window"
)

// A node has some 40 dictionaries, in its day's partition of series and in each rollup's partition
// again. They hardly ever change, so closing a window writes only those that are missing. A process
// remembers those that it has written itself. For those that others wrote, or that it forgot, it
// asks Cassandra once a partition: it reads the receipt.
//
// The receipt is a row beside the dictionaries that names those a quorum has acknowledged; it is
// written after that. The rows themselves would prove less: with read repair off a quorum read also
// finds a row that a process which died left on one replica, and the next read may miss it.
//
// What a receipt names lives long enough. A partition's dictionaries are written with one time to
// live (series: RawTTL and a day; rollups: the table's TTL and the partition's length), none before
// the partition begins, so that they outlive what is answered of its last window. A receipt of a
// shorter time to live, from before somebody raised it, does not count. If a receipt is lost, or
// two processes replace each other's, dictionaries are written once more, which does no harm.

func compareHashes(a, b window.Hash) int { return slices.Compare(a[:], b[:]) }

// receiptVersion begins a receipt; the time to live in seconds as a varint and the hashes follow.
const receiptVersion = 1

func appendReceipt(dst []byte, ttl int64, known []window.Hash) []byte {
	dst = binary.AppendUvarint(append(dst, receiptVersion), uint64(ttl))
	for _, h := range known {
		dst = append(dst, h[:]...)
	}
	return dst
}

// receiptOf returns what a receipt names, in order; nil if it is none that counts.
func receiptOf(b []byte, ttl int64) []window.Hash {
	if len(b) == 0 || b[0] != receiptVersion {
		return nil
	}
	lives, n := binary.Uvarint(b[1:])
	if n <= 0 || lives < uint64(ttl) {
		return nil
	}
	b = b[1+n:]
	size := len(window.Hash{})
	if len(b)%size != 0 {
		return nil
	}
	known := make([]window.Hash, 0, len(b)/size)
	for ; len(b) > 0; b = b[size:] {
		known = append(known, window.Hash(b[:size]))
	}
	slices.SortFunc(known, compareHashes)
	return known
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

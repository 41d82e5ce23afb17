package store

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// A partition of v3_raw holds the windows of one node in one bucket. How long a bucket is follows from what the node's windows have been weighing, so that
// partitions are of 2 to 10 MiB; the table v3_buckets says which buckets a node has.
//
// Buckets are 2^k windows long and begin at a multiple of their length, so two of them are apart or one lies within the other. A row of v3_buckets never
// changes; it is written again every hour of its bucket. When a node outgrows a bucket, a shorter one within it is added, and from then on windows are written there: a window is written to the shortest bucket
// that holds it, and read from all of them, where the newest reading of its frames counts. So nothing has to be agreed upon, and nothing moves.
const (
	targetBytes   = 6 << 20        // buckets of 2^k windows come to between half of it and all of it
	largestBytes  = 10 << 20       // a bucket that is going to hold more is divided
	maxBucket     = 1 << 12        // windows: 14 days
	newNodeBucket = 1 << 3         // windows: of a node whose weight is not known yet
	history       = 288            // windows, a day, whose mean weight decides
	renewBucket   = 12             // windows, an hour, after which a bucket's row is written again
	rowBytes      = 40             // of a row beside its texts and its blob, in an SSTable
	bucketSlack   = 24 * time.Hour // how much longer than the bucket's last window its row lives
	windowMillis  = int64(frame.WindowMillis)
)

// bucket is where windows start … start + length − 1 of a node may be.
type bucket struct {
	start  int64
	length int64 // milliseconds
}

func (b bucket) holds(window int64) bool { return window >= b.start && window < b.start+b.length }

// bucketAt returns the bucket of so many windows that holds a window.
func bucketAt(window int64, windows int) bucket {
	length := int64(windows) * windowMillis
	return bucket{window - mod(window, length), length}
}

// windowsFor returns how many windows of a weight a bucket should have.
func windowsFor(bytes int) int {
	n := max(1, targetBytes/max(1, bytes))
	return min(maxBucket, 1<<(bits.Len(uint(n))-1))
}

// sizeOf returns what a window weighs in its partition, before compression.
func sizeOf(enc *window.Encoded) int {
	size := len(enc.Meta) + rowBytes
	for _, c := range enc.Columns {
		size += len(c.Blob) + len(c.Key) + len(c.Metric) + rowBytes
	}
	return size
}

// buckets returns the node's buckets that hold any of the windows from … to.
func (g v3) buckets(ctx context.Context, account string, node uuid.UUID, from, to int64) ([]bucket, error) {
	var list []bucket
	err := g.each(ctx, func(scan func(...any) bool) bool {
		var b bucket
		if !scan(&b.start, &b.length) {
			return false
		}
		if b.start+b.length > from {
			list = append(list, b)
		}
		return true
	}, "SELECT start, length FROM "+g.table(bucketTable)+" WHERE account = ? AND node = ? AND start >= ? AND start <= ?",
		account, gocql.UUID(node), from-maxBucket*windowMillis, to)
	return list, err
}

// partitionsOf returns the buckets' starts, each once: buckets of different lengths that begin together share a partition.
func partitionsOf(list []bucket) []int64 {
	var starts []int64
	for _, b := range list {
		starts = append(starts, b.start)
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

// bucketFor returns the start of the bucket that a window of so many bytes is written to. It adds a row to v3_buckets if none holds the window or the one
// that does is going to be too large.
func (g v3) bucketFor(ctx context.Context, w *window.Window, bytes int) (int64, error) {
	known, err := g.buckets(ctx, w.Node.Account, w.Node.ID, w.Start-maxBucket*windowMillis, w.Start)
	if err != nil {
		return 0, err
	}
	holding := slices.DeleteFunc(slices.Clone(known), func(b bucket) bool { return !b.holds(w.Start) })
	if len(holding) == 0 {
		weights, err := g.lastWeights(ctx, w, known)
		if err != nil {
			return 0, err
		}
		n := windowsFor(mean(append(weights, bytes)))
		if len(weights) < 6 { // its first window may be the end of one
			n = min(n, newNodeBucket)
		}
		return g.addBucket(ctx, w, bucketAt(w.Start, n))
	}
	b := slices.MinFunc(holding, func(a, b bucket) int { return cmp.Compare(a.length, b.length) })
	if (w.Start-b.start)/windowMillis%renewBucket == 0 { // the row's life begins anew: the TTL may have become longer since it was written
		if _, err := g.addBucket(ctx, w, b); err != nil {
			return 0, err
		}
	}
	if b.length == windowMillis || int64(bytes)*(b.length/windowMillis) <= largestBytes {
		return b.start, nil
	}
	// At this window's weight the bucket would be too large. What is in it, and what is still to come?
	weights, err := g.weights(ctx, w, b.start, b.start, b.start+b.length-1)
	if err != nil {
		return 0, err
	}
	sum, ahead := 0, (b.start+b.length-w.Start)/windowMillis
	var recent []int
	for at, weight := range weights {
		sum += weight
		if at >= w.Start {
			return b.start, nil // it is a window's late frame: the newer windows decide
		}
		if at >= w.Start-6*windowMillis {
			recent = append(recent, weight)
		}
	}
	if int64(sum)+int64(bytes)*ahead <= largestBytes {
		return b.start, nil
	}
	shorter := bucketAt(w.Start, windowsFor(max(bytes, mean(append(recent, bytes)))))
	if shorter.length >= b.length || shorter.start == b.start {
		// A shorter bucket that begins with this one is the same partition: the one behind it will be its own.
		return b.start, nil
	}
	return g.addBucket(ctx, w, shorter)
}

func (g v3) addBucket(ctx context.Context, w *window.Window, b bucket) (int64, error) {
	return b.start, g.exec(ctx, "INSERT INTO "+g.table(bucketTable)+" (account, node, start, length) VALUES (?, ?, ?, ?)",
		w.Node.Account, gocql.UUID(w.Node.ID), b.start, b.length)
}

// lastWeights returns what the node's last windows before a window weighed, up to a day's.
func (g v3) lastWeights(ctx context.Context, w *window.Window, known []bucket) ([]int, error) {
	known = slices.Clone(known)
	slices.SortFunc(known, func(a, b bucket) int { return cmp.Compare(b.start+b.length, a.start+a.length) })
	var list []int
	for _, start := range partitionsInOrder(known) {
		weights, err := g.weights(ctx, w, start, w.Start-2*history*windowMillis, w.Start-1)
		if err != nil {
			return nil, err
		}
		for _, weight := range weights {
			list = append(list, weight)
		}
		if len(list) >= history {
			break
		}
	}
	return list, nil
}

// partitionsInOrder returns the buckets' starts in their order, each once.
func partitionsInOrder(list []bucket) []int64 {
	var starts []int64
	for _, b := range list {
		if !slices.Contains(starts, b.start) {
			starts = append(starts, b.start)
		}
	}
	return starts
}

// weights returns by window what the meta rows of a partition say of their windows' sizes.
func (g v3) weights(ctx context.Context, w *window.Window, bucket, from, to int64) (map[int64]int, error) {
	weights := map[int64]int{}
	err := g.each(ctx, func(scan func(...any) bool) bool {
		var at int64
		var bytes int
		if !scan(&at, &bytes) {
			return false
		}
		weights[at] = bytes
		return true
	}, "SELECT window, bytes FROM "+g.table(rawTable)+" WHERE account = ? AND node = ? AND bucket = ? AND entity_type = '' AND metric = '' AND window >= ? AND window <= ?",
		w.Node.Account, gocql.UUID(w.Node.ID), bucket, from, to)
	return weights, err
}

func mean(list []int) int {
	sum := 0
	for _, n := range list {
		sum += n
	}
	return sum / max(1, len(list))
}

package columns

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
)

// A partition of v3_hours holds the hours of one node in one bucket. How long a bucket is follows
// from what the node's hours have been weighing, so that partitions are of 8 to 40 MiB; the table
// v3_buckets says which buckets a node has.
//
// Buckets are 2^k hours long and begin at a multiple of their length, so two of them are apart or
// one lies within the other. A row of v3_buckets never changes; it is written again four times a
// day. When a node outgrows a bucket, a shorter one within it is added, and from then on hours are
// written there: an hour is written to the shortest bucket that holds it, and read from all of
// them, where the newest reading counts. So nothing has to be agreed upon, and nothing moves.
const (
	targetBytes   = 24 << 20       // buckets of 2^k hours come to between half of it and all of it
	largestBytes  = 40 << 20       // a bucket that is going to hold more is divided
	maxBucket     = 1 << 9         // hours: 21 days
	newNodeBucket = 1 << 3         // hours: of a node whose weight is not known yet
	history       = 24             // hours whose mean weight decides
	renewBucket   = 6              // hours after which a bucket's row is written again
	bucketSlack   = 24 * time.Hour // how much longer than the bucket's last hour its row lives
)

// bucket is where hours start … start + length − 1 of a node may be.
type bucket struct {
	start  int64
	length int64 // milliseconds
}

func (b bucket) holds(hour int64) bool { return hour >= b.start && hour < b.start+b.length }

// bucketAt returns the bucket of so many hours that holds an hour.
func bucketAt(hour int64, hours int) bucket {
	length := int64(hours) * window.HourMillis
	return bucket{calendar.Floor(hour, length), length}
}

// hoursFor returns how many hours of a weight a bucket should have.
func hoursFor(bytes int) int {
	n := max(1, targetBytes/max(1, bytes))
	return min(maxBucket, 1<<(bits.Len(uint(n))-1))
}

// buckets returns the node's buckets that hold any of the hours from … to.
func (g Generation) buckets(ctx context.Context, account string, node uuid.UUID,
	from, to int64) ([]bucket, error) {
	var list []bucket
	query := rows.Query{Table: g.tables.Buckets, Key: []any{account, node},
		From: from - maxBucket*window.HourMillis, To: to, Columns: []string{"start", "length"}}
	err := g.task.Engine.Read(ctx, g.task.Work, query, func(scan func(...any) bool) bool {
		var b bucket
		if !scan(&b.start, &b.length) {
			return false
		}
		if b.start+b.length > from {
			list = append(list, b)
		}
		return true
	})
	return list, err
}

// partitionsOf returns the buckets' starts, each once: buckets of different lengths that begin
// together share a partition.
func partitionsOf(list []bucket) []int64 {
	var starts []int64
	for _, b := range list {
		starts = append(starts, b.start)
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

// BucketFor returns the start of the bucket that an hour of about so many bytes is written to. It
// adds a row to v3_buckets if none holds the hour or the one that does is going to be too large.
func (g Generation) BucketFor(ctx context.Context, account string, node uuid.UUID, hour int64,
	bytes int) (int64, error) {
	add := func(b bucket) (int64, error) {
		return b.start, g.task.Engine.Put(ctx, g.task.Work, g.tables.Buckets,
			rows.Row{Key: []any{account, node, b.start, b.length}})
	}
	known, err := g.buckets(ctx, account, node, hour-maxBucket*window.HourMillis, hour)
	if err != nil {
		return 0, err
	}
	holding := slices.DeleteFunc(slices.Clone(known), func(b bucket) bool { return !b.holds(hour) })
	if len(holding) == 0 {
		weights, err := g.lastWeights(ctx, account, node, hour, known)
		if err != nil {
			return 0, err
		}
		n := hoursFor(mean(append(weights, bytes)))
		if len(weights) < 3 { // its first hour may be the end of one
			n = min(n, newNodeBucket)
		}
		return add(bucketAt(hour, n))
	}
	b := slices.MinFunc(holding, func(a, b bucket) int { return cmp.Compare(a.length, b.length) })
	// the row's life begins anew: the TTL may have become longer since it was written
	if (hour-b.start)/window.HourMillis%renewBucket == 0 {
		if _, err := add(b); err != nil {
			return 0, err
		}
	}
	if b.length == window.HourMillis || int64(bytes)*(b.length/window.HourMillis) <= largestBytes {
		return b.start, nil
	}
	// At this hour's weight the bucket would be too large. What is in it, and what is still to
	// come?
	weights, err := g.weights(ctx, account, node, b.start, b.start, b.start+b.length-1)
	if err != nil {
		return 0, err
	}
	sum, ahead := 0, (b.start+b.length-hour)/window.HourMillis
	var recent []int
	for at, weight := range weights {
		sum += weight
		if at >= hour {
			return b.start, nil // it is made again, or late: the newer hours decide
		}
		if at >= hour-3*window.HourMillis {
			recent = append(recent, weight)
		}
	}
	if int64(sum)+int64(bytes)*ahead <= largestBytes {
		return b.start, nil
	}
	shorter := bucketAt(hour, hoursFor(max(bytes, mean(append(recent, bytes)))))
	if shorter.length >= b.length || shorter.start == b.start {
		// A shorter bucket that begins with this one is the same partition: the one behind it will
		// be its own.
		return b.start, nil
	}
	return add(shorter)
}

// lastWeights returns what the node's last hours before an hour weighed, up to a day's.
func (g Generation) lastWeights(ctx context.Context, account string, node uuid.UUID, hour int64,
	known []bucket) ([]int, error) {
	known = slices.Clone(known)
	slices.SortFunc(known, func(a, b bucket) int {
		return cmp.Compare(b.start+b.length, a.start+a.length)
	})
	var list []int
	for _, start := range partitionsInOrder(known) {
		weights, err := g.weights(ctx, account, node, start, hour-2*history*window.HourMillis,
			hour-1)
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

// weights returns by hour what the head rows of a partition say of their hours' sizes.
func (g Generation) weights(ctx context.Context, account string, node uuid.UUID,
	bucket, from, to int64) (map[int64]int, error) {
	heads, err := g.task.Heads(ctx, []spans.Partition{
		spans.NewPartition(g.tables.Hours, account, node, bucket)}, from, to)
	weights := make(map[int64]int, len(heads))
	for at, h := range heads {
		if h.Damage == nil {
			weights[at] = int(h.Row.Bytes)
		}
	}
	return weights, err
}

func mean(list []int) int {
	sum := 0
	for _, n := range list {
		sum += n
	}
	return sum / max(1, len(list))
}

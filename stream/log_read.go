package stream

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Position is how far entries have been read: by partition the offset of the next one.
type Position map[int32]int64

// Read hands f every entry that was published before the call and is still kept, a partition's in
// order, and returns where to go on. partitions nil means all. An entry with a nil Value says that
// its key is gone. The first error of f ends it and is returned. It needs to write, too: it puts a
// mark behind the last entry of each partition and reads up to that, because a compacted partition
// may end with offsets that hold nothing.
func (l *Log) Read(ctx context.Context, partitions []int32, f func(Entry) error) (Position, error) {
	if partitions == nil {
		n, err := l.Partitions(ctx)
		if err != nil {
			return nil, err
		}
		for p := range n {
			partitions = append(partitions, p)
		}
	}
	if len(partitions) == 0 {
		return Position{}, nil
	}
	ends, err := l.mark(ctx, partitions)
	if err != nil {
		return nil, err
	}
	at := map[int32]kgo.Offset{}
	for _, p := range partitions {
		at[p] = kgo.NewOffset().AtStart()
	}
	reached := Position{}
	err = l.consume(ctx, at, func(r *kgo.Record) (bool, error) {
		if end := ends[r.Partition]; r.Offset >= end {
			reached[r.Partition] = end + 1
			return len(reached) < len(ends), nil
		}
		return true, l.hand(r, f)
	})
	return reached, err
}

// Last returns the last entry of each key of the partitions, nil meaning all, and where to go on.
// Keys that are gone are not in it. It is an error when the entries are larger than MaxLastBytes.
func (l *Log) Last(ctx context.Context, partitions []int32) ([]Entry, Position, error) {
	last := map[string]Entry{}
	size := int64(0)
	at, err := l.Read(ctx, partitions, func(e Entry) error {
		key := string(entryKey(e))
		if old, ok := last[key]; ok {
			size -= int64(len(key) + len(old.Value))
			delete(last, key)
		}
		if e.Value == nil {
			return nil
		}
		last[key] = e
		if size += int64(len(key) + len(e.Value)); size > l.log.MaxLastBytes {
			return fmt.Errorf("%w %s: the last entries of all keys have more than max_last_bytes, %d: "+
				"raise it, or read fewer partitions", ErrLog, l.log.Topic, l.log.MaxLastBytes)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	entries := make([]Entry, 0, len(last))
	for _, e := range last {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		return int(a.Offset - b.Offset)
	})
	return entries, at, nil
}

// Follow hands f every entry from a position on, as it is published, until ctx ends (then it
// returns nil) or f fails. A position comes from Read, Last or End. What Kafka no longer keeps is
// left out.
func (l *Log) Follow(ctx context.Context, from Position, f func(Entry) error) error {
	if len(from) == 0 {
		<-ctx.Done()
		return nil
	}
	at := map[int32]kgo.Offset{}
	for p, offset := range from {
		at[p] = kgo.NewOffset().At(offset)
	}
	err := l.consume(ctx, at, func(r *kgo.Record) (bool, error) { return true, l.hand(r, f) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// End returns the position behind everything that is published now, of all partitions if nil.
func (l *Log) End(ctx context.Context, partitions []int32) (Position, error) {
	ends, err := kadm.NewClient(l.client).ListEndOffsets(ctx, l.log.Topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("%w %s: Kafka does not say where its partitions end: %w", ErrLog, l.log.Topic, err)
	}
	at := Position{}
	ends.Each(func(o kadm.ListedOffset) {
		if partitions == nil || slices.Contains(partitions, o.Partition) {
			at[o.Partition] = o.Offset
		}
	})
	return at, nil
}

// hand gives f a record that is an entry. Marks are none, and neither is what others may write.
func (l *Log) hand(r *kgo.Record, f func(Entry) error) error {
	l.metrics.read.Inc()
	account, cluster, key, ok := splitEntryKey(r.Key)
	if !ok {
		return nil
	}
	return f(Entry{
		Account: account, Cluster: cluster, Key: key, Value: slices.Clone(r.Value),
		Partition: r.Partition, Offset: r.Offset, At: r.Timestamp,
	})
}

// consume reads from the given offsets on while f says so.
func (l *Log) consume(
	ctx context.Context, from map[int32]kgo.Offset, f func(*kgo.Record) (bool, error),
) error {
	client, err := l.config.client(l.slog, kgo.FetchMaxBytes(8<<20),
		kgo.FetchMaxPartitionBytes(1<<20), kgo.FetchMaxWait(500*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{l.log.Topic: from}))
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("%w %s: cannot be read: %w", ErrLog, l.log.Topic, err)
		}
		for _, r := range fetches.Records() {
			if more, err := f(r); err != nil || !more {
				return err
			}
		}
	}
}

// marks tells this process's marks apart.
var marks atomic.Int64

// mark writes a record behind the last one of each partition and returns its offsets. It has no
// value and one of few keys, so Kafka forgets all but the newest of them.
func (l *Log) mark(ctx context.Context, partitions []int32) (map[int32]int64, error) {
	var records []*kgo.Record
	key := []byte("mark-" + strconv.FormatInt(marks.Add(1)%8, 10))
	for _, p := range partitions {
		records = append(records, &kgo.Record{Key: key, Partition: p})
	}
	if err := l.publish(ctx, records); err != nil {
		return nil, err
	}
	ends := map[int32]int64{}
	for _, r := range records {
		ends[r.Partition] = r.Offset
	}
	return ends, nil
}

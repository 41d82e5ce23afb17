package stream

import (
	"context"
	"fmt"
	"slices"
)

// Position is how far entries have been read: by partition the offset of the next one.
type Position map[int32]int64

// Read hands f every entry that was published before the call and is still kept, a partition's in
// order, and returns where to go on. partitions nil means all. An entry with a nil Value says that
// its key is gone. The first error of f ends it and is returned.
func (l *Log) Read(ctx context.Context, partitions []int32, f func(Entry) error) (Position, error) {
	ends, err := l.to.Fence(ctx, partitions)
	if err != nil {
		return nil, fmt.Errorf("%w %s: cannot find where its partitions end: %w", ErrLog,
			l.log.Topic, err)
	}
	at := map[int32]int64{}
	for p := range ends {
		at[p] = 0
	}
	if err := l.read(ctx, Reading{At: at, Until: ends}, f); err != nil {
		return nil, err
	}
	return ends, nil
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
			return fmt.Errorf(
				"%w %s: the last entries of all keys have more than max_last_bytes, %d: "+
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
// returns nil) or f fails. A position comes from Read or Last. What is no longer kept is left out.
func (l *Log) Follow(ctx context.Context, from Position, f func(Entry) error) error {
	if len(from) == 0 {
		<-ctx.Done()
		return nil
	}
	err := l.read(ctx, Reading{At: from}, f)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// read hands f the messages that are entries. Others may be there, which are none of ours.
func (l *Log) read(ctx context.Context, r Reading, f func(Entry) error) error {
	if len(r.At) == 0 {
		return nil
	}
	r.Topic = l.log.Topic
	var stopped error
	err := l.engine.Read(ctx, r, func(m *Message) error {
		l.metrics.read.Inc()
		account, cluster, key, ok := splitEntryKey(m.Key)
		if !ok {
			return nil
		}
		stopped = f(Entry{
			Account: account, Cluster: cluster, Key: key, Value: slices.Clone(m.Value),
			Partition: m.Partition, Offset: m.Offset, At: m.Time,
		})
		return stopped
	})
	if err == nil || stopped != nil {
		return stopped
	}
	return fmt.Errorf("%w %s: cannot be read: %w", ErrLog, l.log.Topic, err)
}

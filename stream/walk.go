package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Walk says which records of one partition to read again, beside a consumer and without a group.
type Walk struct {
	Partition int32
	// the first record to read; BySince: the first that ingest took at or after Since
	Offset int64
	Since  time.Time // for BySince
	Until  int64     // the record to stop before
	// Wanted says by its cluster whether a record is handed on; the others cost reading, not
	// memory.
	Wanted func(account, cluster string) bool
}

// walkBatch bounds what is handed on at once, in records and in bytes.
const (
	walkBatch      = 256
	walkBatchBytes = 8 << 20
)

// Again reads records of a topic again and hands the wanted ones to f, in order and in batches; the
// values are f's to keep. It returns the first error of f, or why the topic could not be read until
// ctx ended. What is no longer kept is left out without an error.
func Again(ctx context.Context, e Engine, topic string, w Walk, f func([]Record) error) error {
	var batch []Record
	size := 0
	var stopped error
	hand := func() error {
		if len(batch) == 0 {
			return nil
		}
		stopped = f(batch)
		batch, size = nil, 0
		return stopped
	}
	r := Reading{Topic: topic, Since: w.Since,
		At: map[int32]int64{w.Partition: w.Offset}, Until: map[int32]int64{w.Partition: w.Until}}
	err := e.Read(ctx, r, func(m *Message) error {
		account, cluster, ok := splitKey(m.Key)
		if !ok || !w.Wanted(account, cluster) {
			return nil
		}
		batch = append(batch, record(m, account, cluster))
		if size += len(m.Value); len(batch) == walkBatch || size > walkBatchBytes {
			return hand()
		}
		return nil
	})
	switch {
	case stopped != nil:
		return stopped
	case err != nil:
		return fmt.Errorf("stream: cannot read partition %d of %s again: %w", w.Partition,
			topic, err)
	}
	return hand()
}

// Follow reads all partitions of a topic from the first record that ingest took at or after since,
// and goes on with what comes, until ctx ends or f fails. It joins no group and commits nothing, so
// it takes records from nobody.
//
// It calls f with one record at a time, in order within each partition. The value is f's to keep.
// If wanted refuses a record's cluster the record is read, and f is not called; a nil wanted takes
// all. Follow waits for an engine that is away. The error is ctx's, f's, or wraps ErrNoTopic.
func Follow(ctx context.Context, e Engine, topic string, since time.Time,
	wanted func(account, cluster string) bool, f func(Record) error) error {
	var stopped error
	err := e.Read(ctx, Reading{Topic: topic, Since: since}, func(m *Message) error {
		account, cluster, ok := splitKey(m.Key)
		if !ok || wanted != nil && !wanted(account, cluster) {
			return nil
		}
		stopped = f(record(m, account, cluster))
		return stopped
	})
	if err == nil || stopped != nil || ctx.Err() != nil || errors.Is(err, ErrNoTopic) {
		return err
	}
	return fmt.Errorf("stream: cannot read %s: %w", topic, err)
}

// record copies a message that is valid for a moment.
func record(m *Message, account, cluster string) Record {
	return Record{Account: account, Cluster: cluster, Partition: m.Partition, Offset: m.Offset,
		Received: m.Time, Value: slices.Clone(m.Value)}
}

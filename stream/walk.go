package stream

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Walk says which records of one partition to read again, beside a consumer and without a group.
type Walk struct {
	Partition int32
	Offset    int64     // the first record to read; -1: the first that ingest took at or after Since
	Since     time.Time // for Offset -1
	Until     int64     // the record to stop before
	// Wanted says by its cluster whether a record is handed on; the others cost reading, not memory.
	Wanted func(account, cluster string) bool
}

// walkBatch bounds what is handed on at once, in records and in bytes.
const (
	walkBatch      = 256
	walkBatchBytes = 8 << 20
)

// Walk reads the records and hands the wanted ones to f, in order and in batches; the values are f's to keep. It returns the first error of f, or why Kafka could
// not be read until ctx ended. What Kafka no longer keeps is left out without an error.
func (c Config) Walk(ctx context.Context, log *slog.Logger, w Walk, f func([]Record) error) error {
	client, err := c.client(log, kgo.FetchMaxBytes(8<<20), kgo.FetchMaxPartitionBytes(8<<20), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	start, err := walkStart(ctx, kadm.NewClient(client), c.Topic, w)
	if err != nil {
		return fmt.Errorf("stream: cannot find where to begin to read partition %d of %s again: %w", w.Partition, c.Topic, err)
	}
	if start >= w.Until {
		return nil
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{c.Topic: {w.Partition: kgo.NewOffset().At(start)}})
	var batch []Record
	size := 0
	for at := start; at < w.Until; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("stream: cannot read partition %d of %s again: %w", w.Partition, c.Topic, err)
		}
		for _, r := range fetches.Records() {
			if at = r.Offset + 1; r.Offset >= w.Until {
				break
			}
			account, cluster, ok := splitKey(r.Key)
			if !ok || !w.Wanted(account, cluster) {
				continue
			}
			batch = append(batch, Record{Account: account, Cluster: cluster, Partition: r.Partition, Offset: r.Offset, Received: r.Timestamp, Value: slices.Clone(r.Value)})
			if size += len(r.Value); len(batch) == walkBatch || size > walkBatchBytes {
				if err := f(batch); err != nil {
					return err
				}
				batch, size = nil, 0
			}
		}
	}
	if len(batch) > 0 {
		return f(batch)
	}
	return nil
}

// walkStart returns the offset to begin at: where Kafka still has something, and never beyond Until.
func walkStart(ctx context.Context, admin *kadm.Client, topic string, w Walk) (int64, error) {
	list, at := admin.ListStartOffsets, w.Offset
	if w.Offset < 0 {
		at = 0
		list = func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
			return admin.ListOffsetsAfterMilli(ctx, w.Since.UnixMilli(), topics...)
		}
	}
	listed, err := list(ctx, topic)
	if err != nil {
		return 0, err
	}
	l, ok := listed.Lookup(topic, w.Partition)
	if !ok {
		return 0, fmt.Errorf("the topic has no such partition")
	}
	if l.Err != nil {
		return 0, l.Err
	}
	return min(max(at, l.Offset), w.Until), nil
}

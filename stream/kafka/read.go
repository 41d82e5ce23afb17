package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/stream"
)

// Read implements stream.Engine.
func (k *Kafka) Read(ctx context.Context, r stream.Reading, f func(*stream.Message) error) error {
	opts := []kgo.Opt{kgo.FetchMaxBytes(8 << 20), kgo.FetchMaxPartitionBytes(8 << 20),
		kgo.FetchMaxWait(500 * time.Millisecond),
		// Else an outage that outlasts the retention would begin again at the end.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	if r.At == nil {
		opts = append(opts, kgo.ConsumeTopics(r.Topic),
			kgo.ConsumeStartOffset(kgo.NewOffset().AfterMilli(r.Since.UnixMilli())))
	}
	client, err := k.client(opts...)
	if err != nil {
		return err
	}
	defer client.Close()
	left := map[int32]int64{} // where to stop, of the partitions that have not
	if r.At == nil {
		err = isThere(ctx, kadm.NewClient(client), r.Topic)
	} else {
		var from map[int32]kgo.Offset
		if from, left, err = starts(ctx, kadm.NewClient(client), r); err == nil && len(from) == 0 {
			return nil
		}
		client.AddConsumePartitions(map[string]map[int32]kgo.Offset{r.Topic: from})
	}
	if err != nil {
		return err
	}
	for {
		fetches := client.PollRecords(ctx, 1000)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, one := range fetches.Records() {
			if r.Until != nil {
				until, reads := left[one.Partition]
				if !reads {
					continue
				}
				if one.Offset+1 >= until {
					delete(left, one.Partition)
				}
				if one.Offset >= until {
					continue
				}
			}
			m := message(one)
			if err := f(&m); err != nil {
				return err
			}
		}
		if r.Until != nil && len(left) == 0 {
			return nil
		}
	}
}

func message(r *kgo.Record) stream.Message {
	return stream.Message{Partition: r.Partition, Offset: r.Offset, Time: r.Timestamp, Key: r.Key,
		Value: r.Value}
}

// isThere returns an ErrNoTopic if Kafka says that there is no such topic.
func isThere(ctx context.Context, admin *kadm.Client, topic string) error {
	topics, err := admin.ListTopics(ctx, topic)
	switch {
	case err != nil:
		return fmt.Errorf("stream: cannot ask Kafka for the topic %s: %w", topic, err)
	case !topics.Has(topic):
		return fmt.Errorf("%w: %s; start the role ingest once, or correct kafka.topic",
			stream.ErrNoTopic, topic)
	}
	return nil
}

// starts returns by partition the offset to begin at, where Kafka still has something, and the one
// to stop before. Partitions without anything between them are in neither.
func starts(ctx context.Context, admin *kadm.Client,
	r stream.Reading) (map[int32]kgo.Offset, map[int32]int64, error) {
	from, left := map[int32]kgo.Offset{}, map[int32]int64{}
	if r.Until == nil {
		for p, at := range r.At {
			switch at {
			case 0:
				from[p] = kgo.NewOffset().AtStart()
			case stream.BySince:
				from[p] = kgo.NewOffset().AfterMilli(r.Since.UnixMilli())
			default:
				from[p] = kgo.NewOffset().At(at)
			}
		}
		return from, left, nil
	}
	first, err := admin.ListStartOffsets(ctx, r.Topic)
	if err != nil {
		return nil, nil, err
	}
	var since kadm.ListedOffsets
	for p, at := range r.At {
		listed := first
		if at == stream.BySince {
			if since == nil {
				if since, err = admin.ListOffsetsAfterMilli(ctx, r.Since.UnixMilli(),
					r.Topic); err != nil {
					return nil, nil, err
				}
			}
			listed = since
		}
		l, ok := listed.Lookup(r.Topic, p)
		if !ok {
			return nil, nil, errors.New("the topic has no such partition")
		}
		if l.Err != nil {
			return nil, nil, l.Err
		}
		if start := max(at, l.Offset); start < r.Until[p] {
			from[p], left[p] = kgo.NewOffset().At(start), r.Until[p]
		}
	}
	return from, left, nil
}

package kafka

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/stream"
)

// publisher is a stream.Publisher.
type publisher struct {
	topic  stream.Topic
	client *kgo.Client
}

// Open implements stream.Engine.
func (k *Kafka) Open(t stream.Topic) (stream.Publisher, error) {
	opts := []kgo.Opt{
		kgo.DefaultProduceTopic(t.Name),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		// an agent waits for every frame; under load frames batch by themselves while a request
		// is out
		kgo.ProducerLinger(0),
		kgo.ProducerBatchMaxBytes(t.MaxMessageBytes),
		kgo.MaxBufferedBytes(t.MaxBufferedBytes),
		kgo.ProduceRequestTimeout(t.Timeout),
		kgo.RecordPartitioner(kgo.BasicConsistentPartitioner(func(string) func(*kgo.Record,
			int) int {
			return func(r *kgo.Record, n int) int {
				if isMark(r.Key) {
					return int(r.Partition)
				}
				return int(t.Partition(r.Key, n))
			}
		})),
	}
	if !t.Compact {
		// frames are compressed
		opts = append(opts, kgo.ProducerBatchCompression(kgo.NoCompression()))
	}
	if t.GiveUp {
		opts = append(opts, kgo.RecordDeliveryTimeout(t.Timeout),
			// Kafka's duplicate check stays on for the client's own retries. Giving up a request
			// whose answer is overdue may leave a frame in Kafka that the agent sends again;
			// consumers do not mind, and memory stays bounded while a broker hangs.
			kgo.AllowIdempotentProduceCancellation())
	}
	client, err := k.client(opts...)
	if err != nil {
		return nil, err
	}
	return &publisher{topic: t, client: client}, nil
}

// Publish implements stream.Publisher. A record outlives its caller: giving it up would give up the
// others of its partition, too.
func (p *publisher) Publish(m *stream.Message, done func(error)) {
	r := &kgo.Record{Key: m.Key, Value: m.Value, Timestamp: m.Time}
	p.client.TryProduce(context.Background(), r, func(r *kgo.Record, err error) {
		if err == nil {
			m.Partition, m.Offset = r.Partition, r.Offset
		}
		done(explained(err))
	})
}

// marks tells this process's marks apart.
var marks atomic.Int64

var markPrefix = []byte("mark-")

// isMark tells a mark from our other keys, which have a slash.
func isMark(key []byte) bool {
	return bytes.HasPrefix(key, markPrefix) && !bytes.ContainsRune(key, '/')
}

// Fence implements stream.Publisher. It puts a mark behind the last record of each partition,
// because a compacted partition may end with offsets that hold nothing. A mark has no value and one
// of few keys, so Kafka forgets all but the newest of them.
func (p *publisher) Fence(ctx context.Context, partitions []int32) (stream.Position, error) {
	if partitions == nil {
		var err error
		if partitions, err = p.partitions(ctx); err != nil {
			return nil, err
		}
	}
	key := strconv.AppendInt(bytes.Clone(markPrefix), marks.Add(1)%8, 10)
	type answer struct {
		r   *kgo.Record
		err error
	}
	answers := make(chan answer, len(partitions))
	for _, partition := range partitions {
		p.client.TryProduce(context.WithoutCancel(ctx), &kgo.Record{Key: key, Partition: partition},
			func(r *kgo.Record, err error) { answers <- answer{r, err} })
	}
	ends := stream.Position{}
	for range partitions {
		select {
		case a := <-answers:
			if a.err != nil {
				return nil, explained(a.err)
			}
			ends[a.r.Partition] = a.r.Offset + 1
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return ends, nil
}

// partitions asks Kafka which partitions the topic has.
func (p *publisher) partitions(ctx context.Context) ([]int32, error) {
	topics, err := kadm.NewClient(p.client).ListTopics(ctx, p.topic.Name)
	if err == nil {
		err = topics[p.topic.Name].Err
	}
	if err != nil {
		return nil, fmt.Errorf("Kafka does not list its partitions: %w", err)
	}
	return topics[p.topic.Name].Partitions.Numbers(), nil
}

// Ready implements stream.Publisher.
func (p *publisher) Ready(ctx context.Context) error {
	if err := p.client.Ping(ctx); err != nil {
		return fmt.Errorf("stream: no Kafka broker answers: %w", err)
	}
	return nil
}

// Close implements stream.Publisher, and ends the client's goroutines.
func (p *publisher) Close() { p.client.Close() }

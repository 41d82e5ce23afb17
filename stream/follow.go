package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrNoTopic says that Kafka has no topic of the configured name.
var ErrNoTopic = errors.New("stream: there is no such topic")

// Follow reads all partitions from the first record that ingest took at or after since, and goes on
// with what comes, until ctx ends or f fails. It joins no group and commits nothing, so it takes
// records from nobody.
//
// It calls f with one record at a time, in order within each partition. The value is f's to keep.
// Records whose cluster wanted refuses cost reading, not a call; a nil wanted takes all. A broker
// that is away is waited for. The error is ctx's, f's, or wraps ErrNoTopic.
func (c Config) Follow(
	ctx context.Context, log *slog.Logger, since time.Time,
	wanted func(account, cluster string) bool, f func(Record) error,
) error {
	// Without the reset option an outage that outlasts the retention would begin again at the end.
	start := kgo.NewOffset().AfterMilli(since.UnixMilli())
	client, err := c.client(log, kgo.ConsumeTopics(c.Topic), kgo.ConsumeStartOffset(start),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(8<<20), kgo.FetchMaxPartitionBytes(8<<20))
	if err != nil {
		return err
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(ctx, c.Topic)
	switch {
	case err != nil:
		return fmt.Errorf("stream: cannot ask Kafka for the topic %s: %w", c.Topic, err)
	case !topics.Has(c.Topic):
		return fmt.Errorf("%w: %s; start the role ingest once, or correct kafka.topic", ErrNoTopic, c.Topic)
	}
	for {
		fetches := client.PollRecords(ctx, 1000)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("stream: cannot read %s: %w", c.Topic, err)
		}
		for _, r := range fetches.Records() {
			account, cluster, ok := splitKey(r.Key)
			if !ok || wanted != nil && !wanted(account, cluster) {
				continue
			}
			err := f(Record{Account: account, Cluster: cluster, Partition: r.Partition,
				Offset: r.Offset, Received: r.Timestamp, Value: slices.Clone(r.Value)})
			if err != nil {
				return err
			}
		}
	}
}

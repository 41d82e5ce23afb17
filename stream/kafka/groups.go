package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ringwatch/ringwatch/stream"
)

// About implements stream.Engine. Of a topic that has forgotten all its messages it says that it
// has none.
func (k *Kafka) About(ctx context.Context, topic string) (partitions int, empty bool, err error) {
	empty = true
	err = k.asking(func(admin *kadm.Client) error {
		topics, err := admin.ListTopics(ctx, topic)
		if err != nil || !topics.Has(topic) {
			return err
		}
		partitions = len(topics[topic].Partitions)
		first, err := admin.ListStartOffsets(ctx, topic)
		if err != nil {
			return err
		}
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err != nil {
			return err
		}
		ends.Each(func(end kadm.ListedOffset) {
			from, known := first.Lookup(topic, end.Partition)
			err = errors.Join(err, end.Err, from.Err)
			empty = empty && known && from.Offset == end.Offset
		})
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf(
			"stream: cannot ask Kafka for the topic %s: %w",
			topic,
			explained(err),
		)
	}
	return partitions, empty, nil
}

// Committed implements stream.Engine.
func (k *Kafka) Committed(
	ctx context.Context,
	topic, group string,
) (at stream.Position, err error) {
	err = k.asking(func(admin *kadm.Client) error {
		all, err := admin.FetchOffsets(ctx, group)
		if errors.Is(err, kerr.GroupIDNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		at = stream.Position{}
		for p, o := range all[topic] {
			if o.Err == nil && o.At >= 0 {
				at[p] = o.At
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf(
			"stream: cannot ask Kafka for the offsets of group %s: %w",
			group,
			explained(err),
		)
	}
	return at, nil
}

// SetCommitted implements stream.Engine.
func (k *Kafka) SetCommitted(ctx context.Context, topic, group string, at stream.Position) error {
	var offsets kadm.Offsets
	for p, offset := range at {
		offsets.AddOffset(topic, p, offset, -1)
	}
	if len(at) == 0 {
		return nil
	}
	err := k.asking(func(admin *kadm.Client) error {
		done, err := admin.CommitOffsets(ctx, group, offsets)
		if err != nil {
			return err
		}
		return done.Error()
	})
	if err != nil {
		return fmt.Errorf(
			"stream: cannot tell Kafka where group %s goes on; no process may be in it: %w",
			group,
			explained(err),
		)
	}
	return nil
}

// asking calls f with a client of its own.
func (k *Kafka) asking(f func(*kadm.Client) error) error {
	client, err := k.client()
	if err != nil {
		return err
	}
	defer client.Close()
	return f(kadm.NewClient(client))
}

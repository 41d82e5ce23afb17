package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/store/loki"
	"github.com/ringwatch/ringwatch/stream"
)

// The role store.
//
//	Kafka ──► stream.Consumer ──► store.Writer ──► Cassandra, or files of this process
//	             └─ how far it is, every second ──► store.Store ──► readers, who say what may lack
//	Kafka ──► stream.Consumer ──► loki.Pusher ──► Loki, if events.loki names one

type storeCmd struct {
	roleFlags
	From string `help:"Read Kafka again from this time (2026-11-20T08:00:00Z, or 3h for three hours ago), then go on as usual. Stored data stays as it is. The role reads the partitions that this process has: all of them while no other store process runs." placeholder:"TIME"`
}

func (c *storeCmd) Run(ctx context.Context) error {
	from, err := parseFrom(c.From, time.Now())
	if err != nil {
		return usageError{err}
	}
	if config, _, err := c.load(); c.From != "" && err == nil && len(config.Kafka.Brokers) == 0 {
		return usageError{errors.New("--from reads Kafka again, and the configuration names no " +
			"brokers: ringwatch all, with its stream in a directory, goes on by itself")}
	}
	p, err := c.start(ctx, "store", func(c *config) []engine {
		return []engine{c.kafka(), c.cassandra()}
	})
	if err != nil {
		return err
	}
	p.from = from
	// at once: making the topic and the tables may have to wait
	ops, err := p.ops(p.Store, p.storeState.ready, p.storeState.warning)
	if err != nil {
		return err
	}
	return p.run(ctx, ops, func(ctx context.Context) error {
		parts, err := p.storeParts(ctx)
		if err != nil {
			return err
		}
		return together(ctx, parts...)
	})
}

// storeParts wires the drawing above.
func (p *process) storeParts(ctx context.Context) ([]part, error) {
	topics, err := p.ensureTopic(ctx, p.Kafka.framesConfig)
	if err != nil {
		return nil, err
	}
	_, parts, err := p.throttled()
	if err != nil {
		return nil, err
	}
	db, err := p.openStore(ctx)
	if err != nil {
		return nil, err
	}
	writer := store.NewWriter(db)
	p.storeState.writer.Store(writer)
	config := stream.DefaultConsumerConfig(p.Kafka.Topic, storeGroup)
	config.From = p.from
	consumer, err := stream.NewConsumer(topics, config, writer, p.metrics, p.log)
	if err != nil {
		return nil, err
	}
	parts = append(parts, consumer.Run, writer.Run, p.tellProgress(consumer, db))
	if p.Events.Loki.On() {
		push, err := p.lokiPart(topics)
		if err != nil {
			return nil, err
		}
		parts = append(parts, push)
	}
	return parts, nil
}

// lokiPart wires the stream → a Loki, by a consumer group of its own: the store waits for nothing.
func (p *process) lokiPart(topics stream.Engine) (part, error) {
	pusher, err := loki.New(p.Events.Loki, p.metrics, p.log)
	if err != nil {
		return nil, usageError{err}
	}
	consumer, err := stream.NewConsumer(topics, stream.DefaultConsumerConfig(p.Kafka.Topic,
		lokiGroup), pusher, p.metrics, p.log)
	if err != nil {
		return nil, err
	}
	return consumer.Run, nil
}

// parseFrom reads a time in the past: RFC 3339, or a duration before now. Empty is the zero time.
func parseFrom(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if d, notDuration := time.ParseDuration(text); notDuration == nil {
		at, err = now.Add(-d), nil
	}
	switch {
	case err != nil:
		return at, fmt.Errorf("--from: %q is neither a time such as 2026-11-20T08:00:00Z nor a "+
			"duration such as 3h", text)
	case !at.Before(now):
		return at, errors.New("--from lies in the future: give a time in the past")
	}
	return at, nil
}

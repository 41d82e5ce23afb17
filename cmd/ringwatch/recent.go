package main

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
)

type recentCmd struct{ roleFlags }

func (c *recentCmd) Run(ctx context.Context) error {
	p, err := c.start(ctx, "recent", func(c *config) []engine {
		redis := c.redis()
		redis.optional = false // this role is nothing without it
		return []engine{c.kafka(), redis}
	})
	if err != nil {
		return err
	}
	parts, err := p.recentParts(ctx)
	if err != nil {
		return err
	}
	ops, err := p.ops(p.Recent.Listen, p.recentReady)
	if err != nil {
		return err
	}
	return p.run(ctx, append(parts, ops)...)
}

// recentParts wires Kafka → Redis.
func (p *process) recentParts(ctx context.Context) ([]part, error) {
	if err := p.topic(ctx); err != nil {
		return nil, err
	}
	writer, err := recent.NewWriter(p.Redis, p.metrics)
	if err != nil {
		return nil, err
	}
	c := stream.DefaultConsumerConfig(p.Kafka, "ringwatch-recent")
	c.MaxAge = p.Redis.Keep // older frames would expire at once
	consumer, err := stream.NewConsumer(c, recentHandler{writer}, p.metrics, p.log)
	if err != nil {
		writer.Close()
		return nil, err
	}
	p.recentReady = writer.Ping
	return []part{func(ctx context.Context) error {
		defer writer.Close()
		return consumer.Run(ctx)
	}}, nil
}

// recentHandler is recent.Writer in the words of stream.
type recentHandler struct{ *recent.Writer }

func (h recentHandler) Handle(ctx context.Context, records []stream.Record) error {
	out := make([]recent.Record, len(records))
	for i, r := range records {
		out[i] = recent.Record{Account: r.Account, Partition: r.Partition, Offset: r.Offset, Value: r.Value}
	}
	return h.Writer.Handle(ctx, out)
}

func (h recentHandler) Tick(context.Context, time.Time) error { return nil }

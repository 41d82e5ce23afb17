package main

import (
	"context"

	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
)

// The role recent.
//
//	Kafka ──► stream.Consumer ──► recent.Writer ──► Redis, or the memory of this process
//	  └─ stream.Again: what Redis has lost of the last 15 minutes ──► recent.Writer

type recentCmd struct{ roleFlags }

func (c *recentCmd) Run(ctx context.Context) error {
	p, err := c.start(ctx, "recent", func(c *config) []engine {
		redis := c.redis()
		redis.optional, redis.unset = false, noRedis
		return []engine{c.kafka(), redis}
	})
	if err != nil {
		return err
	}
	parts, err := p.recentParts(ctx)
	if err != nil {
		return err
	}
	ops, err := p.ops(p.Recent, p.recentReady, nil)
	if err != nil {
		return err
	}
	return p.run(ctx, append(parts, ops)...)
}

// recentParts wires the drawing above.
func (p *process) recentParts(ctx context.Context) ([]part, error) {
	topics, err := p.ensureTopic(ctx, p.Kafka.framesConfig)
	if err != nil {
		return nil, err
	}
	writer, err := recent.NewWriter(p.Redis, p.again(topics), p.metrics)
	if err != nil {
		return nil, err
	}
	c := stream.DefaultConsumerConfig(p.Kafka.Topic, recentGroup)
	c.MaxAge = p.Redis.Keep // older frames would expire at once
	consumer, err := stream.NewConsumer(topics, c, writer, p.metrics, p.log)
	if err != nil {
		writer.Close()
		return nil, err
	}
	p.recentReady = writer.Ping
	return []part{func(ctx context.Context) error {
		defer writer.Close()
		return together(ctx, consumer.Run, writer.Run)
	}}, nil
}

package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

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
	ops, err := p.ops(p.Recent, p.recentReady, nil)
	if err != nil {
		return err
	}
	return p.run(ctx, append(parts, ops)...)
}

// recentParts wires Kafka → Redis, or the memory of the process.
func (p *process) recentParts(ctx context.Context) ([]part, error) {
	if err := p.topic(ctx); err != nil {
		return nil, err
	}
	writer, err := recent.NewWriter(p.Redis, p.again, p.metrics)
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
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return consumer.Run(ctx) })
		g.Go(func() error { return writer.Run(ctx) })
		return g.Wait()
	}}, nil
}

// again is stream.Config.Walk in the words of recent.
func (p *process) again(ctx context.Context, partition int32, offset int64, since time.Time, until int64, wanted func(account, cluster string) bool, f func([]stream.Record) error) error {
	w := stream.Walk{Partition: partition, Offset: offset, Since: since, Until: until, Wanted: wanted}
	return p.Kafka.Walk(ctx, p.log, w, f)
}

// recentHandler is recent.Writer in the words of stream.
type recentHandler struct{ *recent.Writer }

func (h recentHandler) Tick(context.Context, time.Time) error { return nil }

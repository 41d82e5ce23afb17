package wire

import (
	"context"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
)

// The role recent.
//
//	Kafka ──► stream.Consumer ──► recent.Writer ──► Redis, or the memory of this process
//	  └─ stream.Again: what Redis has lost of the last 15 minutes ──► recent.Writer

// Recent wires the drawing above.
func Recent(ctx context.Context, p *Process) ([]Part, error) {
	topics, err := p.Topics.Ensure(ctx, p.Config.Kafka.FramesConfig)
	if err != nil {
		return nil, err
	}
	again := func(ctx context.Context, w stream.Walk, f func([]stream.Record) error) error {
		return stream.Again(ctx, topics, p.Config.Kafka.Topic, w, f)
	}
	writer, err := recent.NewWriter(p.Config.Redis, again, p.Metrics)
	if err != nil {
		return nil, err
	}
	c := stream.DefaultConsumerConfig(p.Config.Kafka.Topic, topic.RecentGroup)
	c.MaxAge = p.Config.Redis.Keep // older frames would expire at once
	consumer, err := stream.NewConsumer(topics, c, writer, p.Metrics, p.Log)
	if err != nil {
		writer.Close()
		return nil, err
	}
	p.RecentReady = writer.Ping
	return []Part{func(ctx context.Context) error {
		defer writer.Close()
		return Together(ctx, consumer.Run, writer.Run)
	}}, nil
}

package wire

import (
	"context"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/store/loki"
	"github.com/ringwatch/ringwatch/stream"
)

// The role store.
//
//	Kafka ──► stream.Consumer ──► store.Writer ──► Cassandra, or files of this process
//	             └─ how far it is, every second ──► store.Store ──► readers, who say what may lack
//	Kafka ──► stream.Consumer ──► loki.Pusher ──► Loki, if events.loki names one

// Store wires the drawing above.
func Store(ctx context.Context, p *Process) ([]Part, error) {
	topics, err := p.Topics.Ensure(ctx, p.Config.Kafka.FramesConfig)
	if err != nil {
		return nil, err
	}
	_, parts, err := p.Throttled()
	if err != nil {
		return nil, err
	}
	db, err := p.OpenStore(ctx)
	if err != nil {
		return nil, err
	}
	writer := store.NewWriter(db)
	p.StoreState.writer.Store(writer)
	config := stream.DefaultConsumerConfig(p.Config.Kafka.Topic, topic.StoreGroup)
	config.From = p.From
	consumer, err := stream.NewConsumer(topics, config, writer, p.Metrics, p.Log)
	if err != nil {
		return nil, err
	}
	parts = append(parts, consumer.Run, writer.Run, tellProgress(p, consumer, db))
	if p.Config.Events.Loki.On() {
		push, err := lokiPart(p, topics)
		if err != nil {
			return nil, err
		}
		parts = append(parts, push)
	}
	return parts, nil
}

// lokiPart wires the stream → a Loki, by a consumer group of its own: the store waits for nothing.
func lokiPart(p *Process, topics stream.Engine) (Part, error) {
	pusher, err := loki.New(p.Config.Events.Loki, p.Metrics, p.Log)
	if err != nil {
		return nil, exit.Usage(err)
	}
	consumer, err := stream.NewConsumer(topics, stream.DefaultConsumerConfig(p.Config.Kafka.Topic,
		topic.LokiGroup), pusher, p.Metrics, p.Log)
	if err != nil {
		return nil, err
	}
	return consumer.Run, nil
}

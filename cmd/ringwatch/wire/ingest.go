package wire

import (
	"context"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/ingest"
	"github.com/ringwatch/ringwatch/stream"
)

// The role ingest.
//
//	agent ──POST──► ingest.Server ──Publish──► Kafka ──► the roles that read frames
//	                   │ asks account.Door whose key it is, limit.Limiter whether the account may
//	                   │ send more, and recent.Reader whether another sender has the node
//	                   └─ that it works, every two seconds ──► the topic of pulses ──► rules

// Ingest wires the drawing above. What is counted is in Redis, if there is one.
func Ingest(ctx context.Context, p *Process) ([]Part, error) {
	topics, err := p.Topics.Ensure(ctx, p.Config.Kafka.FramesConfig)
	if err != nil {
		return nil, err
	}
	limit, err := frameLimit(p)
	if err != nil {
		return nil, err
	}
	newNodes, err := newcomerLimit(p, "nodes", int64(p.Config.Ingest.NewNodesPerHour))
	if err != nil {
		return nil, err
	}
	newSeries, err := newcomerLimit(p, "series", p.Config.Ingest.NewSeriesPerHour)
	if err != nil {
		return nil, err
	}
	producer, err := stream.NewProducer(topics, p.Config.Kafka.FramesConfig,
		labelled(p.Metrics, "ingest"))
	if err != nil {
		return nil, err
	}
	server, err := ingest.New(p.Config.Ingest, ingest.Deps{
		Admit:     p.Door.Admit,
		Operators: p.Config.API.Operators,
		Limit:     limit,
		Publish:   producer.Publish,
		Claim:     p.reader.Claim,
		Nodes:     nodeIDs(p),
		NewNodes:  newNodes,
		NewSeries: newSeries,
		Bound:     account.NewBindings(p.bindKey).Check,
		Retryable: stream.Retryable,
		Ready:     producer.Ready,
		Memory:    p.budget,
		Near:      p.limit.Near,
		Registry:  p.Metrics,
		Log:       p.Log,
	})
	if err != nil {
		producer.Close()
		return nil, err
	}
	pulses, err := p.Topics.Log(ctx, topic.PulseLog())
	if err != nil {
		return nil, err
	}
	p.ingest = server
	p.Log.Info("ingest listens", "address", server.Addr())
	return []Part{func(ctx context.Context) error {
		defer p.reader.Close()
		defer producer.Close()
		return server.Run(ctx)
	}, func(ctx context.Context) error { return beatPulse(ctx, p, pulses) }}, nil
}

package main

import (
	"context"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/ingest"
	"github.com/ringwatch/ringwatch/stream"
)

// The role ingest.
//
//	agent ──POST──► ingest.Server ──Publish──► Kafka ──► the roles that read frames
//	                   │ asks account.Door whose key it is, limit.Limiter whether the account may
//	                   │ send more, and recent.Reader whether another sender has the node
//	                   └─ that it works, every two seconds ──► the topic of pulses ──► rules

type ingestCmd struct{ roleFlags }

func (c *ingestCmd) Run(ctx context.Context) error {
	p, err := c.start(ctx, "ingest", func(c *config) []engine {
		list := []engine{c.kafka(), c.redis()}
		if c.Keys.Stored {
			keys := c.cassandra()
			keys.later, keys.unset = true, noKeys
			list = append(list, keys)
		}
		return list
	})
	if err != nil {
		return err
	}
	parts, err := p.ingestParts(ctx)
	if err != nil {
		return err
	}
	keys, err := p.keyParts()
	if err != nil {
		return err
	}
	return p.run(ctx, append(parts, keys...)...)
}

// ingestParts wires the drawing above. What is counted is in Redis, if there is one.
func (p *process) ingestParts(ctx context.Context) ([]part, error) {
	topics, err := p.ensureTopic(ctx, p.Kafka.framesConfig)
	if err != nil {
		return nil, err
	}
	limit, err := p.frameLimit()
	if err != nil {
		return nil, err
	}
	newNodes, err := p.newLimit("nodes", int64(p.Ingest.NewNodesPerHour))
	if err != nil {
		return nil, err
	}
	newSeries, err := p.newLimit("series", p.Ingest.NewSeriesPerHour)
	if err != nil {
		return nil, err
	}
	producer, err := stream.NewProducer(topics, p.Kafka.framesConfig, labelled(p.metrics, "ingest"))
	if err != nil {
		return nil, err
	}
	server, err := ingest.New(p.Ingest, ingest.Deps{
		Admit:     p.door.Admit,
		Operators: p.API.Operators,
		Limit:     limit,
		Publish:   producer.Publish,
		Claim:     p.reader.Claim,
		Nodes:     p.nodeIDs(),
		NewNodes:  newNodes,
		NewSeries: newSeries,
		Bound:     account.NewBindings(p.bindKey).Check,
		Retryable: stream.Retryable,
		Ready:     producer.Ready,
		Memory:    p.budget,
		Near:      p.limit.Near,
		Registry:  p.metrics,
		Log:       p.log,
	})
	if err != nil {
		producer.Close()
		return nil, err
	}
	pulses, err := p.sharedLog(ctx, p.pulseLog())
	if err != nil {
		return nil, err
	}
	p.ingest = server
	p.log.Info("ingest listens", "address", server.Addr())
	return []part{func(ctx context.Context) error {
		defer p.reader.Close()
		defer producer.Close()
		return server.Run(ctx)
	}, func(ctx context.Context) error { return p.beat(ctx, pulses) }}, nil
}

package main

import (
	"context"

	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

type storeCmd struct{ roleFlags }

func (c *storeCmd) Run(ctx context.Context) error {
	p, err := c.start(ctx, "store", func(c *config) []engine { return []engine{c.kafka(), c.cassandra()} })
	if err != nil {
		return err
	}
	parts, err := p.storeParts(ctx)
	if err != nil {
		return err
	}
	ops, err := p.ops(p.Store.Listen, func(context.Context) error { return p.database.Ready() })
	if err != nil {
		return err
	}
	return p.run(ctx, append(parts, ops)...)
}

// storeParts wires Kafka → Cassandra.
func (p *process) storeParts(ctx context.Context) ([]part, error) {
	if err := p.topic(ctx); err != nil {
		return nil, err
	}
	db, err := p.openStore(ctx)
	if err != nil {
		return nil, err
	}
	writer := store.NewWriter(db)
	consumer, err := stream.NewConsumer(stream.DefaultConsumerConfig(p.Kafka, "ringwatch-store"), storeHandler{writer}, p.metrics, p.log)
	if err != nil {
		return nil, err
	}
	return []part{consumer.Run}, nil
}

// openStore connects once per process and sees to the tables.
func (p *process) openStore(ctx context.Context) (*store.Store, error) {
	if p.database != nil {
		return p.database, nil
	}
	db, err := p.connectStore(ctx)
	if err != nil {
		return nil, err
	}
	if err := retry(ctx, p.log, "the tables", store.Retryable, db.Apply); err != nil {
		db.Close()
		return nil, err
	}
	p.database = db
	return db, nil
}

// connectStore connects and looks at nothing.
func (p *process) connectStore(ctx context.Context) (*store.Store, error) {
	p.Cassandra.Log = p.log
	db, err := store.New(p.Cassandra, store.NewMetrics(p.metrics))
	if err != nil {
		return nil, err
	}
	return db, db.Connect(ctx)
}

// storeHandler is store.Writer in the words of stream.
type storeHandler struct{ *store.Writer }

func (h storeHandler) Handle(ctx context.Context, records []stream.Record) error {
	out := make([]store.Record, len(records))
	for i, r := range records {
		out[i] = store.Record{Account: r.Account, Partition: r.Partition, Offset: r.Offset, Value: r.Value}
	}
	return h.Writer.Handle(ctx, out)
}

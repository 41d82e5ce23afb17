package main

import (
	"context"
	"fmt"
)

type schemaCmd struct {
	Apply schemaApplyCmd `cmd:"" help:"Create what is missing; roles do the same when they start."`
}

type schemaApplyCmd struct{ roleFlags }

func (c *schemaApplyCmd) Run(ctx context.Context) error {
	p, err := c.start(ctx, "schema apply", func(c *config) []engine { return []engine{c.kafka(), c.cassandra()} })
	if err != nil {
		return err
	}
	if err := p.topic(ctx); err != nil {
		return err
	}
	db, err := p.openStore(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	fmt.Printf("topic %s and keyspace %s are there\n", p.Kafka.Topic, p.Cassandra.Keyspace)
	return nil
}

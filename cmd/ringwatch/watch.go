package main

import (
	"context"
	"errors"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
)

type watchCmd struct{ settings.RoleFlags }

// Help implements kong.HelpProvider.
func (*watchCmd) Help() string {
	return "Reads what has no agent: Kafka clusters, Redis servers, and whatever Prometheus can " +
		"scrape, as section watch of the configuration names them. What it reads goes through " +
		"ingest with an API key, as an agent's frames do. Several of these processes share the " +
		"targets if kafka.brokers is set. ringwatch doctor --config reads each target once."
}

func (c *watchCmd) Run(ctx context.Context) error {
	p, err := wire.Start(ctx, &c.RoleFlags, "watch", func(c *settings.Config) []engine.Engine {
		if len(c.Kafka.Brokers) == 0 {
			return nil
		}
		return []engine.Engine{engine.Kafka(c)}
	})
	if err != nil {
		return err
	}
	if !p.Config.Watch.Targets() {
		return exit.Usage(errors.New("section watch names no target: add some under watch.kafka, " +
			"watch.redis or watch.scrape_configs"))
	}
	parts, err := wire.Watch(ctx, p)
	if err != nil {
		return err
	}
	ready := func(context.Context) error { return nil }
	ops, err := p.Ops(p.Config.Watch.ConsumerConfig, ready, nil)
	if err != nil {
		return err
	}
	return p.Run(ctx, append(parts, ops)...)
}

package main

import (
	"context"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
)

type apiCmd struct{ settings.RoleFlags }

func (c *apiCmd) Run(ctx context.Context) error {
	p, err := wire.Start(ctx, &c.RoleFlags, "api", func(c *settings.Config) []engine.Engine {
		return []engine.Engine{engine.Rows(c), engine.Redis(c)}
	})
	if err != nil {
		return err
	}
	if len(p.Config.Kafka.Brokers) == 0 {
		p.Log.Warn("alerts and nodes that have left are not known: " + topic.ErrNone.Error())
	}
	parts, err := wire.API(ctx, p)
	if err != nil {
		return err
	}
	keys, err := wire.Keys(p)
	if err != nil {
		return err
	}
	return p.Run(ctx, append(parts, keys...)...)
}

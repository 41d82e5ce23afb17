package main

import (
	"context"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
)

type recentCmd struct{ settings.RoleFlags }

func (c *recentCmd) Run(ctx context.Context) error {
	p, err := wire.Start(ctx, &c.RoleFlags, "recent", func(c *settings.Config) []engine.Engine {
		redis := engine.Redis(c)
		redis.Optional, redis.Unset = false, engine.NoRedis
		return []engine.Engine{engine.Kafka(c), redis}
	})
	if err != nil {
		return err
	}
	parts, err := wire.Recent(ctx, p)
	if err != nil {
		return err
	}
	ops, err := p.Ops(p.Config.Recent, p.RecentReady, nil)
	if err != nil {
		return err
	}
	return p.Run(ctx, append(parts, ops)...)
}

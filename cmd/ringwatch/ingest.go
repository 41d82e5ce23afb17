package main

import (
	"context"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
)

type ingestCmd struct{ settings.RoleFlags }

func (c *ingestCmd) Run(ctx context.Context) error {
	p, err := wire.Start(ctx, &c.RoleFlags, "ingest", func(c *settings.Config) []engine.Engine {
		list := []engine.Engine{engine.Kafka(c), engine.Redis(c)}
		if c.Keys.Stored {
			keys := engine.Rows(c)
			keys.Later, keys.Unset = true, engine.NoKeys
			list = append(list, keys)
		}
		return list
	})
	if err != nil {
		return err
	}
	parts, err := wire.Ingest(ctx, p)
	if err != nil {
		return err
	}
	keys, err := wire.Keys(p)
	if err != nil {
		return err
	}
	return p.Run(ctx, append(parts, keys...)...)
}

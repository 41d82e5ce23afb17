package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
)

type storeCmd struct {
	settings.RoleFlags
	From string `help:"Read Kafka again from this time (2026-11-20T08:00:00Z, or 3h for three hours ago), then go on as usual. Stored data stays as it is. The role reads the partitions that this process has: all of them while no other store process runs." placeholder:"TIME"`
}

func (c *storeCmd) Run(ctx context.Context) error {
	from, err := parseFrom(c.From, time.Now())
	if err != nil {
		return exit.Usage(err)
	}
	if config, _, err := c.Load(); c.From != "" && err == nil && len(config.Kafka.Brokers) == 0 {
		return exit.Usage(errors.New("--from reads Kafka again, and the configuration names no " +
			"brokers: ringwatch all, with its stream in a directory, goes on by itself"))
	}
	p, err := wire.Start(ctx, &c.RoleFlags, "store", func(c *settings.Config) []engine.Engine {
		return []engine.Engine{engine.Kafka(c), engine.Rows(c)}
	})
	if err != nil {
		return err
	}
	p.From = from
	// at once: making the topic and the tables may have to wait
	ops, err := p.Ops(p.Config.Store, p.StoreState.Ready, p.StoreState.Warning)
	if err != nil {
		return err
	}
	return p.Run(ctx, ops, func(ctx context.Context) error {
		parts, err := wire.Store(ctx, p)
		if err != nil {
			return err
		}
		return wire.Together(ctx, parts...)
	})
}

// parseFrom reads a time in the past: RFC 3339, or a duration before now. Empty is the zero time.
func parseFrom(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if d, notDuration := time.ParseDuration(text); notDuration == nil {
		at, err = now.Add(-d), nil
	}
	switch {
	case err != nil:
		return at, fmt.Errorf("--from: %q is neither a time such as 2026-11-20T08:00:00Z nor a "+
			"duration such as 3h", text)
	case !at.Before(now):
		return at, errors.New("--from lies in the future: give a time in the past")
	}
	return at, nil
}

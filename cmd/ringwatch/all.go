package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
)

// The wiring. Every arrow is one call; docs/hops has a section for each.
//
//	agent ──POST──► ingest.Server ──Publish──► Kafka ──┬─ stream.Consumer "store"  ──► store.Writer  ──► Cassandra
//	                                                   ├─ stream.Consumer "recent" ──► recent.Writer ──► Redis, or recent.Memory
//	                                                   └─ stream.Consumer "rules"  ──► rules.Rules ──► Alertmanager
//	                                                        └─ what rules record goes back into Kafka as frames
//	reader ──GET──► api.Server ──► read.Reader ──► recent.Reader
//	                                             └─(miss, Redis away, or older)──► store.Store
//
//	reader ──POST─► api.Server ──► lookup.Lookup ──► throttle.Throttle ──► ring.Reader ──► the Cassandra that has the tables
//
//	each process ── own.Sender ──POST──► ingest.Server: what it has on /metrics
//	what has no agent ◄── watch.Watcher ──► send.Sender ──POST──► ingest.Server
//
//	What has no address is in files and in memory instead: Kafka, Cassandra, Redis. Then ringwatch
//	key asks this process, on the socket in its directory.
//
//	ringwatch key ──► Cassandra ──► account.Keyring ◄── account.Door ◄── ingest.Server, api.Server

type allCmd struct{ settings.DataFlags }

// Help implements kong.HelpProvider.
func (*allCmd) Help() string {
	return "What has an address in the configuration is in that engine: kafka.brokers, " +
		"cassandra.hosts, redis.addresses. What has none is in the directory, and the last 15 " +
		"minutes and limits are in this process. Without a configuration everything is in the " +
		"directory, and the first start makes an API key and prints it.\n\nExample: ringwatch " +
		"all --data /var/lib/ringwatch"
}

// Run serves ingest as soon as the stream is there: agents that are told to come again come later
// each time, and Cassandra and its tables take the longest. Whatever cannot be reached in time is
// named at once.
func (c *allCmd) Run(ctx context.Context) error {
	p, err := wire.PrepareOnData(&c.DataFlags, "all")
	if err != nil {
		return err
	}
	if err := datadir.DirectoryMoved(p.Config); err != nil {
		return err
	}
	ends, giveUp := context.WithCancel(ctx)
	defer giveUp()
	err = c.runAll(ends, p, giveUp)
	if errors.Is(err, context.Canceled) && ends.Err() != nil {
		return ctx.Err() // nil: the directory is given up
	}
	return err
}

// runAll runs all roles. giveUp ends the process for who moves its directory.
func (c *allCmd) runAll(ctx context.Context, p *wire.Process, giveUp func()) error {
	needed := []engine.Engine{engine.Kafka(p.Config), engine.Rows(p.Config), engine.Redis(p.Config)}
	if err := engine.Readable(needed...); err != nil {
		return err
	}
	if p.Config.Keeps() {
		if err := datadir.OwnAccounts(p.Config, p.Log); err != nil {
			return err
		}
	}
	first := needed[0]
	all := make(chan error, 1)
	reaching, stop := context.WithCancel(ctx)
	defer stop()
	go func() { all <- engine.ReachAll(reaching, p.Log, c.Wait, needed...) }()
	patient, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	// the other one says it
	if err := first.Reach(patient, slog.New(slog.DiscardHandler)); err != nil {
		return <-all
	}
	ingest, err := wire.Ingest(ctx, p)
	if err != nil {
		return err
	}
	return p.Run(ctx, append(ingest, func(ctx context.Context) error {
		if err := <-all; err != nil {
			return err
		}
		return c.beyondIngest(ctx, p, giveUp)
	})...)
}

// beyondIngest wires and runs what needs the store. A bare process has no configuration.
func (c *allCmd) beyondIngest(ctx context.Context, p *wire.Process, giveUp func()) error {
	var parts []wire.Part
	for _, role := range []func(context.Context, *wire.Process) ([]wire.Part, error){wire.Store,
		wire.Recent, wire.Rules, wire.API, wire.Watch} {
		more, err := role(ctx, p)
		if err != nil {
			return err
		}
		parts = append(parts, more...)
	}
	if p.Config.Keeps() {
		datadir.NoteAccounts(p.Config, p.Log)
	}
	keys, err := wire.Keys(p)
	if err != nil {
		return err
	}
	parts = append(parts, keys...)
	if p.Config.Cassandra.Dir != "" {
		parts = append(parts, datadir.Owner{Config: p.Config, Log: p.Log,
			GiveUp: giveUp}.Serve(p.Database.Load()))
	}
	if c.Bare() {
		key, err := wire.FirstKey(ctx, p.Database.Load(), p.Config.Accounts[0].Name)
		if err != nil {
			return err
		}
		wire.PrintWelcome(p, os.Stdout, key)
	}
	return wire.Together(ctx, parts...)
}

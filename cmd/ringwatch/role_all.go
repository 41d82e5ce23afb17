package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
)

// The wiring. Every arrow is one call; docs/hops has a section for each.
//
//	agent ──POST──► ingest.Server ──Publish──► Kafka ──┬─ stream.Consumer "store"  ──► store.Writer  ──► Cassandra
//	                                                   ├─ stream.Consumer "recent" ──► recent.Writer ──► Redis, or recent.Memory
//	                                                   └─ stream.Consumer "rules"  ──► rules.Rules ──► Alertmanager
//	                                                        └─ what rules record goes back into Kafka as frames
//	reader ──GET──► api.Server ──► query.Reader ──► recent.Reader
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

type allCmd struct{ dataFlags }

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
	p, err := c.prepare("all")
	if err != nil {
		return err
	}
	if err := p.config.directoryMoved(); err != nil {
		return err
	}
	ends, giveUp := context.WithCancel(ctx)
	defer giveUp()
	p.giveUp = giveUp
	err = c.runAll(ends, p)
	if errors.Is(err, context.Canceled) && ends.Err() != nil {
		return ctx.Err() // nil: the directory is given up
	}
	return err
}

func (c *allCmd) runAll(ctx context.Context, p *process) error {
	needed := []engine{p.config.kafka(), p.config.cassandra(), p.config.redis()}
	if err := readable(needed...); err != nil {
		return err
	}
	if p.keeps() {
		if err := p.ownAccounts(); err != nil {
			return err
		}
	}
	first := needed[0]
	all := make(chan error, 1)
	reaching, stop := context.WithCancel(ctx)
	defer stop()
	go func() { all <- reach(reaching, p.log, c.Wait, needed...) }()
	patient, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	// the other one says it
	if err := first.reach(patient, slog.New(slog.DiscardHandler)); err != nil {
		return <-all
	}
	ingest, err := p.ingestParts(ctx)
	if err != nil {
		return err
	}
	return p.run(ctx, append(ingest, func(ctx context.Context) error {
		if err := <-all; err != nil {
			return err
		}
		return p.beyondIngest(ctx, c.bare())
	})...)
}

// beyondIngest wires and runs what needs the store. A bare process has no configuration.
func (p *process) beyondIngest(ctx context.Context, bare bool) error {
	var parts []part
	for _, role := range []func(context.Context) ([]part, error){p.storeParts, p.recentParts,
		p.rulesParts, p.apiParts, p.watchParts} {
		more, err := role(ctx)
		if err != nil {
			return err
		}
		parts = append(parts, more...)
	}
	if p.keeps() {
		p.noteAccounts()
	}
	keys, err := p.keyParts()
	if err != nil {
		return err
	}
	parts = append(parts, keys...)
	if p.Cassandra.Dir != "" {
		parts = append(parts, p.keySocket(p.database.Load()))
	}
	if bare {
		key, err := firstKey(ctx, p.database.Load(), p.Accounts[0].Name)
		if err != nil {
			return err
		}
		p.welcome(os.Stdout, key)
	}
	return together(ctx, parts...)
}

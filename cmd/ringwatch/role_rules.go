package main

import (
	"context"

	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/rules"
)

// The role rules.
//
//	frames ──► stream.Consumer ──► rules.Rules, of single clusters
//	                                 ├─ Publish ──► frames: the series that rules record
//	                                 ├─ Forward ──► recorded ──► stream.Consumer ──► rules.Rules,
//	                                 │                              over all clusters of an account
//	                                 ├─ Notify ──► notify.Notifier ──► Alertmanager, webhooks
//	                                 └─ Save ──► states ──► Load, when a partition comes
//	rule files of the API, nodes that have left, the pulse of ingest ──► followed, for both

// rulesRunCmd is the role: `ringwatch rules` without a subcommand.
type rulesRunCmd struct{ roleFlags }

func (c *rulesRunCmd) Run(ctx context.Context) error {
	p, err := c.start(ctx, "rules", func(c *config) []engine { return []engine{c.kafka()} })
	if err != nil {
		return err
	}
	p.alone = true
	parts, err := p.rulesParts(ctx)
	if err != nil {
		return err
	}
	ops, err := p.ops(p.Rules.consumerConfig, p.rulesReady, nil)
	if err != nil {
		return err
	}
	return p.run(ctx, append(parts, ops)...)
}

// rulesParts wires the drawing above.
func (p *process) rulesParts(ctx context.Context) ([]part, error) {
	topics, err := p.openRulesTopics(ctx)
	if err != nil {
		return nil, err
	}
	given, nodes, heard := newApplied(), &roster.Roster{}, &pulse{}
	readFiles, err := follow(ctx, topics.files, given.take)
	if err != nil {
		return nil, err
	}
	readLeft, err := follow(ctx, topics.left, enter(nodes))
	if err != nil {
		return nil, err
	}
	notifier, parts, err := p.openNotifier(ctx)
	if err != nil {
		return nil, err
	}
	deps := rules.Deps{
		Publish: topics.frames.Publish,
		Forward: topics.forward,
		Notify:  tell(notifier),
		Load:    loadStates(topics.states),
		Save:    saveState(topics.states),
		Pulse:   heard.unbroken,
		Applied: given.files,
		Past:    p.past,
		Roster:  nodes, Enroll: enroll(topics.left), KeepLeft: p.Cassandra.RawTTL,
		Metrics: p.metrics, Log: p.log,
	}
	if err := p.rulesSettings(&deps); err != nil {
		return nil, err
	}
	for _, every := range []bool{false, true} {
		run, err := p.rulesConsumer(topics.engine, deps, every)
		if err != nil {
			return nil, err
		}
		parts = append(parts, run)
	}
	parts = append(parts, readFiles, readLeft,
		func(ctx context.Context) error { return heard.follow(ctx, topics.pulses) })
	p.rulesReady = topics.frames.Ready
	return []part{func(ctx context.Context) error {
		defer topics.close()
		return together(ctx, parts...)
	}}, nil
}

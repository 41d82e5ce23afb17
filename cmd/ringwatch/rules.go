package main

import (
	"context"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/rulefiles"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
)

// rulesRunCmd is the role: `ringwatch rules` without a subcommand.
type rulesRunCmd struct{ settings.RoleFlags }

func (c *rulesRunCmd) Run(ctx context.Context) error {
	p, err := wire.Start(ctx, &c.RoleFlags, "rules",
		func(c *settings.Config) []engine.Engine { return []engine.Engine{engine.Kafka(c)} })
	if err != nil {
		return err
	}
	parts, err := wire.Rules(ctx, p)
	if err != nil {
		return err
	}
	ops, err := p.Ops(p.Config.Rules.ConsumerConfig, p.RulesReady, nil)
	if err != nil {
		return err
	}
	return p.Run(ctx, append(parts, ops)...)
}

// rulesCmd is the role and what works with rule files.
type rulesCmd struct {
	Role    rulesRunCmd               `cmd:"" name:"run" default:"withargs" help:"Run the role that evaluates rules. This is the default without a subcommand."`
	List    rulefiles.RulesListCmd    `cmd:"" group:"Questions" help:"Show the rules with their state, last evaluation, duration and error."`
	Check   rulefiles.RulesCheckCmd   `cmd:"" group:"Set-up" help:"Check rule files, and show where each rule is evaluated and how far it looks back."`
	Test    rulefiles.RulesTestCmd    `cmd:"" group:"Set-up" help:"Run unit tests of rules, in promtool's format."`
	Apply   rulefiles.RulesApplyCmd   `cmd:"" group:"Set-up" help:"Give an account rule files through the API, or remove them."`
	Relabel rulefiles.RulesRelabelCmd `cmd:"" group:"Set-up" help:"Show what relabelling would do to a node's series."`
}

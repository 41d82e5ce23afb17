package main

import (
	"context"

	"github.com/ringwatch/ringwatch/rules"
)

type notifierParts struct {
	send func(context.Context, []rules.Alert)
	run  part
}

func (p *process) notifier(context.Context) (*notifierParts, error) {
	return &notifierParts{
		send: func(_ context.Context, list []rules.Alert) {
			for i := range list {
				p.log.Info("alert", "name", list[i].Rule, "state", list[i].State.String(), "labels", list[i].Labels)
			}
		},
		run: func(ctx context.Context) error { <-ctx.Done(); return nil },
	}, nil
}
